// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace rocksdb {
class Env;
}

namespace codeq::test {

enum class file_kind : std::uint8_t { log, manifest, table, any };

enum class disk_operation : std::uint8_t { create, append, sync, read };

/// Which of RocksDB's background threads performs the operation.
enum class disk_user : std::uint8_t { any, flush, compaction };

/// The `countdown`th matching operation, counted from 1.
struct fault_point {
  file_kind kind = file_kind::any;
  disk_operation operation = disk_operation::append;
  std::size_t countdown = 1;
  disk_user user = disk_user::any;
};

/// Which unsynced bytes and directory entries survive a power cut.
enum class cut_policy : std::uint8_t {
  /// Nothing.
  lose_all,
  /// Everything written up to some moment, over all files.
  keep_prefix,
  /// Some prefix of each file, as if files were written back in any order.
  per_file,
  /// As `per_file`, and some 512-byte sectors of the rest were never written.
  torn,
};

/// Faults that have occurred on the disk so far.
struct fault_counts {
  std::uint64_t power_cuts = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes_lost = 0;
  std::uint64_t entries_lost = 0;
};

/// A disk under RocksDB that can lose power, fail, fill up and lie. It writes through to real
/// files and remembers which bytes and directory entries were synced; a power cut takes back what
/// was not. Safe between threads; one flat directory. It must outlive every store that uses it.
class fault_file_system {
public:
  /// `seed` determines what survives a cut.
  explicit fault_file_system(std::uint64_t seed);
  fault_file_system(const fault_file_system&) = delete;
  fault_file_system& operator=(const fault_file_system&) = delete;
  ~fault_file_system();

  /// For `rocksdb_store_options::environment`.
  [[nodiscard]] rocksdb::Env* environment() const;

  /// Drops unsynced data; from now on every operation fails.
  void cut_power(cut_policy policy);

  /// Cuts the power in the middle of a later operation; that operation may be partly done.
  void cut_power_at(const fault_point& point, cut_policy policy);

  [[nodiscard]] bool has_power() const;

  /// From now on every operation fails, as those of a killed process do. The disk loses nothing,
  /// but unsynced data can still be lost by a later cut.
  void end_process();

  /// Lets the next process use the disk. @pre the store that used the disk is closed. Files that
  /// were open stay unusable.
  void restore_power();

  /// From that operation on, all operations of its kind fail with an I/O error until `heal`; a
  /// failing write may leave a part of its bytes.
  void fail_at(const fault_point& point);

  /// Writes fail with "no space" after `bytes` more bytes, until `heal`.
  void limit_space(std::uint64_t bytes);

  /// Syncs of files report success without doing anything, until `heal`.
  void lie_about_syncs();

  /// Removes all faults.
  void heal();

  /// True when the point of the last `cut_power_at` or `fail_at` was reached.
  [[nodiscard]] bool was_reached() const;

  [[nodiscard]] fault_counts counts() const;

  /// The state; known to the implementation only.
  class disk;

private:
  std::shared_ptr<disk> disk_;
  std::unique_ptr<rocksdb::Env> environment_;
};

/// Flips bit `bit` (counted from the start of the file) of a file that is not being written.
void flip_bit(const std::filesystem::path& file, std::uint64_t bit);

} // namespace codeq::test
