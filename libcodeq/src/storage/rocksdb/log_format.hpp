// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// RocksDB's log format: blocks of 32 KiB that contain fragments of crc:u32 length:u16 type:u8 and
/// payload, little-endian; no fragment crosses a block's end. The last bytes of a block, too few
/// for a header, are zero. A record of a log is a write batch: sequence:u64 count:u32 and its
/// operations.
namespace codeq::storage::log_format {

constexpr std::size_t block_bytes = 32u << 10;
constexpr std::size_t header_bytes = 7;
constexpr std::size_t batch_header_bytes = 12;

enum fragment_type : unsigned char { whole = 1, first = 2, middle = 3, last = 4 };

struct fragment {
  unsigned char type = 0;
  std::size_t begin = 0;
  /// End of its payload according to its header; may be beyond the end of the bytes.
  std::size_t end = 0;

  [[nodiscard]] bool starts_record() const noexcept { return type == whole || type == first; }

  [[nodiscard]] bool ends_record() const noexcept { return type == whole || type == last; }
};

[[nodiscard]] std::uint64_t read_little_endian(std::string_view bytes, std::size_t width);

[[nodiscard]] bool is_zero(std::string_view bytes);

/// The end of the block that contains `offset`.
[[nodiscard]] constexpr std::size_t block_end(std::size_t offset) {
  return (offset / block_bytes + 1) * block_bytes;
}

/// The header at `offset`. Empty when no writer leaves such a header there: the first fragments of
/// a record reach to the end of their block. The checksum is not compared. @pre the header is
/// within the bytes
[[nodiscard]] std::optional<fragment> read_header(std::string_view bytes, std::size_t offset);

/// True when the whole fragment exists and its checksum matches.
[[nodiscard]] bool is_sound(std::string_view bytes, const fragment& found);

/// The sound fragment at `offset`; empty when there is none.
[[nodiscard]] std::optional<fragment> read_fragment(std::string_view bytes, std::size_t offset);

/// True when the fragment's checksum matches with another length than the one in its header, and
/// then only zeros or a sound fragment follow.
[[nodiscard]] bool has_other_length(std::string_view bytes, const fragment& found);

/// The first `count` bytes of the record that starts with the fragment, as far as they exist.
[[nodiscard]] std::string record_prefix(std::string_view bytes, fragment found, std::size_t count);

/// Result of `walk`: how far the records from some offset on are complete.
struct whole_records {
  /// End of the last complete record.
  std::size_t end = 0;
  /// End of the last sound fragment.
  std::size_t bad = 0;
  /// True when that fragment was not the last one of its record.
  bool is_inside = false;
};

/// Calls `visit(fragment)` with the first fragment of each complete record.
template <class Visit>
whole_records walk(std::string_view bytes, std::size_t offset, Visit visit) {
  whole_records found{offset, offset};
  fragment start;
  while (found.bad < bytes.size()) {
    auto end = block_end(found.bad);
    auto rest = bytes.substr(found.bad, end - found.bad);
    if (end - found.bad < header_bytes && is_zero(rest)) {
      found.bad += rest.size();
      if (!found.is_inside)
        found.end = found.bad;
      continue;
    }
    auto next = read_fragment(bytes, found.bad);
    if (!next || next->starts_record() == found.is_inside)
      break;
    if (next->starts_record())
      start = *next;
    found.bad = next->end;
    found.is_inside = !next->ends_record();
    if (found.is_inside)
      continue;
    found.end = found.bad;
    visit(start);
  }
  return found;
}

} // namespace codeq::storage::log_format
