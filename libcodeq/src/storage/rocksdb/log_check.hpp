// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace codeq::storage {

/// Checks the replay of RocksDB's log files for missing records. After a power cut in `os` mode the
/// end of an older file may be missing although a newer file exists; RocksDB notices that only when
/// the cut went through a record.
class log_continuity {
public:
  explicit log_continuity(std::filesystem::path directory);

  /// Starts a replay of the files numbered `oldest_log` and above.
  void begin(std::uint64_t oldest_log);

  /// True when no record is missing between `batch`, a serialized `WriteBatch` of file `log`, and
  /// the previous one. Otherwise this batch and all later ones must not be applied.
  [[nodiscard]] bool follows(std::uint64_t log, std::string_view batch);

  [[nodiscard]] bool found_gap() const noexcept { return found_gap_; }

private:
  std::filesystem::path directory_;
  /// The oldest existing file; it must contain the first record.
  std::optional<std::uint64_t> first_log_;
  std::optional<std::uint64_t> next_sequence_;
  bool found_gap_ = false;
};

/// State of the end of a file in RocksDB's log format.
enum class log_end : std::uint8_t {
  /// Complete records, followed at most by zeros, or by a record within which the file ends.
  intact,
  /// The last record was being written when the power failed: some of its sectors are missing.
  torn,
  /// Anything else: bytes that were completely written have changed.
  damaged,
};

struct log_inspection {
  log_end end = log_end::intact;
  /// Size of the complete records before it.
  std::uint64_t whole_bytes = 0;
  /// Bytes of the first record that is not complete were never written.
  bool has_gap = false;
};

/// The prefix of each write batch in a store's logs: the identity that RocksDB gave the directory,
/// at most 127 bytes. Clients do not know it, so no payload can imitate a record. Empty when there
/// is no store yet.
[[nodiscard]] std::string log_mark(const std::filesystem::path& directory);

/// Inspects the bytes of a log in which each record was synced before the next one was written. A
/// damaged record with a later one after it was therefore acknowledged; only sectors full of zeros,
/// or the end of the file, distinguish an unfinished record from a damaged one. Bytes within the
/// unfinished record are payload, even if they look like records. Where a header is missing, a
/// later record is recognised by its mark and sequence. A log without marks is judged by sequences
/// alone.
[[nodiscard]] log_inspection inspect_log(std::string_view bytes, std::string_view mark);

/// The same for a manifest, whose records have neither mark nor sequence: a record after a missing
/// header must be followed by complete records up to the end of the file.
[[nodiscard]] log_inspection inspect_manifest(std::string_view bytes);

/// The same for the newest log or the current manifest of a directory, which is not changed;
/// `intact` when there is none.
[[nodiscard]] log_end look_at_log(const std::filesystem::path& directory);
[[nodiscard]] log_end look_at_manifest(const std::filesystem::path& directory);

/// Inspects the newest log of a directory and cuts off an unfinished last record: RocksDB tolerates
/// one only when the file ends within it. A file that cannot be read or cut is left to RocksDB.
/// @pre no other process uses the directory; each commit was synced
[[nodiscard]] log_end cut_torn_log(const std::filesystem::path& directory);

/// The same for the current manifest. RocksDB may write several records before it syncs them, so a
/// record that was never written may have complete ones after it. They are cut off, too, if the
/// logs contain everything that the tables then lack: RocksDB removes a log only after the sync of
/// the record that replaces it.
[[nodiscard]] log_end cut_torn_manifest(const std::filesystem::path& directory);

/// The error for a store with a damaged manifest. RocksDB would take a last record with a wrong
/// length for an unfinished one, and open the store without the files that the record lists.
[[nodiscard]] error damaged_manifest(const std::filesystem::path& directory);

} // namespace codeq::storage
