// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace codeq::base {

namespace {

/// Number of bytes that are looked up at once.
constexpr std::size_t width = 8;

using crc_tables = std::array<std::array<std::uint32_t, 256>, width>;

constexpr crc_tables make_tables() {
  constexpr std::uint32_t castagnoli_reversed = 0x82f63b78;
  crc_tables tables{};
  for (std::uint32_t index = 0; index < 256; ++index) {
    auto crc = index;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? castagnoli_reversed : 0);
    tables[0][index] = crc;
  }
  // Table n has the effect of a byte that n further bytes, all zero, follow.
  for (std::size_t n = 1; n < width; ++n)
    for (std::size_t index = 0; index < 256; ++index)
      tables[n][index] = tables[n - 1][index] >> 8 ^ tables[0][tables[n - 1][index] & 0xff];
  return tables;
}

constexpr crc_tables tables = make_tables();

constexpr std::uint32_t byte_at(std::string_view bytes, std::size_t place) {
  return static_cast<unsigned char>(bytes[place]);
}

#if defined(__x86_64__)
/// By the instruction of SSE 4.2. @pre the processor has it
__attribute__((target("sse4.2"))) std::uint32_t
crc32c_by_instruction(std::string_view bytes, std::uint32_t before) {
  std::uint64_t wide = static_cast<std::uint32_t>(~before);
  for (; bytes.size() >= width; bytes.remove_prefix(width)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), width);
    wide = _mm_crc32_u64(wide, word);
  }
  auto crc = static_cast<std::uint32_t>(wide);
  for (char byte : bytes)
    crc = _mm_crc32_u8(crc, static_cast<unsigned char>(byte));
  return ~crc;
}
#endif

} // namespace

std::uint32_t crc32c_by_tables(std::string_view bytes, std::uint32_t before) {
  auto crc = ~before;
  for (; bytes.size() >= width; bytes.remove_prefix(width)) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const auto mixed = i < sizeof crc ? crc >> (8 * i) & 0xff : 0;
      next ^= tables[width - 1 - i][mixed ^ byte_at(bytes, i)];
    }
    crc = next;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    crc = crc >> 8 ^ tables[0][(crc ^ byte_at(bytes, i)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction)
    return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_tables(bytes, before);
}

} // namespace codeq::base
