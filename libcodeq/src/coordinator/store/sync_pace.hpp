// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace codeq::coordinator {

/// How far commits of `os` mode may be ahead of the disk: a sync begins `os_sync_interval` after
/// the first commit that is not there, one at a time, and commits wait for it from
/// `os_unsynced_max` on. Does nothing itself; a commit that was synced too early costs nothing.
class sync_pace {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Notes a commit. Returns when to sync, unless that was said before or a sync is under way.
  [[nodiscard]] std::optional<time_point> committed(time_point now);

  /// True when a power cut might cost more than it may.
  [[nodiscard]] bool is_behind(time_point now) const;

  /// Begins a sync of everything committed so far. Returns false if one is under way, or if there
  /// is nothing to sync.
  [[nodiscard]] bool begin();

  /// The sync is done. Returns when to sync what was committed meanwhile.
  [[nodiscard]] std::optional<time_point> end();

private:
  bool is_syncing_ = false;
  /// When the first commit was made that is maybe not on the disk.
  std::optional<time_point> unsynced_since_;
  /// When the first commit was made that the sync under way does not cover.
  std::optional<time_point> uncovered_since_;
};

} // namespace codeq::coordinator
