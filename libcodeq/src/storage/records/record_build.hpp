// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/commands/fairness_mark.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Builds and reads single records; used by the codecs only.
namespace codeq::storage {

inline constexpr std::size_t small_words = 64;

/// Builds a record in one allocation when `words` is enough; the value is a standard flat message.
template <class S, class F>
std::string build(std::size_t words, F&& fill) {
  capnp::MallocMessageBuilder message(static_cast<capnp::uint>(words));
  fill(message.initRoot<S>());
  auto segments = message.getSegmentsForOutput();
  if (segments.size() == 1) {
    // The segment table of a flat message with one segment: zero, then the segment's size in words.
    auto chars = segments[0].asChars();
    const std::uint32_t table[] = {0, static_cast<std::uint32_t>(segments[0].size())};
    std::string value;
    value.reserve(sizeof table + chars.size());
    value.append(reinterpret_cast<const char*>(table), sizeof table);
    value.append(chars.begin(), chars.size());
    return value;
  }
  auto flat = capnp::messageToFlatArray(message);
  auto chars = flat.asChars();
  return {chars.begin(), chars.size()};
}

/// A copy of a record, aligned for Cap'n Proto.
struct aligned_record {
  std::shared_ptr<const std::uint64_t[]> words;
  std::size_t count = 0;

  /// Copies a value; bytes after its last whole word do not belong to a record.
  explicit aligned_record(std::string_view value) : count(value.size() / sizeof(std::uint64_t)) {
    auto copy = std::make_shared_for_overwrite<std::uint64_t[]>(count);
    // memcpy must not get the null pointer of an empty value.
    if (count > 0)
      std::memcpy(copy.get(), value.data(), count * sizeof(std::uint64_t));
    words = std::move(copy);
  }
};

/// Reads a record; malformed content is reported as `corruption`. The result of `fn` may point into
/// the record.
template <class S, class F>
auto parse(const aligned_record& record, F&& fn) -> std::invoke_result_t<F, typename S::Reader> {
  static_assert(sizeof(capnp::word) == sizeof(std::uint64_t));
  try {
    capnp::ReaderOptions trusted;
    trusted.traversalLimitInWords = UINT64_MAX;
    const auto* begin = reinterpret_cast<const capnp::word*>(record.words.get());
    capnp::FlatArrayMessageReader message(
      kj::ArrayPtr<const capnp::word>(begin, record.count), trusted);
    return fn(message.template getRoot<S>());
  } catch (const kj::Exception& e) {
    return error{errc::corruption, std::string("malformed record: ") + e.getDescription().cStr()};
  }
}

/// The same for results of `fn` that do not point into the record.
template <class S, class F>
auto parse(std::string_view value, F&& fn) -> std::invoke_result_t<F, typename S::Reader> {
  return parse<S>(aligned_record(value), std::forward<F>(fn));
}

[[nodiscard]] error mismatch(std::string_view what);

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

template <class Builder>
void write_fairness(Builder to, const core::fairness_mark& mark) {
  if (!mark.key.empty())
    to.setFairnessKey({reinterpret_cast<const kj::byte*>(mark.key.data()), mark.key.size()});
  to.setFairnessWeight(mark.weight);
}

template <class Reader>
core::fairness_mark read_fairness(Reader from) {
  auto key = from.getFairnessKey().asChars();
  return {{key.begin(), key.size()}, from.getFairnessWeight()};
}

/// False for limits that no producer can have set.
inline bool is_valid(const std::vector<task_limit>& uses) {
  return uses.size() <= limits::task_limits_max
         && std::all_of(uses.begin(), uses.end(), [](const task_limit& use) {
              return !use.name.empty() && use.key.size() <= limits::limit_key_bytes_max
                     && use.cost >= 1 && use.cost <= limits::limit_cost_max;
            });
}

/// False for a weight that no producer can have set.
inline bool is_valid(const core::fairness_mark& mark) {
  return mark.weight >= 1 && mark.weight <= limits::fairness_weight_max;
}

} // namespace codeq::storage
