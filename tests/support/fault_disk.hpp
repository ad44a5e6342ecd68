// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fault_file_system.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace codeq::test {

/// The disk's decision about an operation.
enum class verdict : std::uint8_t {
  proceed,
  /// Report success without doing anything.
  pretend,
  fail,
  no_space,
};

/// The state of `fault_file_system`, independent of RocksDB's classes: which bytes are synced, and
/// which fault comes next.
class fault_file_system::disk {
public:
  explicit disk(std::uint64_t seed) : random_(seed) {}

  /// A file or directory opened at some time; unusable once the power was cut or the process ended.
  struct open_file {
    std::string name;
    std::uint64_t generation = 0;
  };

  // Called by the file system for each operation.

  [[nodiscard]] open_file open(const std::string& name) const;

  /// Appends `wanted` bytes or, with a fault, fewer; calls `write` with the number of bytes to
  /// write to the real file.
  [[nodiscard]] verdict
  append(const open_file& file, std::size_t wanted, const std::function<bool(std::size_t)>& write);

  [[nodiscard]] verdict on_sync(const open_file& file);
  [[nodiscard]] verdict on_read(const std::string& file);
  [[nodiscard]] verdict on_directory_sync(const open_file& directory);
  [[nodiscard]] verdict on_truncate(const open_file& file, std::uint64_t size);

  // Replace the same operations on the real directory.

  [[nodiscard]] verdict on_create(const std::string& file);
  [[nodiscard]] verdict remove(const std::string& file);
  [[nodiscard]] verdict rename(const std::string& from, const std::string& to);

  // Called by the test.

  void cut_power(cut_policy policy);
  void end_process();
  void arm(const fault_point& point, std::optional<cut_policy> cut);
  void restore_power();
  void limit_space(std::uint64_t bytes);
  void lie_about_syncs();
  void heal();
  [[nodiscard]] bool has_power() const;
  [[nodiscard]] bool was_reached() const;
  [[nodiscard]] fault_counts counts() const;

private:
  struct unsynced_write {
    std::uint64_t order = 0;
    std::uint64_t end = 0;
  };

  struct file_state {
    std::uint64_t size = 0;
    std::uint64_t synced = 0;
    std::vector<unsynced_write> unsynced;
  };

  /// An unsynced change of the directory, with the data needed to undo it.
  struct entry_change {
    enum class kind : std::uint8_t { created, removed, renamed };
    kind what;
    std::string file;
    std::string target;
    /// Where the removed or replaced file is kept; empty when there was none.
    std::string backup;
  };

  struct armed_fault {
    fault_point point;
    /// Empty: an error instead of a power cut.
    std::optional<cut_policy> cut;
    bool reached = false;
  };

  // All of these: @pre `mutex_` is held.
  [[nodiscard]] bool is_in_use() const { return has_power_ && has_process_; }

  [[nodiscard]] bool is_dead(const open_file& file) const;
  [[nodiscard]] file_state& state_of(const std::string& file);
  [[nodiscard]] verdict admit(const std::string& file, std::size_t& bytes);
  [[nodiscard]] bool reaches(const std::string& file, disk_operation operation);
  [[nodiscard]] verdict strike();
  void cut(cut_policy policy);
  void undo(const entry_change& change);
  void cut_file(const std::string& file, const file_state& state, cut_policy policy);
  [[nodiscard]] std::uint64_t kept_end(const file_state& state, cut_policy policy);
  void tear(const std::string& file, std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] std::string set_aside(const std::string& file);

  [[nodiscard]] std::uint64_t up_to(std::uint64_t last) { return random_() % (last + 1); }

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<std::string, file_state> files_;
  std::vector<entry_change> changes_;
  std::optional<armed_fault> armed_;
  std::optional<std::uint64_t> space_;
  fault_counts counts_;
  std::uint64_t generation_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t cut_order_ = 0;
  std::uint64_t backups_ = 0;
  bool has_power_ = true;
  bool has_process_ = true;
  bool lies_ = false;
};

} // namespace codeq::test
