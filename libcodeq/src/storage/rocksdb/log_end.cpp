// SPDX-License-Identifier: Apache-2.0
#include "storage/rocksdb/log_check.hpp"
#include "storage/rocksdb/log_format.hpp"

#include <algorithm>
#include <string>
#include <utility>

/// Distinguishes an unfinished last record from a damaged one.
namespace codeq::storage {

namespace {

using log_format::batch_header_bytes;
using log_format::block_end;
using log_format::fragment;
using log_format::header_bytes;
using log_format::is_sound;
using log_format::is_zero;
using log_format::read_header;
using log_format::read_little_endian;
using log_format::record_prefix;
using log_format::walk;
using log_format::whole_records;

constexpr std::size_t sector_bytes = 512;

/// This many zeros at the end of a fragment are taken for a part of a sector that was not written.
/// A payload may well end with fewer.
constexpr std::size_t zero_tail_bytes_min = 64;

/// RocksDB ends the records of a manifest with numbers greater than zero, so one changed byte does
/// not leave two zeros.
constexpr std::size_t manifest_zero_tail_bytes_min = 2;

constexpr std::size_t sector_end(std::size_t offset) {
  return (offset / sector_bytes + 1) * sector_bytes;
}

/// The bytes from `begin` up to `end` or to the end of `bytes`.
std::string_view part_of(std::string_view bytes, std::size_t begin, std::size_t end) {
  return begin < bytes.size() ? bytes.substr(begin, end - begin) : std::string_view{};
}

/// True when a sector of the fragment, or at least `zeros_min` bytes of a sector at its end, were
/// never written.
bool lacks_sector(std::string_view bytes, const fragment& found, std::size_t zeros_min) {
  for (auto at = sector_end(found.begin); at < found.end;) {
    auto end = std::min(found.end, at + sector_bytes);
    if (end - at >= zeros_min && is_zero(part_of(bytes, at, end)))
      return true;
    at = end;
  }
  return false;
}

/// True when the header at `offset` lies at least partly in a sector that was never written. @pre
/// the header is within the bytes
bool lacks_header(std::string_view bytes, std::size_t offset) {
  auto end = sector_end(offset);
  if (is_zero(part_of(bytes, offset, end)))
    return true;
  return offset + header_bytes > end && is_zero(part_of(bytes, end, end + sector_bytes));
}

/// The mark of a write batch as it is stored in the log: log data, which is no operation, at the
/// start of the batch.
std::string marked_with(std::string_view mark) {
  constexpr char log_data = 3;
  if (mark.empty())
    return {};
  return std::string{log_data, static_cast<char>(mark.size())} + std::string{mark};
}

/// Decides whether a record really starts where bytes look like a fragment. A payload may contain
/// such bytes, by chance or by intent.
class record_proof {
public:
  virtual ~record_proof() = default;

  /// @pre the header says that a record starts with the fragment
  [[nodiscard]] virtual bool starts_with(std::string_view bytes, const fragment& found) const = 0;

  /// The number of zeros at the end of a fragment that are taken for bytes that were not written.
  [[nodiscard]] virtual std::size_t zeros_min() const { return zero_tail_bytes_min; }

protected:
  /// True when there are only complete records from the fragment to the end of the file.
  [[nodiscard]] static bool reaches_end(std::string_view bytes, const fragment& found) {
    auto records = walk(bytes, found.begin, [](const fragment&) {});
    return records.end == bytes.size();
  }
};

class manifest_proof final : public record_proof {
public:
  [[nodiscard]] bool starts_with(std::string_view bytes, const fragment& found) const override {
    return reaches_end(bytes, found);
  }

  [[nodiscard]] std::size_t zeros_min() const override { return manifest_zero_tail_bytes_min; }
};

/// A record continues the sequence of those before it. It also contains the store's mark, which no
/// client knows. In a log without marks, the record must be followed by complete records up to the
/// end of the log; bytes of a payload only look like that when nothing follows them in their batch.
class batch_proof final : public record_proof {
public:
  explicit batch_proof(std::string_view mark) : mark_(marked_with(mark)) {}

  /// Learns the sequence from a complete record; called in order.
  void learn(std::string_view bytes, const fragment& start) {
    auto prefix = record_prefix(bytes, start, prefix_bytes());
    if (prefix.size() < batch_header_bytes)
      return;
    has_unmarked_ = has_unmarked_ || !is_marked(prefix);
    next_sequence_ = sequence_of(prefix) + read_little_endian(prefix.substr(8), 4);
  }

  [[nodiscard]] bool starts_with(std::string_view bytes, const fragment& found) const override {
    auto prefix = record_prefix(bytes, found, prefix_bytes());
    // The record that is incomplete has the next sequence, so this one must have a greater one.
    if (prefix.size() < batch_header_bytes || sequence_of(prefix) <= next_sequence_)
      return false;
    if (is_marked(prefix))
      return is_sound(bytes, found);
    return (has_unmarked_ || mark_.empty()) && reaches_end(bytes, found);
  }

private:
  [[nodiscard]] std::size_t prefix_bytes() const { return batch_header_bytes + mark_.size(); }

  [[nodiscard]] bool is_marked(const std::string& prefix) const {
    return !mark_.empty() && prefix.compare(batch_header_bytes, std::string::npos, mark_) == 0;
  }

  [[nodiscard]] static std::uint64_t sequence_of(const std::string& prefix) {
    return read_little_endian(prefix, 8);
  }

  std::string mark_;
  std::uint64_t next_sequence_ = 0;
  bool has_unmarked_ = false;
};

/// True when a record starts between `begin` and the end of its block.
bool has_record_in_block(std::string_view bytes, std::size_t begin, const record_proof& proof) {
  auto end = std::min(block_end(begin), bytes.size());
  for (auto at = begin; at + header_bytes <= end; ++at)
    if (auto found = read_header(bytes, at);
        found && found->starts_record() && proof.starts_with(bytes, *found))
      return true;
  return false;
}

/// Follows an incomplete record by its headers, from the first damaged fragment. Everything within
/// the record belongs to it, whatever it looks like; a header at the start of a block is always
/// real.
class unfinished_record {
public:
  unfinished_record(std::string_view bytes, const whole_records& before, const record_proof& proof)
    : bytes_(bytes),
      proof_(proof),
      begin_(before.bad),
      at_(before.bad),
      is_inside_(before.is_inside) {}

  /// True when bytes at the start of the record were never written.
  [[nodiscard]] bool begins_with_gap() const {
    if (lacks_header(bytes_, begin_))
      return true;
    auto found = read_header(bytes_, begin_);
    return found && found->end <= bytes_.size()
           && lacks_sector(bytes_, *found, proof_.zeros_min());
  }

  [[nodiscard]] log_end judge() {
    while (at_ + header_bytes <= bytes_.size())
      if (auto end = take_fragment())
        return *end;
    // The file ends here, or within a header.
    return end_of_file();
  }

private:
  /// Skips a fragment; returns the state of the end as soon as it is certain.
  std::optional<log_end> take_fragment() {
    auto end = block_end(at_);
    if (end - at_ < header_bytes)
      return take_padding(end);
    if (lacks_header(bytes_, at_))
      return take_unknown(end);
    auto found = read_header(bytes_, at_);
    if (!found || found->starts_record() == is_inside_)
      return log_end::damaged;
    if (!is_sound(bytes_, *found) && found->ends_record() && has_other_length(bytes_, *found))
      return log_end::damaged;
    if (found->end > bytes_.size())
      return end_of_file();
    if (!is_sound(bytes_, *found) && !lacks_sector(bytes_, *found, proof_.zeros_min()))
      return log_end::damaged;
    at_ = found->end;
    is_inside_ = true;
    if (found->ends_record())
      return is_rest_zero() ? log_end::torn : log_end::damaged;
    return std::nullopt;
  }

  std::optional<log_end> take_padding(std::size_t end) {
    if (!is_zero(part_of(bytes_, at_, end)))
      return log_end::damaged;
    at_ = end;
    return std::nullopt;
  }

  /// Without a header, the fragment's end within the block is unknown.
  std::optional<log_end> take_unknown(std::size_t end) {
    if (has_record_in_block(bytes_, at_ + 1, proof_))
      return log_end::damaged;
    at_ = end;
    is_inside_ = true;
    return is_rest_zero() ? std::optional{log_end::torn} : std::nullopt;
  }

  /// RocksDB tolerates a record within which the file ends, unless an earlier part of it is
  /// damaged.
  [[nodiscard]] log_end end_of_file() const {
    return at_ == begin_ ? log_end::intact : log_end::torn;
  }

  [[nodiscard]] bool is_rest_zero() const { return is_zero(part_of(bytes_, at_, bytes_.size())); }

  std::string_view bytes_;
  const record_proof& proof_;
  std::size_t begin_;
  std::size_t at_;
  bool is_inside_;
};

log_inspection
judge_walked(std::string_view bytes, const whole_records& found, const record_proof& proof) {
  if (is_zero(part_of(bytes, found.end, bytes.size())))
    return {log_end::intact, found.end};
  unfinished_record last{bytes, found, proof};
  bool has_gap = last.begins_with_gap();
  return {last.judge(), found.end, has_gap};
}

} // namespace

log_inspection inspect_log(std::string_view bytes, std::string_view mark) {
  batch_proof proof{mark};
  auto found = walk(bytes, 0, [&](const fragment& start) { proof.learn(bytes, start); });
  return judge_walked(bytes, found, proof);
}

log_inspection inspect_manifest(std::string_view bytes) {
  return judge_walked(bytes, walk(bytes, 0, [](const fragment&) {}), manifest_proof{});
}

} // namespace codeq::storage
