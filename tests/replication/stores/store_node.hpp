// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/replica/replica_driver.hpp"
#include "coordinator/replica/replica_wire.hpp"
#include "coordinator/shard/shard.hpp"
#include "coordinator/store/journal.hpp"
#include "coordinator/store/reader.hpp"
#include "replication/timeline.hpp"
#include "storage/replica/delta_spool.hpp"
#include "storage/replica/shard_copy.hpp"
#include "storage/task_store.hpp"
#include "support/fault_file_system.hpp"
#include "support/temporary_directory.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::replication::stores {

class store_world;

inline constexpr shard_id shard_number{0};

/// A coordinator: a RocksDB store on a disk that can lose power, and a process with the real
/// journal, replica, reader and, when it serves, shard.
class store_node final : public coordinator::replica_host,
                         public coordinator::journal_port,
                         public coordinator::shard_port,
                         public coordinator::reader_port {
public:
  store_node(store_world& world, std::size_t index, replica_id id);
  ~store_node() override;

  /// Starts a process; the first one makes the replica, with data in it if it is the founder.
  void start(bool is_founder = false);
  /// Opens the store and nothing else.
  void open();
  void kill();
  /// Kills the process, and loses what was not synced.
  void cut_power();
  /// Kills the process and removes all its files.
  void wipe();
  void drop_spool();

  /// Stops in order: closes the store.
  void stop();

  [[nodiscard]] bool is_up() const { return process_ != nullptr; }

  [[nodiscard]] bool is_serving() const;

  [[nodiscard]] replica_id id() const { return id_; }

  /// @pre `is_up()`
  [[nodiscard]] coordinator::replica_driver& driver();
  [[nodiscard]] storage::task_store& store();
  [[nodiscard]] const core::shard_state& state() const;

  /// The epoch and tokens of a shard that serves.
  void decide(const core::command& command);

  [[nodiscard]] std::size_t copies_taken() const { return copies_taken_; }

  /// Number of copies that it sends. @pre `is_up()`
  [[nodiscard]] std::size_t open_copies() const;

  [[nodiscard]] std::size_t tails_from_spool() const { return tails_from_spool_; }

  [[nodiscard]] test::fault_file_system& disk() { return disk_; }

  [[nodiscard]] std::filesystem::path directory() const { return directory_.path() / "store"; }

  /// Bytes from another node.
  void receive(replica_id from, std::uint64_t incarnation, const bytes& frame);
  void etcd_answered(const membership& current, bool applied);

  /// Runs something of this process later; nothing when it ended in between.
  void later(sim::span delay, std::function<void()> what);

  // The port of the replica.
  void send(replica_id to, const message& what) override;
  void send(replica_id to, const coordinator::copy_message& what) override;
  void gather(coordinator::turn_commit turn) override;
  void compare_and_set(const membership& old, const membership& next) override;
  void spool(const entry& e) override;
  void read_spool(replica_id to, position after) override;
  void keep_spool(std::optional<std::uint64_t> from) override;
  void open_copy(const copy_id& id) override;
  void read_part(const copy_id& id) override;
  void close_copy(const copy_id& id) override;
  void read_removals(const copy_id& id) override;
  void recover(epoch_number epoch, timestamp shard_time) override;
  void drop_recovery() override;
  void serve(epoch_number epoch) override;
  void stop_serving() override;
  void acknowledged(std::uint64_t number) override;
  timestamp shard_time() override;

  [[nodiscard]] bool reaches_etcd() const override { return true; }

  // The port of the journal.
  void begin_write(const coordinator::commit_group& group) override;
  void begin_sync() override;
  void committed(shard_id shard, std::uint64_t number) override;

  void epoch_raised(shard_id, std::uint32_t) override {}

  void publish_horizon(std::shared_ptr<const storage::shard_horizon> horizon) override;
  void forget_horizon(shard_id shard) override;
  void write_soon() override;
  void sync_after(time_point::duration wait) override;

  // The ports of the shard and the reader.
  void commit(coordinator::turn_commit turn, const std::vector<core::event>& events) override;

  void raise_epoch() override {}

  void reply(core::peer_id peer, protocol::peer_reply reply) override;

  void reply(core::peer_id peer, coordinator::shard_reply reply) override;

  void deliver(core::peer_id peer, coordinator::task_delivery tasks) override;

  void tell_credits(core::peer_id, const coordinator::credit_news&) override {}

  void tell_queues(core::peer_id, coordinator::queues_added) override {}

  [[noreturn]] void end_peer(core::peer_id, const error& reason) override { fail(reason); }

  void fetch_bodies(core::peer_id peer, coordinator::bodies_wanted wanted) override;

  void answer_inquiry(core::peer_id peer, coordinator::stored_inquiry asked) override;

  void list_stored(core::peer_id, coordinator::stored_list) override {}

  void find_keys(coordinator::keys_wanted) override {}

  void keys_found(shard_id, std::uint64_t, std::vector<core::recalled_key>) override {}

  void read_survivors(coordinator::survivors_wanted wanted) override;
  void survivors_read(shard_id shard, core::copy_survivors found) override;

  void survivors_damaged(const coordinator::survivors_wanted&, const error& reason) override {
    fail(reason);
  }

  bool may_hold_key(const task_key&) override { return false; }

  void to_shard(shard_id, core::command) override {}

  bool make_timer(sequence seq, fencing_token token) override;
  void fire_timer(fencing_token token) override;
  bool drop_timer(fencing_token token) override;

  void close_turn_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;

  void note_limit(
    std::string_view, std::uint64_t, std::string_view, std::string_view) override {}

  void note_expired(const core::leases_expired&) override {}
  void note_breaker(const core::breaker_tripped&) override {}
  void note_occurrence(const core::occurrence_noted&, timestamp) override {}
  void note_grants(coordinator::grant_pause) override {}

  void settled() override {}

  const result<void>& check_disk(monotonic_time) override { return disk_state_; }

  bool is_disk_tight(monotonic_time, std::size_t) override { return false; }

  [[noreturn]] void fail(const error& reason) override;

private:
  struct process;

  void send(replica_id to, const coordinator::shard_message& what);
  [[nodiscard]] monotonic_time steady() const;
  [[nodiscard]] instant now();
  [[nodiscard]] time_point journal_now() const;
  void tick();

  store_world& world_;
  std::size_t index_;
  replica_id id_;
  test::temporary_directory directory_{test::temporary_directory::in_memory()};
  test::fault_file_system disk_;
  std::string boot_id_ = "boot 1";
  std::uint64_t boots_ = 1;
  std::uint64_t incarnation_ = 0;
  std::size_t copies_taken_ = 0;
  std::size_t tails_from_spool_ = 0;
  result<void> disk_state_;
  std::unique_ptr<process> process_;
};

} // namespace codeq::replication::stores
