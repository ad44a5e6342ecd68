// SPDX-License-Identifier: Apache-2.0
#include "storage/replica/delta_spool.hpp"

#include "storage/replica/packed_writes.hpp"

#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace codeq::storage {

namespace {

constexpr std::string_view suffix = ".deltas";
constexpr int name_base = 16;
constexpr std::size_t head_bytes = sizeof(std::uint32_t) + sizeof(std::uint64_t);

template <class Integer>
void append_number(std::string& out, Integer number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

template <class Integer>
Integer number_in(std::string_view bytes) {
  Integer number = 0;
  for (std::size_t i = sizeof number; i-- > 0;)
    number = static_cast<Integer>(number << 8 | static_cast<unsigned char>(bytes[i]));
  return number;
}

/// One delta of a file that is read.
struct spooled {
  std::uint64_t number = 0;
  std::string bytes;
};

/// Reads the next delta when its number is at least `from`, else only its number; empty at the end.
std::optional<spooled> read_next(std::ifstream& file, std::uint64_t from, std::size_t bytes_max) {
  std::string head(head_bytes, '\0');
  if (!file.read(head.data(), static_cast<std::streamsize>(head.size())))
    return std::nullopt;
  const auto length = number_in<std::uint32_t>(head);
  spooled next{number_in<std::uint64_t>(std::string_view(head).substr(sizeof length)), {}};
  if (length > bytes_max)
    return std::nullopt;
  if (next.number < from) {
    file.seekg(length, std::ios::cur);
    return next;
  }
  next.bytes.resize(length);
  if (!file.read(next.bytes.data(), length))
    return std::nullopt;
  return next;
}

} // namespace

delta_spool::delta_spool(delta_spool_options options) : options_(std::move(options)) {
}

void delta_spool::open() {
  if (std::exchange(is_open_, true))
    return;
  std::error_code ignored;
  std::filesystem::create_directories(options_.directory, ignored);
  find_files();
}

void delta_spool::find_files() {
  std::error_code failed;
  for (const auto& found : std::filesystem::directory_iterator(options_.directory, failed)) {
    const auto name = found.path().filename().string();
    std::uint64_t number = 0;
    const auto stem = found.path().stem().string();
    const auto read =
      std::from_chars(stem.data(), stem.data() + stem.size(), number, name_base);
    const auto is_spool = name.ends_with(suffix) && read.ptr == stem.data() + stem.size();
    const auto size = found.file_size(failed);
    if (is_spool && !failed)
      files_.emplace(number, size);
  }
}

std::filesystem::path delta_spool::path_of(std::uint64_t number) const {
  std::string digits(name_base, '0');
  for (auto i = digits.size(); number != 0; number >>= 4)
    digits[--i] = "0123456789abcdef"[number & 15];
  return options_.directory / (digits + std::string(suffix));
}

void delta_spool::begin_file(std::uint64_t number) {
  file_.close();
  std::error_code ignored;
  while (!files_.empty() && files_.rbegin()->first >= number) {
    std::filesystem::remove(path_of(files_.rbegin()->first), ignored);
    files_.erase(std::prev(files_.end()));
  }
  file_.clear();
  file_.open(path_of(number), std::ios::binary | std::ios::trunc);
  if (file_)
    files_.emplace(number, 0);
}

void delta_spool::drop_oldest() {
  std::error_code ignored;
  std::filesystem::remove(path_of(files_.begin()->first), ignored);
  files_.erase(files_.begin());
}

void delta_spool::append(const replication::entry& e) {
  open();
  const auto is_full = !files_.empty() && files_.rbegin()->second >= options_.file_bytes;
  if (!file_.is_open() || !file_ || is_full || e.at.number != next_)
    begin_file(e.at.number);
  next_ = e.at.number + 1;
  if (!file_)
    return;
  const auto bytes = encode(options_.shard, e);
  std::string head;
  append_number(head, static_cast<std::uint32_t>(bytes.size()));
  append_number(head, e.at.number);
  file_.write(head.data(), static_cast<std::streamsize>(head.size()));
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  files_.rbegin()->second += head.size() + bytes.size();
  drop_old();
}

void delta_spool::keep_from(std::optional<std::uint64_t> number) {
  open();
  kept_from_ = number;
  drop_old();
}

bool delta_spool::is_oldest_kept() const {
  return kept_from_ && std::next(files_.begin())->first > *kept_from_;
}

void delta_spool::drop_old() {
  while (files_.size() > 1) {
    const auto most = is_oldest_kept() ? options_.kept_bytes_max : options_.bytes_max;
    if (bytes() <= most)
      return;
    drop_oldest();
  }
}

std::uint64_t delta_spool::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [number, size] : files_)
    sum += size;
  return sum;
}

std::vector<replication::entry>
delta_spool::read_after(replication::position after, std::size_t bytes_max) {
  open();
  std::vector<replication::entry> entries;
  auto wanted = after.number + 1;
  const auto next_file = files_.upper_bound(wanted);
  if (next_file == files_.begin())
    return entries;
  file_.flush();
  const auto end =
    next_file == files_.end() ? std::numeric_limits<std::uint64_t>::max() : next_file->first;
  std::ifstream file(path_of(std::prev(next_file)->first), std::ios::binary);
  for (std::size_t bytes = 0; bytes < bytes_max;) {
    auto next = read_next(file, wanted, options_.bytes_max);
    if (!next || next->number >= end || next->number > wanted)
      break;
    if (next->number < wanted)
      continue;
    auto e = decode_entry(options_.shard, next->bytes);
    if (!e || e->at.number != wanted)
      break;
    bytes += next->bytes.size();
    entries.push_back(std::move(*e));
    ++wanted;
  }
  return entries;
}

} // namespace codeq::storage
