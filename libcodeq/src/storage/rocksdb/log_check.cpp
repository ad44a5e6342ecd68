// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/log_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::storage {

namespace fs = std::filesystem;

namespace {

// RocksDB's format: blocks of 32 KiB; in them fragments of crc:u32 length:u16 type:u8 and payload,
// little-endian, none across a block's end. A block's last bytes that hold no header are zero.

constexpr std::size_t block_bytes = 32u << 10;
constexpr std::size_t header_bytes = 7;
constexpr std::size_t sector_bytes = 512;

/// So many zeros at the end of a file are taken for a part of a sector that was not written.
constexpr std::size_t zero_tail_bytes_min = 64;

enum fragment_type : unsigned char { whole = 1, first = 2, middle = 3, last = 4 };

std::uint64_t read_little_endian(std::string_view bytes, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t index = width; index-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[index]);
  return number;
}

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t castagnoli_reversed = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t index = 0; index < table.size(); ++index) {
    auto crc = index;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? castagnoli_reversed : 0);
    table[index] = crc;
  }
  return table;
}

/// CRC-32C as RocksDB stores it: rotated and shifted, since logs may hold bytes with their own CRC.
std::uint32_t masked_crc(std::string_view bytes) {
  static constexpr auto table = make_crc_table();
  std::uint32_t crc = ~0u;
  for (char byte : bytes)
    crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

struct fragment {
  unsigned char type = 0;
  std::size_t end = 0;
};

/// The fragment at `offset` when all of it is there and its checksum matches.
std::optional<fragment> read_fragment(std::string_view bytes, std::size_t offset) {
  auto block_end = std::min(bytes.size(), (offset / block_bytes + 1) * block_bytes);
  if (offset + header_bytes > block_end)
    return std::nullopt;
  auto length = read_little_endian(bytes.substr(offset + 4), 2);
  auto type = static_cast<unsigned char>(bytes[offset + 6]);
  auto end = offset + header_bytes + length;
  if (type < whole || type > last || end > block_end)
    return std::nullopt;
  if (
    masked_crc(bytes.substr(offset + 6, 1 + length)) != read_little_endian(bytes.substr(offset), 4))
    return std::nullopt;
  return fragment{type, end};
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

/// True when a record starts whole anywhere behind `offset`.
bool has_record_behind(std::string_view bytes, std::size_t offset) {
  for (auto at = offset + 1; at + header_bytes <= bytes.size(); ++at)
    if (auto found = read_fragment(bytes, at); found && found->type <= first)
      return true;
  return false;
}

/// True when a sector, or what is left of one, from `begin` on was never written.
bool has_unwritten_sector(std::string_view bytes, std::size_t begin) {
  for (auto at = begin; at < bytes.size();) {
    auto end = std::min(bytes.size(), (at / sector_bytes + 1) * sector_bytes);
    auto enough = at == begin ? header_bytes : std::min(zero_tail_bytes_min, sector_bytes);
    if (end - at >= enough && is_zero(bytes.substr(at, end - at)))
      return true;
    at = end;
  }
  return false;
}

/// True when all of the fragment at `offset` is there but for its length, of which the checksum
/// does not tell: it ends where its block or the file does. True as well where no fragment can be.
bool has_other_length(std::string_view bytes, std::size_t offset) {
  auto end = std::min(bytes.size(), (offset / block_bytes + 1) * block_bytes);
  if (offset + header_bytes > end)
    return true;
  auto checked = bytes.substr(offset + 6, end - offset - 6);
  return masked_crc(checked) == read_little_endian(bytes.substr(offset), 4);
}

/// True when the file ends within the fragment at `offset`.
bool is_cut_short(std::string_view bytes, std::size_t offset) {
  if (offset + header_bytes > bytes.size())
    return true;
  auto end = offset + header_bytes + read_little_endian(bytes.substr(offset + 4), 2);
  return end > bytes.size() && !has_other_length(bytes, offset);
}

/// Judges a file whose bytes from `begin` on are no whole record; its fragments are good up to
/// `bad`.
log_inspection judge(std::string_view bytes, std::size_t begin, std::size_t bad) {
  if (is_zero(bytes.substr(begin)))
    return {log_end::intact, begin};
  // A wrong length in the last block looks like the end of the file to RocksDB as well, and it
  // would silently drop what lies behind.
  if (has_record_behind(bytes, bad))
    return {log_end::damaged, begin};
  if (is_cut_short(bytes, bad))
    return {log_end::intact, begin};
  return {has_unwritten_sector(bytes, begin) ? log_end::torn : log_end::damaged, begin};
}

std::optional<std::uint64_t> log_number(const fs::path& file) {
  auto stem = file.stem().string();
  std::uint64_t number = 0;
  auto [rest, failure] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
  if (file.extension() != ".log" || failure != std::errc{} || rest != stem.data() + stem.size())
    return std::nullopt;
  return number;
}

/// Calls `visit(number, path)` for each log in the directory.
template <class Visit>
void visit_logs(const fs::path& directory, Visit visit) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator{directory, failure})
    if (auto number = log_number(entry.path()))
      visit(*number, entry.path());
}

/// A log with nothing in it is what a start leaves behind that did not come to an end.
std::optional<fs::path> newest_log(const fs::path& directory) {
  std::optional<std::pair<std::uint64_t, fs::path>> newest;
  visit_logs(directory, [&](std::uint64_t number, const fs::path& file) {
    std::error_code failure;
    if ((!newest || number > newest->first) && fs::file_size(file, failure) > 0 && !failure)
      newest.emplace(number, file);
  });
  if (!newest)
    return std::nullopt;
  return newest->second;
}

std::optional<fs::path> current_manifest(const fs::path& directory) {
  std::ifstream current{directory / "CURRENT"};
  std::string name;
  if (!std::getline(current, name) || !name.starts_with("MANIFEST-"))
    return std::nullopt;
  return directory / name;
}

bool truncate_and_sync(const fs::path& path, std::uint64_t size) {
  int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool done = ::ftruncate(file, static_cast<off_t>(size)) == 0 && ::fsync(file) == 0;
  ::close(file);
  return done;
}

log_inspection inspect(const std::optional<fs::path>& path) {
  if (!path)
    return {};
  std::ifstream stream{*path, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{stream}, {}};
  return inspect_log(bytes);
}

/// Inspects a file and cuts it when it is torn.
log_end mend(const std::optional<fs::path>& path) {
  auto found = inspect(path);
  if (found.end == log_end::torn && truncate_and_sync(*path, found.whole_bytes))
    return log_end::intact;
  return found.end;
}

} // namespace

log_continuity::log_continuity(fs::path directory) : directory_(std::move(directory)) {
}

void log_continuity::begin(std::uint64_t oldest_log) {
  first_log_.reset();
  next_sequence_.reset();
  found_gap_ = false;
  visit_logs(directory_, [&](std::uint64_t number, const fs::path&) {
    if (number >= oldest_log && (!first_log_ || number < *first_log_))
      first_log_ = number;
  });
}

bool log_continuity::follows(std::uint64_t log, std::string_view batch) {
  constexpr std::size_t batch_header_bytes = 12;
  if (found_gap_ || batch.size() < batch_header_bytes)
    return !found_gap_;
  // The first record of a log is what made RocksDB start the next one, so none is ever skipped.
  auto begin = read_little_endian(batch, 8);
  found_gap_ = next_sequence_ ? begin != *next_sequence_ : first_log_ && log != *first_log_;
  next_sequence_ = begin + read_little_endian(batch.substr(8), 4);
  return !found_gap_;
}

log_inspection inspect_log(std::string_view bytes) {
  std::size_t record = 0;
  std::size_t offset = 0;
  bool is_inside = false;
  while (offset < bytes.size()) {
    auto left = block_bytes - offset % block_bytes;
    if (left < header_bytes && is_zero(bytes.substr(offset, left))) {
      offset = std::min(bytes.size(), offset + left);
      continue;
    }
    auto found = read_fragment(bytes, offset);
    bool fits = found && is_inside == (found->type == middle || found->type == last);
    if (!fits)
      return judge(bytes, record, offset);
    offset = found->end;
    is_inside = found->type == first || found->type == middle;
    if (!is_inside)
      record = offset;
  }
  // Without the last fragments of a record the file ends within it.
  return {log_end::intact, record};
}

log_end look_at_log(const fs::path& directory) {
  return inspect(newest_log(directory)).end;
}

log_end look_at_manifest(const fs::path& directory) {
  return inspect(current_manifest(directory)).end;
}

log_end mend_log(const fs::path& directory) {
  return mend(newest_log(directory));
}

log_end mend_manifest(const fs::path& directory) {
  return mend(current_manifest(directory));
}

error damaged_manifest(const fs::path& directory) {
  return {errc::corruption, "the manifest in " + directory.string() + " is damaged"};
}

} // namespace codeq::storage
