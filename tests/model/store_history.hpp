// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/lock_step.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/recovery/task_reader.hpp"
#include "storage/recovery/timeline_reader.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/task_store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq::model {

/// Creates an empty store; called again when turns are cut.
using store_maker = std::function<std::unique_ptr<storage::task_store>()>;

/// Stores turns as the coordinator does: projects them, commits them to a store, and recovers from
/// it.
class store_history final : public history {
public:
  explicit store_history(store_maker make_store);

  void append(const std::vector<core::event>& events) override;
  void cut(std::size_t turns) override;
  [[nodiscard]] std::unique_ptr<core::shard_state>
  recover(std::uint32_t epoch, monotonic_time steady) override;

  /// Reads every task's body, latest text, fate and history; counts the records of keys, replaced
  /// bodies and histories.
  [[nodiscard]] std::string
  find_unreadable(const reference_shard& reference, core::shard_state& state) const override;

private:
  /// Checks that no record is left that should have gone when a key became free or a task was
  /// removed.
  [[nodiscard]] std::string check_leftovers(core::shard_state& state) const;
  [[nodiscard]] std::size_t count(const storage::key_range& range) const;
  /// Writes the store's own record.
  void identify();
  void commit(const std::shared_ptr<const storage::write_set>& writes);
  void note_snapshot(const core::snapshot_taken& c);

  /// Drops records whose retention has passed, as of the latest snapshot that can no longer be cut.
  void compact();

  /// Removes the records that may go as of `view`.
  void drop(const storage::key_range& range, const storage::retention_view& view);

  /// Runs the checks of `codeqctl verify` sometimes; returns the findings.
  [[nodiscard]] std::string check_soundness() const;

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string check_checkpoint(const reference_task& task) const;
  [[nodiscard]] std::string check_body(const reference_task& task, const core::segment& s) const;
  [[nodiscard]] std::string
  check_text(const reference_task& task, const core::task_view& view, timestamp now) const;
  [[nodiscard]] std::string
  check_fate(const reference_task& task, const storage::fate_filter& as_of) const;
  [[nodiscard]] std::string check_history(
    const reference_task& task,
    const core::task_view& view,
    storage::view_source source,
    timestamp now) const;

  store_maker make_store_;
  std::unique_ptr<storage::task_store> store_;
  std::vector<std::shared_ptr<const storage::write_set>> turns_;
  /// Keyed by the number of turns at the snapshot.
  std::map<std::size_t, std::shared_ptr<const storage::shard_horizon>> horizons_;
  std::vector<std::string> dropped_;
  std::map<sequence, timestamp> closed_;
  /// Shard time of the latest rewrite of the store's files.
  timestamp compacted_at_{};
  mutable std::size_t checks_ = 0;
};

} // namespace codeq::model
