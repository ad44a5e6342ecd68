// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/time.hpp"

#include <capnp/blob.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace codeq::protocol {

/// A data field as a slice of the message's own buffer. @pre `data` lies within `body`
[[nodiscard]] inline bytes share(const bytes& body, capnp::Data::Reader data) {
  if (data.size() == 0)
    return {};
  auto offset = reinterpret_cast<const char*>(data.begin()) - body.data();
  return body.slice(static_cast<std::size_t>(offset), data.size());
}

/// A copy of a data field.
[[nodiscard]] inline std::string string_of(capnp::Data::Reader data) {
  return {data.asChars().begin(), data.size()};
}

/// Text as the content of a data field; shares the characters.
[[nodiscard]] inline capnp::Data::Reader data_of(std::string_view text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

/// A string as the content of a text field; shares the characters, which end with a zero.
[[nodiscard]] inline capnp::Text::Reader text_of(const std::string& text) {
  return {text.data(), text.size()};
}

/// A time as messages have it, in milliseconds.
[[nodiscard]] inline std::int64_t ms_of(timestamp t) {
  return t.time_since_epoch().count();
}

/// The length of a list.
[[nodiscard]] inline capnp::uint count_of(std::size_t n) {
  return static_cast<capnp::uint>(n);
}

} // namespace codeq::protocol
