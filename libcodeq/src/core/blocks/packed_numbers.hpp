// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Variable-length numbers: seven bits per byte, the lowest first; the eighth bit says that more
/// bytes follow. Used in memory and on disk.
namespace codeq::core {

/// Maximum size of a number.
inline constexpr std::size_t number_bytes_max = 10;

inline void append_number(std::string& out, std::uint64_t number) {
  std::array<char, number_bytes_max> bytes;
  std::size_t size = 0;
  for (; number >= 0x80; number >>= 7)
    bytes[size++] = static_cast<char>(number | 0x80);
  bytes[size++] = static_cast<char>(number);
  out.append(bytes.data(), size);
}

/// Appends the signed distance of `number` from `base`; small distances are short.
inline void append_distance(std::string& out, std::uint64_t base, std::uint64_t number) {
  auto distance = number - base;
  auto sign = std::uint64_t{0} - (distance >> 63);
  append_number(out, distance << 1 ^ sign);
}

inline void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out.append(text);
}

/// Reads appended values in the same order. Reads past the end, or of more than 64 bits, return 0
/// or an empty text and set `failed`.
class number_reader {
public:
  explicit number_reader(std::string_view bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}

  std::uint64_t number() {
    std::uint64_t read = 0;
    for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      auto byte = static_cast<unsigned char>(bytes_[at_++]);
      read |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80)
        return read;
    }
    failed_ = true;
    return 0;
  }

  std::uint64_t distance_from(std::uint64_t base) {
    auto coded = number();
    return base + (coded >> 1 ^ (std::uint64_t{0} - (coded & 1)));
  }

  std::string_view text() {
    auto size = number();
    if (failed_ || size > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    auto read = bytes_.substr(at_, size);
    at_ += size;
    return read;
  }

  /// Offset of the next number.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

  [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
  std::string_view bytes_;
  std::size_t at_;
  bool failed_ = false;
};

} // namespace codeq::core
