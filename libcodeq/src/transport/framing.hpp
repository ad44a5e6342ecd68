// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "protocol/frame.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

/// Parsing and writing of frame headers; pure.
namespace codeq::transport {

struct frame_header {
  /// Size of the body that follows: a positive multiple of 8.
  std::uint32_t length = 0;
  std::uint16_t type = 0;
};

/// Parses a header of `protocol::frame_header_bytes`. Errors: `protocol_error` for flags that are
/// not zero, an invalid length, or a length above `body_bytes_max`; it says so when the bytes are
/// those of HTTP, whose port is easily mistaken for this one.
[[nodiscard]] result<frame_header>
parse_header(std::string_view header, std::size_t body_bytes_max);

/// The header bytes of a frame.
[[nodiscard]] std::array<char, protocol::frame_header_bytes>
header_of(const protocol::wire_frame& frame);

/// Appends header and body.
void append_frame(const protocol::wire_frame& frame, std::vector<char>& out);

/// Makes a received buffer a message body, without a copy.
[[nodiscard]] bytes take_body(std::vector<char> buffer);

} // namespace codeq::transport
