// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// How the codecs build and read one record; for them only.
namespace codeq::storage {

inline constexpr std::size_t small_words = 64;

/// Builds a record in one allocation when `words` is enough; the value is a standard flat message.
template <class S, class F>
std::string build(std::size_t words, F&& fill) {
  capnp::MallocMessageBuilder message(static_cast<capnp::uint>(words));
  fill(message.initRoot<S>());
  auto segments = message.getSegmentsForOutput();
  if (segments.size() == 1) {
    // The segment table of a flat message with one segment: zero, then its size in words.
    auto chars = segments[0].asBytes();
    std::string value(sizeof(capnp::word) + chars.size(), '\0');
    auto size = static_cast<std::uint32_t>(segments[0].size());
    std::memcpy(value.data() + 4, &size, sizeof size);
    std::memcpy(value.data() + sizeof(capnp::word), chars.begin(), chars.size());
    return value;
  }
  auto flat = capnp::messageToFlatArray(message);
  auto chars = flat.asChars();
  return {chars.begin(), chars.size()};
}

/// Reads a record; whatever is malformed in it is corruption.
template <class S, class F>
auto parse(std::string_view value, F&& fn) -> std::invoke_result_t<F, typename S::Reader> {
  try {
    std::vector<capnp::word> aligned(value.size() / sizeof(capnp::word));
    // Of an empty value there is nothing to copy from.
    if (!aligned.empty())
      std::memcpy(aligned.data(), value.data(), aligned.size() * sizeof(capnp::word));
    capnp::ReaderOptions trusted;
    trusted.traversalLimitInWords = UINT64_MAX;
    capnp::FlatArrayMessageReader message(
      kj::ArrayPtr<const capnp::word>(aligned.data(), aligned.size()), trusted);
    return fn(message.template getRoot<S>());
  } catch (const kj::Exception& e) {
    return error{errc::corruption, std::string("malformed record: ") + e.getDescription().cStr()};
  }
}

inline error mismatch(const char* what) {
  return {errc::corruption, std::string("malformed record: ") + what};
}

inline timestamp time_of(std::int64_t ms) {
  return timestamp{duration{ms}};
}

inline duration duration_of(std::uint64_t ms) {
  return duration{static_cast<duration::rep>(ms)};
}

inline std::uint64_t count_of(duration d) {
  return static_cast<std::uint64_t>(d.count());
}

inline std::int64_t ms_of(timestamp t) {
  return t.time_since_epoch().count();
}

} // namespace codeq::storage
