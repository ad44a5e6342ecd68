// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace codeq::coordinator {

/// Bounds how far commits in `os` mode may be ahead of the disk. A sync begins `os_sync_interval`
/// after the first commit that is not synced, one sync at a time, and commits wait for it from
/// `os_unsynced_max` on. Performs no syncs itself; to sync a commit too early does no harm.
class sync_pace {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Records a commit. Returns when to sync, unless that was returned before or a sync is in
  /// progress.
  [[nodiscard]] std::optional<time_point> committed(time_point now);

  /// True when a power cut might lose more than allowed.
  [[nodiscard]] bool is_behind(time_point now) const;

  /// Begins a sync of everything committed so far. Returns false if one is in progress, or if there
  /// is nothing to sync.
  [[nodiscard]] bool begin();

  /// The sync is done. Returns when to sync the commits made meanwhile.
  [[nodiscard]] std::optional<time_point> end();

private:
  bool is_syncing_ = false;
  /// Time of the first commit that may not be on disk.
  std::optional<time_point> unsynced_since_;
  /// Time of the first commit that the current sync does not cover.
  std::optional<time_point> uncovered_since_;
};

} // namespace codeq::coordinator
