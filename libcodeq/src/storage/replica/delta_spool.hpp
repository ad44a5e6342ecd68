// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "replication/bounds.hpp"
#include "replication/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace codeq::storage {

struct delta_spool_options {
  /// A directory of the shard's own; created when missing, at the first use.
  std::filesystem::path directory;
  shard_id shard{};
  /// Size from which on another file is begun.
  std::size_t file_bytes = replication::bounds::spool_file_bytes;
  /// Size of all files; older deltas are dropped.
  std::size_t bytes_max = replication::bounds::spool_bytes;
  /// The same while older deltas are kept; see `keep_from`.
  std::size_t kept_bytes_max = replication::bounds::spool_bytes_of_copy;
};

/// The latest deltas of a shard in files, from which other replicas catch up. A cache: the files
/// are never synced, may be removed at any time, and may have deltas that the store lost; an error
/// only means that deltas are missing. Used by one thread at a time.
///
/// A file is named by the number of its first delta, and has for each one length:u32 number:u64 and
/// its `DeltaRecord`, little-endian.
class delta_spool {
public:
  /// Touches no file, as the disk may hang: only the functions below do.
  explicit delta_spool(delta_spool_options options);

  /// Adds the next delta. It replaces what earlier processes left behind from its number on.
  void append(const replication::entry& e);

  /// The deltas that follow `after`, at most `bytes_max` of them but at least one; none when the
  /// next one is not here.
  [[nodiscard]] std::vector<replication::entry>
  read_after(replication::position after, std::size_t bytes_max);

  /// Keeps the deltas from this number on, up to `kept_bytes_max`; empty: none more than others.
  void keep_from(std::optional<std::uint64_t> number);

  /// Size of all files; 0 before the first use.
  [[nodiscard]] std::uint64_t bytes() const;

private:
  void open();
  void find_files();
  void begin_file(std::uint64_t number);
  void drop_old();
  void drop_oldest();
  /// Whether the oldest file has deltas that are kept. @pre there are two files
  [[nodiscard]] bool is_oldest_kept() const;
  [[nodiscard]] std::filesystem::path path_of(std::uint64_t number) const;

  delta_spool_options options_;
  bool is_open_ = false;
  /// Number of the first delta -> size.
  std::map<std::uint64_t, std::uint64_t> files_;
  std::ofstream file_;
  std::uint64_t next_ = 0;
  std::optional<std::uint64_t> kept_from_;
};

} // namespace codeq::storage
