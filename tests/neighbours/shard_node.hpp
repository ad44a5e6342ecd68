// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/hub/neighbour_routes.hpp"
#include "coordinator/shard/shard.hpp"
#include "neighbours/ledger.hpp"
#include "storage/memory/memory_store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::neighbours {

/// The part of the simulated world that a node uses.
class surroundings {
public:
  virtual ~surroundings() = default;

  [[nodiscard]] virtual monotonic_time now() const = 0;
  [[nodiscard]] virtual std::uint64_t below(std::uint64_t bound) = 0;
  virtual void after(duration wait, std::function<void()> what) = 0;

  /// Sends a message to the shard's coordinator; it may get lost.
  virtual void send(shard_id to, const coordinator::neighbour_message& said) = 0;
  virtual ledger& book() = 0;
};

/// The coordinator of one shard, as it ships, with its disk. It completes tasks, each with
/// follow-ups for the other shards.
class shard_node final : public coordinator::shard_port {
public:
  static constexpr std::uint16_t shard_count = 3;

  shard_node(surroundings& around, shard_id shard, storage::durability mode);

  [[nodiscard]] shard_id id() const { return shard_id_; }

  [[nodiscard]] bool is_served() const { return shard_.has_value(); }

  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }

  /// Serves the shard from its disk, in the next epoch. Returns what is wrong; empty: nothing.
  std::string serve();

  /// The process ends; the kernel has what was written.
  void kill();

  /// The power of all disks of the shard fails; some of what was not synced is lost.
  void cut_power();

  /// The shard is continued from a copy without its last writes, as an operator may force it.
  void go_back();

  /// Completes one more task.
  void work();

  /// Nothing is handed over while it lasts; for its next processes.
  void hold_by(std::shared_ptr<const coordinator::hand_over_hold> hold) {
    hold_ = std::move(hold);
  }

  /// From now on the settings of shard 0 are those of all shards.
  void carry_settings() { carries_settings_ = true; }

  /// An operator sets a queue's depth, and a limit; without a depth both get the defaults again.
  void configure(const std::string& name, std::uint64_t depth);

  /// The depths of queues that are not unlimited, and the limits.
  [[nodiscard]] std::map<std::string, std::uint64_t> settings() const;

  /// Another shard is served in that epoch, as etcd tells.
  void note_epoch(shard_id other, std::uint32_t epoch);

  /// Another shard has a new connection.
  void reconnect(shard_id other);
  void receive(const coordinator::neighbour_message& said);

  /// The number of live tasks of each group.
  [[nodiscard]] std::map<std::string, std::size_t> groups() const;

  /// The follow-up is to be handed over still.
  [[nodiscard]] bool has_open(shard_id to, const std::string& group) const;

  // Port.

  void commit(coordinator::turn_commit turn, const std::vector<core::event>& events) override;
  void raise_epoch() override {}
  void reply(core::peer_id peer, protocol::peer_reply reply) override;
  void deliver(core::peer_id peer, coordinator::task_delivery tasks) override;
  void tell_credits(core::peer_id, const coordinator::credit_news&) override {}
  void tell_queues(core::peer_id, coordinator::queues_added) override {}
  void end_peer(core::peer_id, const error&) override {}
  void fetch_bodies(core::peer_id, coordinator::bodies_wanted wanted) override;
  void answer_inquiry(core::peer_id, coordinator::stored_inquiry) override {}
  void list_stored(core::peer_id, coordinator::stored_list) override {}
  void find_keys(coordinator::keys_wanted) override {}
  void read_survivors(coordinator::survivors_wanted) override {}
  [[nodiscard]] bool may_hold_key(const task_key&) override { return false; }
  void to_shard(shard_id to, core::command command) override;
  bool make_timer(sequence, fencing_token) override { return true; }
  void fire_timer(fencing_token) override {}
  bool drop_timer(fencing_token) override { return true; }
  void close_turn_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;
  void note_limit(
    std::string_view, std::uint64_t, std::string_view, std::string_view) override {}
  void note_expired(const core::leases_expired&) override {}
  void note_breaker(const core::breaker_tripped&) override {}
  void note_occurrence(const core::occurrence_noted&, timestamp) override {}
  void note_grants(coordinator::grant_pause) override {}
  void settled() override {}
  [[nodiscard]] const result<void>& check_disk(monotonic_time) override { return disk_state_; }
  [[nodiscard]] bool is_disk_tight(monotonic_time, std::size_t) override { return false; }

private:
  [[nodiscard]] instant at() const;
  void complete(const core::tasks_granted& granted);
  /// Later, unless the process has ended.
  void later(duration wait, std::function<void()> what);
  void write(const coordinator::turn_commit& turn);
  void sync_log();

  surroundings& around_;
  shard_id shard_id_;
  storage::durability mode_;
  std::shared_ptr<storage::memory_store> disk_ = std::make_shared<storage::memory_store>();
  /// The writes that are on the disk, in order.
  std::vector<std::shared_ptr<const storage::write_set>> log_;
  result<void> disk_state_;
  coordinator::neighbour_routes routes_;
  std::uint32_t epoch_ = 0;
  std::shared_ptr<core::shard_state> state_;
  std::optional<coordinator::shard> shard_;
  /// Counts the processes.
  std::uint64_t process_ = 0;
  monotonic_time written_until_{};
  std::uint64_t requests_ = 0;
  bool carries_settings_ = false;
  std::shared_ptr<const coordinator::hand_over_hold> hold_;
  /// The groups of the follow-ups of each completion that is not answered.
  std::map<fencing_token, std::vector<follow_up_name>> completions_;
};

} // namespace codeq::neighbours
