// SPDX-License-Identifier: Apache-2.0
#include "codeq/ids.hpp"

#include "codeq/limits.hpp"

#include <array>

namespace codeq {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

/// True for the positions of the dashes in a UUID.
constexpr bool is_dash(std::size_t at) {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

constexpr std::size_t text_length = 36;

/// Twelve check bits over the id (the finaliser of SplitMix64), so that a mistyped id is refused.
std::uint64_t check_bits(const task_id& id) {
  std::uint64_t x = id.seq + 0x9E3779B97F4A7C15ull * (value(id.shard) + 1ull);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return (x ^ (x >> 31)) & 0xfff;
}

/// The 32 digits of the text: seq (16), check (3), zero (1), shard (4), zeros (8).
std::array<char, 32> digits_of(const task_id& id) {
  std::array<char, 32> digits;
  digits.fill('0');
  auto write = [&](std::size_t at, std::size_t count, std::uint64_t number) {
    for (std::size_t i = 0; i < count; ++i, number >>= 4)
      digits[at + count - 1 - i] = hex_digits[number & 15];
  };
  write(0, 16, id.seq);
  write(16, 3, check_bits(id));
  write(20, 4, value(id.shard));
  return digits;
}

std::optional<std::uint64_t> read_hex(std::string_view digits) {
  std::uint64_t number = 0;
  for (char c : digits) {
    auto digit = hex_digits.find(c);
    if (digit == std::string_view::npos)
      return std::nullopt;
    number = number << 4 | digit;
  }
  return number;
}

} // namespace

std::string to_string(const task_id& id) {
  auto digits = digits_of(id);
  std::string text;
  text.reserve(text_length);
  for (char digit : digits) {
    if (is_dash(text.size()))
      text.push_back('-');
    text.push_back(digit);
  }
  return text;
}

std::optional<task_id> parse_task_id(std::string_view text) {
  if (text.size() != text_length)
    return std::nullopt;
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash(i) != (text[i] == '-'))
      return std::nullopt;
    if (!is_dash(i))
      digits.push_back(text[i]);
  }
  auto seq = read_hex(std::string_view(digits).substr(0, 16));
  auto shard = read_hex(std::string_view(digits).substr(20, 4));
  if (!seq || !shard)
    return std::nullopt;
  task_id id{static_cast<shard_id>(*shard), *seq};
  if (to_string(id) != text)
    return std::nullopt;
  return id;
}

bool is_valid_name(std::string_view text) noexcept {
  if (text.empty() || text.size() > limits::name_bytes_max)
    return false;
  for (char c : text) {
    bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
              || c == '_' || c == '-';
    if (!ok)
      return false;
  }
  return true;
}

} // namespace codeq
