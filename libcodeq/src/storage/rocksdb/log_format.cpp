// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/log_format.hpp"

#include "base/crc32c.hpp"

#include <algorithm>

namespace codeq::storage::log_format {

namespace {

/// CRC-32C as RocksDB stores it: rotated and with an offset, since logs may contain bytes with a
/// CRC of their own.
std::uint32_t masked(std::uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/// Offset of the bytes that a fragment's checksum covers: those after its length.
constexpr std::size_t type_offset = 6;

} // namespace

std::uint64_t read_little_endian(std::string_view bytes, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t index = width; index-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[index]);
  return number;
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

std::optional<fragment> read_header(std::string_view bytes, std::size_t offset) {
  auto limit = block_end(offset);
  if (offset + header_bytes > std::min(limit, bytes.size()))
    return std::nullopt;
  auto type = static_cast<unsigned char>(bytes[offset + type_offset]);
  auto length = read_little_endian(bytes.substr(offset + 4), 2);
  fragment found{type, offset, offset + header_bytes + length};
  if (type < whole || type > last || found.end > limit)
    return std::nullopt;
  if (!found.ends_record() && found.end != limit)
    return std::nullopt;
  return found;
}

bool is_sound(std::string_view bytes, const fragment& found) {
  if (found.end > bytes.size())
    return false;
  auto covered = bytes.substr(found.begin + type_offset, found.end - found.begin - type_offset);
  return masked(base::crc32c(covered)) == read_little_endian(bytes.substr(found.begin), 4);
}

std::optional<fragment> read_fragment(std::string_view bytes, std::size_t offset) {
  auto found = read_header(bytes, offset);
  return found && is_sound(bytes, *found) ? found : std::nullopt;
}

bool has_other_length(std::string_view bytes, const fragment& found) {
  auto limit = std::min(bytes.size(), block_end(found.begin));
  auto stored = read_little_endian(bytes.substr(found.begin), 4);
  std::uint32_t crc = 0;
  for (auto at = found.begin + type_offset; at < limit; ++at) {
    crc = base::crc32c(bytes.substr(at, 1), crc);
    if (masked(crc) == stored && (is_zero(bytes.substr(at + 1)) || read_fragment(bytes, at + 1)))
      return true;
  }
  return false;
}

std::string record_prefix(std::string_view bytes, fragment found, std::size_t count) {
  std::string prefix;
  for (;;) {
    auto begin = found.begin + header_bytes;
    auto end = std::min(found.end, bytes.size());
    prefix += bytes.substr(begin, std::min(end - begin, count - prefix.size()));
    if (prefix.size() == count || found.ends_record())
      return prefix;
    auto next = read_header(bytes, found.end);
    if (!next || next->starts_record())
      return prefix;
    found = *next;
  }
}

} // namespace codeq::storage::log_format
