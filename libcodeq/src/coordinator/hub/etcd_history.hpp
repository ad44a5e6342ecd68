// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "cluster/records.hpp"
#include "etcd/messages.hpp"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

/// A file beside the store remembers the coordinator's etcd and cluster. With it the coordinator
/// notices, also after a restart, that its etcd was restored from an older state or founded anew. A
/// repair makes the cluster's records from it.
namespace codeq::coordinator {

struct etcd_history {
  /// Zeros: none is known.
  etcd::header known;
  // The cluster, see `cluster::cluster_record`.
  std::uint64_t identity = 0;
  std::uint32_t shards = 0;
  std::uint32_t copies = 0;
  std::uint32_t min_in_sync = 0;
  /// The nodes that have copies.
  std::set<std::string> nodes;

  bool operator==(const etcd_history&) const = default;
};

/// The file within a data directory.
[[nodiscard]] std::filesystem::path etcd_history_file(const std::filesystem::path& data);

[[nodiscard]] etcd_history
history_of(const etcd::header& known, const cluster::cluster_record& record);

/// Without a file nothing is known. Errors: `io_error`; `corruption` when the file has anything
/// else.
[[nodiscard]] result<etcd_history> read_etcd_history(const std::filesystem::path& file);

/// Replaces the file, synced. Errors: `unavailable`.
[[nodiscard]] result<void>
write_etcd_history(const std::filesystem::path& file, const etcd_history& known);

} // namespace codeq::coordinator
