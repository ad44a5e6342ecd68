// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Bytes in the format of RocksDB's logs, for payloads that imitate one.
namespace codeq::test {

inline std::string little_endian(std::uint64_t number, std::size_t width) {
  std::string bytes;
  for (; width > 0; --width, number >>= 8)
    bytes.push_back(static_cast<char>(number));
  return bytes;
}

/// CRC-32C, masked as RocksDB stores it.
inline std::uint32_t log_checksum(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/// A whole log record: checksum, length, type and body.
inline std::string log_fragment(std::string_view body) {
  auto typed = '\x01' + std::string{body};
  return little_endian(log_checksum(typed), 4) + little_endian(body.size(), 2) + typed;
}

/// The header of a write batch.
inline std::string batch_header(std::uint64_t sequence, std::uint32_t count) {
  return little_endian(sequence, 8) + little_endian(count, 4);
}

/// `part` repeated to at least `bytes` bytes.
inline std::string repeated(std::string_view part, std::size_t bytes) {
  std::string all;
  while (all.size() < bytes)
    all += part;
  return all;
}

} // namespace codeq::test
