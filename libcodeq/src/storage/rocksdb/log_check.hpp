// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace codeq::storage {

/// Watches the replay of RocksDB's log files for records that are missing in between. After a power
/// cut in `os` mode the end of an older file may be gone while a newer one is there; RocksDB
/// notices that only when the cut went through a record.
class log_continuity {
public:
  explicit log_continuity(std::filesystem::path directory);

  /// Starts a replay of the files numbered `oldest_log` and above.
  void begin(std::uint64_t oldest_log);

  /// True when nothing is missing between `batch`, a serialized `WriteBatch` of file `log`, and the
  /// one before it; else this and all that follow must not be applied.
  [[nodiscard]] bool follows(std::uint64_t log, std::string_view batch);

  [[nodiscard]] bool found_gap() const noexcept { return found_gap_; }

private:
  std::filesystem::path directory_;
  /// The oldest file there is; the first record must be in it.
  std::optional<std::uint64_t> first_log_;
  std::optional<std::uint64_t> next_sequence_;
  bool found_gap_ = false;
};

/// What is at the end of a file in RocksDB's log format.
enum class log_end : std::uint8_t {
  /// Whole records; behind them at most zeros, or a record within which the file ends.
  intact,
  /// A last record that was being written when the power went: sectors of it are missing.
  torn,
  /// Anything else: bytes that had been written whole have changed.
  damaged,
};

struct log_inspection {
  log_end end = log_end::intact;
  /// Bytes of whole records before it.
  std::uint64_t whole_bytes = 0;
};

/// What each write batch of a store's logs begins with: the identity that RocksDB gave the
/// directory, at most 127 bytes. Clients do not know it, so no payload can imitate a record. Empty
/// when there is no store yet.
[[nodiscard]] std::string log_mark(const std::filesystem::path& directory);

/// Inspects the bytes of a log of which each record was synced before the next one was written. So
/// a damaged record with another one behind it was acknowledged, and only sectors full of zeros, or
/// the end of the file, tell an unfinished record from a damaged one. Bytes within the unfinished
/// record are payload, also when they look like records. Where a header is missing, a record behind
/// it is known by its mark and sequence. A log that was written without a mark is judged by
/// sequences alone.
[[nodiscard]] log_inspection inspect_log(std::string_view bytes, std::string_view mark);

/// The same of a manifest, whose records have neither mark nor sequence: a record behind a missing
/// header has to lead to the end of the file.
[[nodiscard]] log_inspection inspect_manifest(std::string_view bytes);

/// The same of the newest log or the current manifest of a directory, which is only read; `intact`
/// when there is none.
[[nodiscard]] log_end look_at_log(const std::filesystem::path& directory);
[[nodiscard]] log_end look_at_manifest(const std::filesystem::path& directory);

/// Inspects the newest log of a directory and cuts an unfinished last record off: RocksDB forgives
/// one only when the file ends within it. A file that cannot be read or cut is left to RocksDB.
/// @pre no other process uses the directory; each commit was synced.
[[nodiscard]] log_end mend_log(const std::filesystem::path& directory);

/// The same for the current manifest, which RocksDB always syncs.
[[nodiscard]] log_end mend_manifest(const std::filesystem::path& directory);

/// Why a store with a damaged manifest is not opened: RocksDB would take a last record with another
/// length for an unfinished one, and open the store without the files that it tells of.
[[nodiscard]] error damaged_manifest(const std::filesystem::path& directory);

} // namespace codeq::storage
