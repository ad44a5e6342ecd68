// SPDX-License-Identifier: Apache-2.0
#include "transport/framing.hpp"

#include "base/errors.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace codeq::transport {

namespace {

/// Reads a little-endian integer.
std::uint32_t read_little_endian(std::string_view text) {
  std::uint32_t number = 0;
  for (std::size_t i = text.size(); i > 0; --i)
    number = number << 8 | static_cast<unsigned char>(text[i - 1]);
  return number;
}

void write_little_endian(std::uint32_t number, std::size_t count, char* out) {
  for (std::size_t i = 0; i < count; ++i, number >>= 8)
    out[i] = static_cast<char>(number & 0xff);
}

/// True for the first bytes of an HTTP request or response.
bool is_http(std::string_view header) {
  constexpr std::array<std::string_view, 8> beginnings{
    "GET /", "POST /", "PUT /", "DELETE /", "HEAD /", "OPTIONS ", "PATCH /", "HTTP/1."};
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
    return header.starts_with(beginning);
  });
}

} // namespace

result<frame_header> parse_header(std::string_view header, std::size_t body_bytes_max) {
  if (is_http(header))
    return error{
      errc::protocol_error,
      std::string(base::http_peer_words)
        + "; nodes take the address of the coordinator's --listen, HTTP clients that of its "
          "--http"};
  frame_header parsed;
  parsed.length = read_little_endian(header.substr(0, 4));
  parsed.type = static_cast<std::uint16_t>(read_little_endian(header.substr(4, 2)));
  if (auto flags = read_little_endian(header.substr(6, 2)); flags != 0)
    return error{errc::protocol_error, "frame flags=" + std::to_string(flags) + ", expected 0"};
  if (parsed.length == 0 || parsed.length % 8 != 0)
    return error{
      errc::protocol_error,
      "frame length=" + std::to_string(parsed.length) + " is not a positive multiple of 8"};
  if (parsed.length > body_bytes_max)
    return error{
      errc::protocol_error,
      "frame length=" + std::to_string(parsed.length) + " is over the limit of "
        + std::to_string(body_bytes_max)};
  return parsed;
}

std::array<char, protocol::frame_header_bytes> header_of(const protocol::wire_frame& frame) {
  std::array<char, protocol::frame_header_bytes> header{};
  write_little_endian(static_cast<std::uint32_t>(frame.body.size()), 4, header.data());
  write_little_endian(frame.type, 2, header.data() + 4);
  return header;
}

void append_frame(const protocol::wire_frame& frame, std::vector<char>& out) {
  auto header = header_of(frame);
  out.insert(out.end(), header.begin(), header.end());
  auto body = frame.body.view();
  out.insert(out.end(), body.begin(), body.end());
}

bytes take_body(std::vector<char> buffer) {
  auto owner = std::make_shared<const std::vector<char>>(std::move(buffer));
  std::string_view view{owner->data(), owner->size()};
  return {std::move(owner), view};
}

} // namespace codeq::transport
