// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "base/coordinator_counts.hpp"
#include "coordinator/shard/shard.hpp"
#include "sim/audit/auditor.hpp"
#include "sim/world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::sim {

class sim_journal;
class sim_reader;
class sim_session;

/// The peer of a request whose answer nobody hears.
inline constexpr core::peer_id nobody = 0;

/// Drives a shard under virtual time, and reports its commands and decisions to the auditor.
class sim_shard final : public coordinator::shard_port {
public:
  struct parts {
    std::shared_ptr<core::shard_state> state;
    sim_journal* journal = nullptr;
    sim_reader* reader = nullptr;
    auditor* audit = nullptr;
    std::uint16_t shard_count = 1;
    /// Returns another shard of the same process.
    std::function<sim_shard&(shard_id)> neighbour;
    std::shared_ptr<core::ready_board> board;
    /// The last writes before this start may have been lost with the power.
    bool may_have_lost = false;
  };

  sim_shard(world& all, process& home, parts made);

  [[nodiscard]] mailbox& box() { return box_; }

  /// The shard's clock.
  [[nodiscard]] timestamp now() { return clock().shard; }

  // Messages.
  void take(core::peer_id from, protocol::shard_request request);
  void decide(const core::command& c);
  void attach(const coordinator::peer_attached& who, sim_session& session);
  void detach(core::peer_id peer);
  void committed(std::uint64_t number);
  void keys_found(std::uint64_t number, std::vector<core::recalled_key> found);
  void stop();
  void begin_epoch(std::uint32_t epoch);

  /// True once it was stopped and everything it decided is durable.
  [[nodiscard]] bool has_settled() const { return has_settled_; }

  [[nodiscard]] base::coordinator_counts stats() { return shard_.stats(clock()); }

  /// The shard's state when all of it is durable; otherwise null.
  [[nodiscard]] core::shard_state* settled_state();

  /// Dead tasks that block the later tasks of their groups.
  [[nodiscard]] std::vector<task_id> blockers() const;

  void commit(coordinator::turn_commit turn, const std::vector<core::event>& events) override;
  void raise_epoch() override;
  void reply(core::peer_id peer, protocol::peer_reply reply) override;
  void deliver(core::peer_id peer, coordinator::task_delivery tasks) override;
  void tell_credits(core::peer_id peer, const coordinator::credit_news& news) override;

  void tell_queues(core::peer_id peer, coordinator::queues_added news) override;

  void end_peer(core::peer_id peer, const error& reason) override;
  void fetch_bodies(core::peer_id peer, coordinator::bodies_wanted wanted) override;
  void answer_inquiry(core::peer_id peer, coordinator::stored_inquiry inquiry) override;
  void list_stored(core::peer_id peer, coordinator::stored_list list) override;
  void find_keys(coordinator::keys_wanted wanted) override;
  void read_survivors(coordinator::survivors_wanted wanted) override;
  [[nodiscard]] bool may_hold_key(const task_key& name) override;
  void to_shard(shard_id to, core::command command) override;
  bool make_timer(sequence seq, fencing_token token) override;
  void fire_timer(fencing_token token) override;
  bool drop_timer(fencing_token token) override;
  void close_turn_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;

  void note_limit(
    std::string_view name, std::uint64_t, std::string_view, std::string_view) override {
    noted_limit_ = name;
  }

  void note_expired(const core::leases_expired& expired) override;

  /// No queue has a breaker.
  void note_breaker(const core::breaker_tripped&) override {}
  void note_grants(coordinator::grant_pause) override {}

  void note_occurrence(const core::occurrence_noted& noted, timestamp now) override;

  void settled() override { has_settled_ = true; }

  [[nodiscard]] const result<void>& check_disk(monotonic_time now) override;

  [[nodiscard]] bool is_disk_tight(monotonic_time, std::size_t) override { return false; }

private:
  [[nodiscard]] instant clock();

  /// Calls the shard; the auditor checks every turn that the call closed.
  void call(const std::function<void()>& what);
  /// Reports the decisions since the last call to the auditor. A full turn is closed in the middle
  /// of a call.
  void show_decided();
  void close_turn();
  void wake(std::uint64_t number);
  /// Checks the invariants that hold whenever every decision is durable and was reported.
  void check_settled();
  /// Checks that the limit that a request met was noted before its refusal.
  void check_limit_noted(const core::enqueue_answered& answered);
  /// Counts what these events let the shard note once they are durable.
  void count_owed_notes(const std::vector<core::event>& events);
  /// Checks that no earlier process of the worker's name has a lease.
  void check_replaced(const worker_identity& by);
  void show_grants(const core::tasks_granted& granted);

  world& world_;
  process& home_;
  parts parts_;
  mailbox box_;
  core::shard_state& state_;
  base::shard_time shard_time_;
  coordinator::shard shard_;
  std::map<core::peer_id, sim_session*> peers_;
  std::map<fencing_token, sequence> timers_;
  /// The queues that each watcher was sent.
  std::map<core::peer_id, std::set<queue_address>> told_queues_;

  /// Notes that are due once every decision is durable.
  struct owed_notes {
    std::int64_t expired_leases = 0;
    std::int64_t skipped_occurrences = 0;
  };

  owed_notes owed_;
  /// The limit of the latest note.
  std::string noted_limit_;
  bool has_settled_ = false;
  /// The command that the current call decides; null when it waits for keys.
  const core::command* deciding_ = nullptr;
  /// Commands that wait for key look-ups.
  coordinator::key_lookups waiting_;
  /// When the shard began to wait for a new epoch.
  std::optional<virtual_time> epoch_spent_at_;
  /// True when the auditor has seen the turn that the current call closed.
  bool is_shown_ = false;
};

} // namespace codeq::sim
