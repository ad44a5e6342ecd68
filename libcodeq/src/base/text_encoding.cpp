// SPDX-License-Identifier: Apache-2.0
#include "base/text_encoding.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace codeq::base {

namespace {

constexpr std::string_view alphabet =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Number of bytes that follow the first byte of a UTF-8 sequence; -1 if it cannot be a first byte.
int bytes_behind(unsigned char first) noexcept {
  if (first < 0x80)
    return 0;
  if (first >= 0xC2 && first <= 0xDF)
    return 1;
  if (first >= 0xE0 && first <= 0xEF)
    return 2;
  return first >= 0xF0 && first <= 0xF4 ? 3 : -1;
}

/// The bounds of the second byte exclude overlong forms, surrogates and code points above U+10FFFF.
bool is_second(unsigned char first, unsigned char second) noexcept {
  unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

/// True when a whole word of ASCII characters begins there: most texts have nothing else.
bool is_ascii_word(std::string_view text, std::size_t at) noexcept {
  if (text.size() - at < word_bytes)
    return false;
  std::uint64_t word = 0;
  std::memcpy(&word, text.data() + at, word_bytes);
  return (word & 0x8080'8080'8080'8080u) == 0;
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    if (is_ascii_word(text, i)) {
      i += word_bytes;
      continue;
    }
    auto first = static_cast<unsigned char>(text[i++]);
    auto behind = bytes_behind(first);
    if (behind < 0 || text.size() - i < static_cast<std::size_t>(behind))
      return false;
    for (int k = 0; k < behind; ++k) {
      auto next = static_cast<unsigned char>(text[i++]);
      bool fits = k == 0 ? is_second(first, next) : (next & 0xC0) == 0x80;
      if (!fits)
        return false;
    }
  }
  return true;
}

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

bool is_base64url(std::string_view text) noexcept {
  auto is_digit = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'
           || c == '_';
  };
  // A last group of one digit has six bits, less than a byte.
  return text.size() % 4 != 1 && std::all_of(text.begin(), text.end(), is_digit);
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

} // namespace codeq::base
