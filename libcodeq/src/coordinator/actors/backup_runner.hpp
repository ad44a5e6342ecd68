// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "coordinator/shared/shared_hold.hpp"
#include "storage/task_store.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace codeq::coordinator {

struct backup_options {
  std::shared_ptr<storage::task_store> store;
  /// The configured backup directory; empty: none.
  std::filesystem::path directory;
  /// Number of backups to keep.
  std::uint32_t kept = 0;
  /// The hold that all shards of the coordinator share; null when it is alone.
  std::shared_ptr<shared_hold> hold{};
  /// Name of the coordinator in its cluster; empty when it is alone.
  std::string node{};
};

/// Takes backups on request, one at a time, on a thread of its own. Thread-safe.
class backup_runner {
public:
  /// Reads which backups exist, if there is a directory.
  explicit backup_runner(backup_options options);

  backup_runner(const backup_runner&) = delete;
  backup_runner& operator=(const backup_runner&) = delete;

  ~backup_runner() { stop(); }

  /// Cancels a running backup and refuses further ones.
  void stop();

  /// Does what is wished, the hold first, and returns the status of the latest backup. Errors: as
  /// `start`.
  [[nodiscard]] result<backup_status> carry_out(const backup_wish& wish);

  /// Starts a backup; `run`: that of the cluster that it is a part of; 0: none. A repeated request
  /// for the latest run starts no other. Errors: `unsupported` without a directory, `already` while
  /// one is running, `going_away`.
  [[nodiscard]] result<backup_status> start(std::uint64_t run = 0);

  /// Number of backups that failed since the start of the process.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

  /// Status of the latest backup since the start of the process.
  [[nodiscard]] backup_status status() const;

  /// The backups in the directory, oldest first, as of the start and of the latest backup. Errors:
  /// `unsupported` without a directory.
  [[nodiscard]] result<std::vector<backup_info>> list() const;

private:
  [[nodiscard]] error refusal(errc code, const std::string& why) const;
  void run(std::uint64_t number);
  void read_list();

  backup_options options_;
  mutable std::mutex mutex_;
  backup_status status_;
  /// The run of the cluster that the latest backup is a part of; 0: none.
  std::uint64_t run_ = 0;
  std::vector<backup_info> list_;
  std::thread thread_;
  storage::backup_progress progress_;
  std::atomic<std::uint64_t> failures_{0};
};

} // namespace codeq::coordinator
