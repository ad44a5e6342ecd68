// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/store/journal.hpp"
#include "coordinator/store/reader.hpp"
#include "sim/sim_disk.hpp"
#include "sim/world.hpp"

#include <map>
#include <utility>
#include <vector>

namespace codeq::sim {

class sim_session;
class sim_shard;

/// Drives the journal. A write and a sync take a random time; when the process ends during one, the
/// disk may keep or lose it.
class sim_journal final : public coordinator::journal_port {
public:
  sim_journal(world& all, process& home, sim_disk& disk, const storage::store_record& identity);

  /// Called from a shard.
  void gather(sim_shard& from, coordinator::turn_commit turn, std::vector<core::event> events);

  /// Called from a shard.
  void raise_epoch(sim_shard& from, shard_id shard);

  /// The process ended: the write in progress may or may not have reached the disk.
  void lose_power_over_writing();

  void begin_write(const coordinator::commit_group& group) override;
  void begin_sync() override;
  void committed(shard_id shard, std::uint64_t number) override;
  void epoch_raised(shard_id shard, std::uint32_t epoch) override;
  void publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) override;

  /// No shard has replicas here.
  void forget_horizon(shard_id) override {}

  void write_soon() override;
  void sync_after(time_point::duration wait) override;
  [[noreturn]] void fail(const error& reason) override;

private:
  [[nodiscard]] time_point now() const { return time_point{world_.time.now()}; }

  [[nodiscard]] virtual_time some_disk_time();

  /// The time of a write of this group; none when it is made on the thread of the shards.
  [[nodiscard]] virtual_time write_time();
  void put_on_disk();

  world& world_;
  process& home_;
  sim_disk& disk_;
  mailbox box_;
  coordinator::journal journal_;
  std::map<shard_id, sim_shard*> shards_;
  /// Events of the turns that wait to be written or are being written.
  std::map<std::pair<shard_id, std::uint64_t>, std::vector<core::event>> events_;
  std::vector<turn_writes> writing_;
  storage::durability mode_ = storage::durability::sync;
};

/// Drives the reader.
class sim_reader final : public coordinator::reader_port {
public:
  sim_reader(world& all, process& home, sim_disk& disk);

  /// Called from a shard.
  void fetch(sim_session& to, coordinator::bodies_wanted wanted);

  /// Called from a shard.
  void answer(sim_session& to, coordinator::stored_inquiry asked);

  /// Called from a shard.
  void list(sim_session& to, coordinator::stored_list asked);

  /// Called from a shard.
  void find(sim_shard& from, coordinator::keys_wanted wanted);

  /// Called from a shard.
  void read(sim_shard& from, coordinator::survivors_wanted wanted);

  [[nodiscard]] bool may_have(std::string_view key) const { return disk_.store().may_have(key); }

  void reply(core::peer_id peer, coordinator::shard_reply reply) override;
  void
  keys_found(shard_id shard, std::uint64_t number, std::vector<core::recalled_key> found) override;
  void survivors_read(shard_id shard, core::copy_survivors found) override;

  void survivors_damaged(const coordinator::survivors_wanted&, const error& reason) override {
    fail(reason);
  }

  void deliver(core::peer_id peer, coordinator::task_delivery tasks) override;
  void tell_credits(core::peer_id peer, const coordinator::credit_news& news) override;
  [[noreturn]] void fail(const error& reason) override;

private:
  /// Other messages may come between two steps of a list.
  void go_on(sim_session& to, const std::shared_ptr<coordinator::open_list>& list);

  sim_disk& disk_;
  mailbox box_;
  coordinator::reader reader_;
  /// The session that the current call answers.
  sim_session* peer_ = nullptr;
  std::map<shard_id, sim_shard*> shards_;
  /// Number of tasks delivered and credits returned by the current call.
  std::uint32_t tasks_told_ = 0;
};

} // namespace codeq::sim
