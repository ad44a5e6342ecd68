// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/tuning.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>

namespace codeq::coordinator {

/// A file that reserves space on the store's disk and is released when the disk is full: the store
/// can then still write small records, and can be started, read and purged. The file is created
/// when there is space for it, truncated when space runs out, and created again once there is space
/// again. Thread-safe.
class disk_reserve {
public:
  /// A purge of a full disk needs as much, because it first writes what is in memory to a file: the
  /// write buffers of the store, and what the journal needs meanwhile.
  static constexpr std::uint64_t purge_room_bytes = 40ull << 20;

  /// While it lives, the reserve's space is given to work that frees more. Ends before the reserve.
  class loan {
  public:
    explicit loan(disk_reserve& of);
    loan(const loan&) = delete;
    loan& operator=(const loan&) = delete;
    ~loan();

  private:
    disk_reserve& of_;
  };

  /// The file is in `directory`, which is created when missing.
  explicit disk_reserve(
    const std::filesystem::path& directory, std::uint64_t bytes = tuning::disk_reserve_bytes);

  /// Checks the free space and creates or releases the file accordingly. Returns the bytes that are
  /// available for more than small writes; those of a released reserve do not count. Errors:
  /// `disk_full` when the space cannot be determined.
  [[nodiscard]] result<std::uint64_t> usable();

  /// The free bytes from which on tasks may be added, when an operator wants `wanted`: more where
  /// the disk never had space for the reserve, because a purge could not free anything otherwise.
  /// 0 stays 0.
  [[nodiscard]] std::uint64_t least(std::uint64_t wanted) const;

  /// Bytes that a rewrite of the store's files may use for a while, those of a released reserve
  /// included. Errors: as `usable`.
  [[nodiscard]] result<std::uint64_t> room() const;

  /// Size of the file.
  [[nodiscard]] std::uint64_t held() const;

  /// Notes that tasks were purged, so that the store may free their space.
  void note_purge() noexcept { ++purges_; }

  [[nodiscard]] std::uint64_t purges() const noexcept { return purges_; }

private:
  // All of these: @pre `mutex_` is held.
  void create();
  [[nodiscard]] bool release();

  const std::filesystem::path file_;
  const std::uint64_t bytes_;
  std::atomic<std::uint64_t> purges_{0};
  mutable std::mutex mutex_;
  bool is_held_ = false;
  bool is_lent_ = false;
  /// The file exists, but is empty.
  bool was_released_ = false;
};

} // namespace codeq::coordinator
