// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// RocksDB's log format: blocks of 32 KiB, in them fragments of crc:u32 length:u16 type:u8 and
/// payload, little-endian, none across a block's end. The last bytes of a block that hold no header
/// are zero. A log's record is a write batch: sequence:u64 count:u32 and its operations.
namespace codeq::storage::log_format {

constexpr std::size_t block_bytes = 32u << 10;
constexpr std::size_t header_bytes = 7;
constexpr std::size_t batch_header_bytes = 12;

enum fragment_type : unsigned char { whole = 1, first = 2, middle = 3, last = 4 };

struct fragment {
  unsigned char type = 0;
  std::size_t begin = 0;
  /// Behind its payload, as its header says; may be behind the end of the bytes.
  std::size_t end = 0;

  [[nodiscard]] bool starts_record() const noexcept { return type == whole || type == first; }

  [[nodiscard]] bool ends_record() const noexcept { return type == whole || type == last; }
};

[[nodiscard]] std::uint64_t read_little_endian(std::string_view bytes, std::size_t width);

[[nodiscard]] bool is_zero(std::string_view bytes);

/// Where the block ends that `offset` is in.
[[nodiscard]] constexpr std::size_t block_end(std::size_t offset) {
  return (offset / block_bytes + 1) * block_bytes;
}

/// What the header at `offset` says. Empty when no writer leaves such a header there: the first
/// fragments of a record reach to the end of their block. The checksum is not compared.
/// @pre the header is within the bytes
[[nodiscard]] std::optional<fragment> read_header(std::string_view bytes, std::size_t offset);

/// True when all of the fragment is there and its checksum matches.
[[nodiscard]] bool is_sound(std::string_view bytes, const fragment& found);

/// The sound fragment at `offset`.
[[nodiscard]] std::optional<fragment> read_fragment(std::string_view bytes, std::size_t offset);

/// True when the checksum of a fragment matches with another length, of which it does not tell, and
/// what follows then is sound.
[[nodiscard]] bool has_other_length(std::string_view bytes, const fragment& found);

/// The first `count` bytes of the record that starts with the fragment, as far as they are there.
[[nodiscard]] std::string record_prefix(std::string_view bytes, fragment found, std::size_t count);

/// How far the records from some offset on are whole.
struct whole_records {
  /// Behind the last whole record.
  std::size_t end = 0;
  /// Behind the last sound fragment.
  std::size_t bad = 0;
  /// That fragment was not the last one of its record.
  bool is_inside = false;
};

/// Calls `visit(fragment)` for the first fragment of each record that is whole.
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
