// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/actors/disk_reserve.hpp"
#include "coordinator/actors/turn_loop.hpp"
#include "coordinator/store/journal.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace codeq::coordinator {

/// Counters of the journal since the start; read on any thread.
struct journal_meter {
  std::atomic<std::uint64_t> groups{0};
  /// Parts of shards, over all groups.
  std::atomic<std::uint64_t> parts{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> microseconds{0};
};

struct journal_driver_options {
  std::shared_ptr<storage::task_store> store;
  journal_options journal;
  /// Called when the store failed; must not return. Nothing is answered after that.
  std::function<void(const error&)> on_failure;
  /// Receives the horizons of synced snapshots; null when nothing is ever dropped.
  std::shared_ptr<storage::retention_horizons> horizons{};
  /// Null: no counters.
  std::shared_ptr<journal_meter> meter{};
  /// Syncs the log in `os` mode; not used in `sync` mode.
  log_syncer_actor syncer{};
  /// Released before a write that the disk has no space for; null when there is none.
  std::shared_ptr<disk_reserve> reserve{};
  /// Not null when the actor runs on the thread of the sockets, with the shards.
  std::shared_ptr<turn_loop> loop{};
};

/// The actor of the journal: writes its groups to the store and waits for the writes.
class journal_driver : public journal_port {
public:
  static constexpr const char* name = "journal";

  journal_driver() = default;
  journal_driver(const journal_driver&) = delete;
  journal_driver& operator=(const journal_driver&) = delete;
  ~journal_driver() override;

  void start(journal_actor::pointer self, journal_driver_options options);

  void gather(const committer_actor& from, turn_commit turn);
  void raise_epoch(const coordinator::raise_epoch& m);
  void write();

  void sync() { journal_->sync(); }

  void begin_write(const commit_group& group) override { to_write_ = &group; }

  void begin_sync() override;
  void committed(shard_id shard, std::uint64_t number) override;
  void epoch_raised(shard_id shard, std::uint32_t epoch) override;
  void publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) override;
  void forget_horizon(shard_id shard) override;
  void write_soon() override;
  void sync_after(time_point::duration wait) override;

  void fail(const error& reason) override { options_.on_failure(reason); }

private:
  [[nodiscard]] time_point now() const { return self_->clock().now(); }

  /// Writes groups until the journal has none left.
  void write_all();
  [[nodiscard]] result<void> write(const commit_group& group);
  void look_at_space(std::size_t bytes);

  journal_actor::pointer self_ = nullptr;
  journal_driver_options options_;
  std::optional<journal> journal_;
  /// Who wrote the latest turn of each shard.
  std::map<shard_id, committer_actor> committers_;
  /// Bytes written since the last check of the free space.
  std::size_t unlooked_bytes_ = 0;
  /// Group to write, owned by the journal until `written`; null when there is none.
  const commit_group* to_write_ = nullptr;
};

[[nodiscard]] journal_actor::behavior_type drive_journal(
  journal_actor::stateful_pointer<journal_driver> self, const journal_driver_options& options);

} // namespace codeq::coordinator
