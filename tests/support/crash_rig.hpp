// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/fault_file_system.hpp"
#include "support/random_writes.hpp"
#include "support/temporary_directory.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::test {

/// A RocksDB store on a disk with faults, and a model of what it must still contain after each
/// fault. A scenario: arm a fault, `open`, `commit_some`, `recover`.
class crash_rig {
public:
  /// `shape` determines the writes of a group.
  crash_rig(std::uint64_t seed, storage::durability mode, random_writes::shape shape = {});

  [[nodiscard]] fault_file_system& disk() noexcept { return disk_; }

  [[nodiscard]] std::filesystem::path directory() const { return directory_.path() / "store"; }

  /// Opens the store unless it is open.
  [[nodiscard]] result<void> open();

  /// Commits groups until one fails. In `os` mode it syncs the log from time to time.
  [[nodiscard]] result<void> commit_some(std::size_t groups);

  [[nodiscard]] result<void> sync_log();

  /// Closes the store in order.
  void close() { store_.reset(); }

  /// Kills the process, removes all faults, opens the store again and compares it with the model:
  /// every durable group, then possibly further whole groups in order. Returns the difference, or
  /// nothing. The content found counts as durable from here on.
  [[nodiscard]] std::optional<std::string> recover();

  [[nodiscard]] storage::task_store& store() { return *store_; }

  /// Content of the store when all groups are applied.
  [[nodiscard]] contents expected() const;

private:
  [[nodiscard]] std::optional<std::string> compare(const contents& found);

  /// Number of the last group that must survive.
  [[nodiscard]] std::uint64_t required() const;

  temporary_directory directory_{temporary_directory::in_memory()};
  fault_file_system disk_;
  storage::durability mode_;
  random_writes writes_;
  /// The state after the last recovery, and the groups committed since.
  contents base_;
  std::uint64_t base_number_ = 0;
  std::vector<write_group> since_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t synced_ = 0;
  std::unique_ptr<storage::task_store> store_;
};

} // namespace codeq::test
