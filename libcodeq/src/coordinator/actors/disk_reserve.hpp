// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <mutex>

namespace codeq::coordinator {

/// A file that takes up space on the disk of the store, to be given up when the disk is full: then
/// the store still writes what is small, and can be started, read and purged. Created when there is
/// room for it, cut to nothing when the space runs out, created again once there is room again.
/// Safe between threads.
class disk_reserve {
public:
  /// In `directory`, which is created when missing.
  explicit disk_reserve(
    const std::filesystem::path& directory, std::uint64_t bytes = limits::disk_reserve_bytes);

  /// Looks how much is free on the disk; creates the file or gives it up accordingly. Returns the
  /// bytes that may be used for more than what is small: those of a reserve that was given up do
  /// not count. Errors: `disk_full` when the space is unknown.
  [[nodiscard]] result<std::uint64_t> usable();

  /// Bytes that the file holds.
  [[nodiscard]] std::uint64_t held() const;

private:
  // All of these: @pre `mutex_` is held.
  void create();
  void release(std::uint64_t available);

  const std::filesystem::path file_;
  const std::uint64_t bytes_;
  mutable std::mutex mutex_;
  bool is_held_ = false;
  /// The file is there, but empty.
  bool was_released_ = false;
};

} // namespace codeq::coordinator
