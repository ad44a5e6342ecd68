// SPDX-License-Identifier: Apache-2.0
#include "http/base64.hpp"

#include <cstdint>

namespace codeq::http {

namespace {

constexpr std::string_view alphabet =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

} // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= count ? alphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

bool is_base64(std::string_view text) noexcept {
  if (text.size() % 4 != 0)
    return false;
  auto end = text.find_last_not_of('=');
  auto body = end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
  return text.size() - body.size() <= 2
         && body.find_first_not_of(alphabet) == std::string_view::npos;
}

} // namespace codeq::http
