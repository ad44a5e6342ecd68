// SPDX-License-Identifier: Apache-2.0
#include "base/error_fingerprint.hpp"

#include <algorithm>
#include <cstddef>

namespace codeq::base {

namespace {

constexpr std::size_t hex_word_min = 8;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Letters, digits, and what joins them in ids; bytes above ASCII belong to letters.
bool is_of_word(char c) {
  bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || is_digit(c) || c == '_' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

/// Characters that stand between the parts of an address, a time or a decimal number.
bool joins_numbers(std::string_view text) {
  return text == "." || text == ":" || text == "," || text == "/";
}

bool is_variable(std::string_view word) {
  if (std::any_of(word.begin(), word.end(), is_digit))
    return true;
  return word.size() >= hex_word_min && std::all_of(word.begin(), word.end(), is_hex);
}

/// The length of the word, or of the other characters, that `text` begins with.
std::size_t length_of_part(std::string_view text) {
  bool is_word = is_of_word(text.front());
  auto end = std::find_if(
    text.begin(), text.end(), [is_word](char c) { return is_of_word(c) != is_word; });
  return static_cast<std::size_t>(end - text.begin());
}

} // namespace

std::string fingerprint_of(std::string_view error_text) {
  auto rest = error_text.substr(0, error_text.find_first_of("\r\n"));
  std::string found;
  /// The text behind a `#`, which is left out when another one follows.
  std::string joint;
  bool is_after_number = false;
  while (!rest.empty() && found.size() < fingerprint_bytes_max) {
    auto part = rest.substr(0, length_of_part(rest));
    rest.remove_prefix(part.size());
    if (is_of_word(part.front()) && is_variable(part)) {
      if (!is_after_number)
        found += '#';
      joint.clear();
      is_after_number = true;
    } else if (is_after_number && joint.empty() && joins_numbers(part)) {
      joint = part;
    } else {
      found += joint;
      found += part;
      joint.clear();
      is_after_number = false;
    }
  }
  found += joint;
  return found.substr(0, fingerprint_bytes_max);
}

} // namespace codeq::base
