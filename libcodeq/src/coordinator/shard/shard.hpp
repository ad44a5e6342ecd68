// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "base/coordinator_counts.hpp"
#include "base/fair_share.hpp"
#include "base/tuning.hpp"
#include "base/turn_queue.hpp"
#include "coordinator/shard/end_questions.hpp"
#include "coordinator/shard/hand_over_hold.hpp"
#include "coordinator/shard/hand_overs.hpp"
#include "coordinator/shard/key_lookups.hpp"
#include "coordinator/shard/schedule_planner.hpp"
#include "coordinator/shard/segment_cache.hpp"
#include "coordinator/shard/settings_carrier.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "coordinator/shard/synced_confirmations.hpp"
#include "coordinator/shard/timing_wheel.hpp"
#include "coordinator/shard/turn_runner.hpp"
#include "protocol/convert.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

struct shard_options {
  /// The recovered state; owned by the shard from then on.
  std::shared_ptr<core::shard_state> state;
  /// Number of shards of the store.
  std::uint16_t shard_count = 1;
  /// Size of the cache of bodies, which saves reading back tasks that are claimed soon.
  std::size_t cache_bytes = tuning::segment_cache_bytes_default;
  /// When turns are closed and snapshots taken.
  turn_limits turns{};
  /// The time zones of schedules; null: only UTC and fixed offsets are known.
  std::shared_ptr<schedule::zone_store> zones{};
  /// The first ready tasks of the shards of the process, which are granted in one order; null: this
  /// shard grants in its own order.
  std::shared_ptr<core::ready_board> board{};
  /// In a cluster, where other shards come and go and messages to them may be lost; empty: each of
  /// them is in this process, as long as this one.
  std::optional<hand_over_limits> hand_overs{};
  /// For backups of a whole cluster; null: there is never a hold.
  std::shared_ptr<const hand_over_hold> hold{};
  /// In a cluster, whose settings of queues and limits are those of shard 0.
  bool carries_settings = false;
  /// The store's last second may be missing after a power cut, and with it starts that count
  /// against limits.
  bool may_have_lost = false;
};

/// Why a shard hands no tasks out.
enum class grant_pause : std::uint8_t {
  none,
  disk_full,
  few_replicas, ///< Too few are in sync.
};

/// The shard's interface to its driver. Calls return before they call the shard back.
class shard_port {
public:
  virtual ~shard_port() = default;

  /// Writes a turn; answered by `committed`. `writes` was made from `events`; the shard's state is
  /// the one after them.
  virtual void commit(turn_commit turn, const std::vector<core::event>& events) = 0;

  /// In the turn that is committed next, an operator's command removes tasks.
  virtual void note_purge() {}

  /// Requests another epoch of the store; answered by `begin_epoch`.
  virtual void raise_epoch() = 0;

  // To an attached peer.

  virtual void reply(core::peer_id peer, protocol::peer_reply reply) = 0;
  virtual void deliver(core::peer_id peer, task_delivery tasks) = 0;
  virtual void tell_credits(core::peer_id peer, const credit_news& news) = 0;
  virtual void tell_queues(core::peer_id peer, queues_added news) = 0;

  /// Ends the session of a peer that violated the protocol.
  virtual void end_peer(core::peer_id peer, const error& reason) = 0;

  // To the reader, which answers the peer directly.

  virtual void fetch_bodies(core::peer_id peer, bodies_wanted wanted) = 0;
  virtual void answer_inquiry(core::peer_id peer, stored_inquiry inquiry) = 0;

  /// To the reader, which answers the peer directly.
  virtual void list_stored(core::peer_id peer, stored_list list) = 0;

  /// To the reader, which answers by `keys_found`, even if the peer has detached.
  virtual void find_keys(keys_wanted wanted) = 0;

  /// To the reader, which answers by `core::copy_survivors`, or not at all when the segment was
  /// closed in the meantime.
  virtual void read_survivors(survivors_wanted wanted) = 0;

  /// True when the store may contain a record of the key, decided from memory; false is certain.
  [[nodiscard]] virtual bool may_hold_key(const task_key& name) = 0;

  /// Sends another shard a command. In a cluster it may be lost.
  virtual void to_shard(shard_id to, core::command command) = 0;

  // Timers of leases, by token.

  /// Creates the lease's timer unless it exists. Returns true if it was created.
  virtual bool make_timer(sequence seq, fencing_token token) = 0;

  /// Makes the timer send `core::expire_lease`, unless it was dropped.
  virtual void fire_timer(fencing_token token) = 0;

  /// Returns true if the timer existed.
  virtual bool drop_timer(fencing_token token) = 0;

  /// Requests a call of `close_turn` after the messages that the shard has already been sent.
  virtual void close_turn_soon() = 0;

  /// Requests a call of `wake(number)` after `wait`.
  virtual void wake_after(duration wait, std::uint64_t number) = 0;

  /// A request of the peer met a limit. `name` is one of `observe::counted_limits`; `max` is 0 when
  /// it differs between queues. `owner`: the tenant of the peer's token, if it has one. With
  /// `max_depth`, `queue` is the full one.
  virtual void note_limit(
    std::string_view name,
    std::uint64_t max,
    std::string_view owner,
    std::string_view queue = {}) = 0;

  /// Leases of a queue expired.
  virtual void note_expired(const core::leases_expired& expired) = 0;

  /// The breaker of a queue has paused it.
  virtual void note_breaker(const core::breaker_tripped& tripped) = 0;

  /// An occurrence of a schedule was skipped, or fired late.
  virtual void note_occurrence(const core::occurrence_noted& noted, timestamp now) = 0;

  /// The shard hands no tasks out from now on, for that reason; or does so again.
  virtual void note_grants(grant_pause why) = 0;

  // In a cluster.

  /// False while too few replicas are in sync for new writes.
  [[nodiscard]] virtual bool accepts_writes() const { return true; }

  /// False while another coordinator may serve the shard: then neither heartbeats nor reads are
  /// answered.
  [[nodiscard]] virtual bool may_answer() const { return true; }

  /// Everything decided before `stop` is durable.
  virtual void settled() = 0;

  /// Checks that the disk has space for more tasks. Errors: `disk_full`.
  [[nodiscard]] virtual const result<void>& check_disk(monotonic_time now) = 0;

  /// True when the disk has too little space for large results. `bytes` will be written if the
  /// answer is no.
  [[nodiscard]] virtual bool is_disk_tight(monotonic_time now, std::size_t bytes) = 0;
};

/// One shard of the store, the single writer of its keys: parses peers' requests, lets the core
/// decide them in turns, and turns the results into writes and messages. No effect of a turn leaves
/// before the journal has committed that turn and all earlier ones. Uses no actor, clock or thread:
/// its driver calls it from one thread and passes the time. Of the disk it reads only zone files,
/// through `shard_options::zones`.
class shard {
public:
  /// @pre `port` outlives the shard
  shard(const shard_options& options, shard_port& port, const instant& now);

  /// Does what has become due since the last start. Call once, first.
  void start(const instant& now);

  /// Parses and decides a peer's request.
  void take(const peer_request& m, const instant& now);

  /// Converts a peer's request to a command, for this peer and time. Empty when the peer may not
  /// make it or it is out of bounds; the peer was then sent the refusal. Empty also for a read that
  /// may not be answered yet.
  [[nodiscard]] std::optional<core::command> read(const peer_request& m, const instant& now);

  /// Decides a command in the current turn, or later if the store has to be asked for its keys.
  /// Holds the share until the command's effects are durable.
  void decide(const core::command& command, const instant& now, enqueue_share share = nullptr);

  void attach(const peer_attached& m, const instant& now);

  /// Detaches a peer and drops its credits; its leases stay valid.
  void detach(core::peer_id peer, const instant& now);

  /// Drops the credits of a claim of another coordinator. Returns the number of its tasks that are
  /// being committed, which are delivered to it unless it detaches before.
  [[nodiscard]] std::uint32_t drop_credits(core::peer_id peer, const instant& now);

  /// Closes the turn, if one is open.
  void close_turn(const instant& now);

  /// Takes the store's answer to the look-up with that number: the key records that it found.
  void keys_found(std::uint64_t number, std::vector<core::recalled_key> found, const instant& now);

  /// All commits up to this number are durable.
  void committed(std::uint64_t number, const instant& now);

  /// The store is durably in a new epoch, in which the shard's numbers continue.
  void begin_epoch(std::uint32_t epoch);

  void wake(std::uint64_t number, const instant& now);

  /// In a cluster: these shards are served anew, or have a new connection. What they were sent and
  /// have not answered may be lost.
  void neighbours_moved(const std::vector<shard_id>& shards, const instant& now);

  /// Stops grants while their results could not be stored, and resumes them. Call it every few
  /// seconds.
  void look_at_room(const instant& now);

  /// Reads the time zones whose files have changed, if some time has passed since it did last. Call
  /// it every few seconds.
  void look_at_zones(const instant& now);

  /// Takes a snapshot; `settled` is called when everything is durable.
  void stop(const instant& now);

  /// The shard's counts, since the start unless stated otherwise.
  [[nodiscard]] base::coordinator_counts stats(const instant& now) const;

  /// Adds the queues and the oldest leases of these workers, from a bounded number of leases.
  void add_leases(std::vector<base::worker_counts>& workers, const instant& now) const;

  [[nodiscard]] const core::shard_state& state() const noexcept { return *state_; }

  /// Number of commands that wait for key look-ups.
  [[nodiscard]] std::size_t waiting_commands() const noexcept { return lookups_.size(); }

  [[nodiscard]] bool has_turn() const noexcept { return turns_.has_turn(); }

  /// True when there is no open turn and everything is committed.
  [[nodiscard]] bool is_settled() const noexcept { return turns_.is_settled(); }

private:
  struct peer {
    std::shared_ptr<const worker_identity> worker;
    std::shared_ptr<const security::principal> bearer;
    /// See `peer_attached::is_gateway`.
    bool is_gateway = false;
  };

  // shard_requests.cpp: parsing of peers' requests.

  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::enqueue_request& m, const instant& now);
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::heartbeat_request& m, const instant& now);
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::result_request& m, const instant& now);
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::resume_request& m, const instant& now);
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::await_request& m, const instant& now);
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::schedule_request& m, const instant& now);

  /// Requests of operators.
  template <class S>
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::frame<S>& m, const instant& now);

  /// True for an HTTP gateway: its session carries the requests of all tenants, so that a request
  /// does not end it as long as it can be answered, and its tenants have no common bound.
  [[nodiscard]] bool is_shared(core::peer_id peer) const {
    const auto at = peers_.find(peer);
    return at != peers_.end() && at->second.is_gateway;
  }

  /// True when a request that cannot be converted has to end the session of its peer. `number`: the
  /// number by which the request can be refused was read.
  [[nodiscard]] bool ends_peer(core::peer_id peer, bool has_number, const error& reason) const {
    return !has_number || (reason.code == errc::protocol_error && !is_shared(peer));
  }

  /// Returns the converted message; a malformed one ends the peer's session and is returned empty.
  template <class Command>
  std::optional<Command> accept(core::peer_id peer, result<Command> command);

  /// Refuses malformed reports one by one; false when there is none to refuse.
  bool refuse_reports(
    core::peer_id peer, const std::vector<core::lease_report>& reports, const error& reason);

  /// Takes places for more tasks that the peer awaits from those of its tenant. False when these
  /// are used up.
  [[nodiscard]] bool take_awaited(core::peer_id peer, std::size_t more, const instant& now);

  /// Lets a peer ask again for tasks that it awaits.
  void put_off(core::peer_id peer, const std::vector<sequence>& awaited);

  /// Marks the reports that have to come again: those of results that the disk has no space for,
  /// of follow-ups that another shard has no room for, and all while too few replicas are in sync.
  void put_off_large(core::report& command, const instant& now);
  /// Whether new tasks may be added. Errors: `disk_full`, `unavailable`.
  [[nodiscard]] result<void> check_room(const instant& now);
  [[nodiscard]] result<void> check_replicas() const;

  /// Whether a read of the peer may be answered now. That of a claim always may: it asks whether
  /// all news of work have been sent, and the answer says when the shard grants nothing.
  [[nodiscard]] bool may_read(core::peer_id peer) const;
  /// Keeps a read of that size until it may be answered. Errors: `unavailable` when it has waited
  /// too long, or too many of its tenant wait.
  [[nodiscard]] result<void> keep(const peer_request& by, std::size_t bytes, const instant& now);
  /// Takes the kept reads again that may be answered now, or have waited too long.
  void take_kept(const instant& now);

  // Answer requests for data that this peer may not see as if it did not exist.
  void reply_not_there(core::peer_id peer, const std::vector<core::lease_beat>& beats);
  /// Does not wait for a commit: an extension is not stored, and a shard that waits for others
  /// extends leases all the same.
  void reply_extended(
    core::peer_id peer, std::uint64_t number, const std::vector<core::lease_beat>& beats);
  void reply_not_there(core::peer_id peer, const std::vector<core::lease_report>& reports);
  void reply_not_there(core::peer_id peer, const std::vector<sequence>& awaited);

  [[nodiscard]] protocol::shard_place place() const { return {state_->id, shard_count_}; }

  // shard_schedules.cpp: schedules.

  /// Fires what is due, of a bounded number of schedules.
  void fire_due(const instant& now);
  /// Fires what is due of one schedule, if it can be added. Returns the number of occurrences.
  std::size_t advance(const schedule_address& name, const instant& now);
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::schedule_question& asked, const instant& now);
  /// Whether the shards of planned occurrences can take them. Errors: `overloaded`.
  [[nodiscard]] result<void> check_way(const core::fire_schedule& planned) const;
  [[nodiscard]] std::optional<core::command>
  read_change(const peer_request& by, const protocol::schedule_question& asked, const instant& now);

  /// A confirmation of follow-ups that a turn of this number, or none, will write.
  struct unwritten_confirmation {
    std::uint64_t turn = 0;
    shard_id by{};
    std::uint64_t number = 0;
  };

  /// A read that may not be answered yet.
  struct kept_read {
    peer_request request;
    std::size_t bytes = 0;
    /// Whose share of the bytes it uses.
    std::string tenant;
  };

  /// A backfill that waits for its turn.
  struct wanted_backfill {
    core::peer_id peer = 0;
    core::origin_ptr origin;
    protocol::schedule_question asked;
  };

  /// Plans a backfill now, or lets it wait: each turn has at most one, so that peers are served
  /// between two of them.
  [[nodiscard]] std::optional<core::command>
  read_backfill(wanted_backfill wanted, const instant& now);
  [[nodiscard]] core::command plan(const wanted_backfill& wanted, const instant& now);
  /// Decides the backfill whose turn it is; the tenants take turns.
  void backfill_next(const instant& now);
  void refuse(core::peer_id peer, const protocol::schedule_question& asked, const error& reason);
  /// Answers at once which occurrences a definition has.
  void
  preview(const peer_request& by, const protocol::schedule_question& asked, const instant& now);
  void carry_out(core::schedule_answered& e, const instant& now);
  void carry_out(core::schedules_listed& e, const instant& now);
  void carry_out(core::shard_told& e, const instant& now);
  void carry_out(core::occurrence_noted& e, const instant& now);

  // shard_effects.cpp: carrying out the effects of turns.

  void carry_out(std::vector<core::effect>& effects, const instant& now);
  void carry_out(core::tasks_granted& e, const instant& now);
  void carry_out(core::claim_parked& e, const instant& now);
  void carry_out(core::work_available& e, const instant& now);
  void carry_out(core::credits_revoked& e, const instant& now);
  void carry_out(core::claim_outranked& e, const instant& now);
  void carry_out(core::enqueue_answered& e, const instant& now);
  void carry_out(core::queue_answered& e, const instant& now);
  void carry_out(core::limits_answered& e, const instant& now);
  void carry_out(core::limit_keys_met& e, const instant& now);
  void carry_out(core::reports_answered& e, const instant& now);
  void carry_out(core::deliver_follow_ups& e, const instant& now);
  void carry_out(core::follow_ups_taken& e, const instant& now);
  void carry_out(core::timer_wanted& e, const instant& now);
  void carry_out(core::timer_dropped& e, const instant& now);
  void carry_out(core::leases_expired& e, const instant& now);
  void carry_out(core::breaker_tripped& e, const instant& now);
  void carry_out(core::task_described& e, const instant& now);
  void carry_out(core::task_not_here& e, const instant& now);
  void carry_out(core::tasks_listed& e, const instant& now);
  void carry_out(core::progress_told& e, const instant& now);
  void carry_out(core::audit_wanted& e, const instant& now);

  /// For effects that are replies to the peer.
  template <class Effect>
  void carry_out(Effect& e, const instant& now);

  void reply_to(core::peer_id peer, protocol::peer_reply reply);
  /// Counts the limit that a request was refused for, if it was one.
  void note_refusal(std::string_view owner, const error& reason);
  [[nodiscard]] std::string_view owner_of(core::peer_id peer) const;
  void tell_credits(core::peer_id peer, credit_news::kind what, std::uint32_t credits = 0);

  /// The news of a grant whose tasks the reader sends later.
  [[nodiscard]] credit_news news_of(const core::tasks_granted& e) const;
  void inquire(const core::inquiry& why, stored_inquiry inquiry, const instant& now);
  void tell_ended();
  void tell_queues();
  /// The names of the queues that arrived from that number on.
  [[nodiscard]] queues_added queues_from(std::uint64_t arrival) const;
  void note_dispatch(const core::tasks_granted& granted, const instant& now);
  /// The times of a queue; null when the queue was removed.
  [[nodiscard]] core::queue_times* times_of(std::uint32_t queue_index);
  /// Counts a refused enqueue by the reason.
  void count_refusal(errc reason);

  // shard.cpp: turns.

  void decide_now(const core::command& command, const instant& now);
  /// Gives a lease that would end now another term, whatever its limits of time, while too few
  /// replicas are in sync or answer, and for a whole term after that: its result was refused.
  void hold_lease(const core::expire_lease& due, const instant& now);
  void close_if_full(const instant& now);

  /// True when a closed task may have the key.
  [[nodiscard]] bool must_look_up(const task_key& name) const;

  /// The command hands follow-ups over, and will be sent again after a hold.
  [[nodiscard]] bool is_held(const core::command& command, const instant& now) const;
  /// Notes what a command of another shard means for what is handed over.
  void note_neighbour(const core::command& command, const instant& now);
  /// Another shard that a follow-up of the report belongs to, and that has too many to take.
  [[nodiscard]] std::optional<shard_id> full_neighbour(const core::lease_report& report) const;
  [[nodiscard]] error full_way(shard_id to) const;
  /// Tells other shards which of their follow-ups are synced here.
  void confirm_synced();
  /// Sends the other shards the follow-ups that they are to get now.
  void hand_over(const instant& now);
  /// Below this number that shard may forget its answers: this one has written what they say. An
  /// answer names the tasks of a schedule's occurrences, so a process that comes after this one may
  /// need it again.
  [[nodiscard]] std::uint64_t answered_below(shard_id to) const;
  /// Sends the settings of queues and limits to the shards that are to get them now.
  void carry_settings(const instant& now);
  [[nodiscard]] std::uint64_t settings_version() const;
  /// In parts.
  [[nodiscard]] std::vector<core::adopt_settings> all_settings() const;
  /// Asks again for ends of tasks on other shards.
  void ask_ends(const instant& now);

  /// Sends the waiting look-ups to the store, once it has the keys that were closed last.
  void find_keys(const instant& now);

  /// Passes the events of a turn to the journal.
  void commit(std::vector<core::event> events, const instant& now);
  void note_closed(const core::snapshot_taken& snapshot);
  /// Counts producer sessions that were forgotten for lack of room.
  void note_forgotten();
  /// Lets watchers know of the queues that the snapshot removes.
  void note_removed(const core::snapshot_taken& snapshot);

  /// Asks for the bodies that the next snapshot copies, once the latest snapshot is committed.
  void read_survivors();
  void release(const instant& now);
  void arm(const instant& now);

  /// Requests another epoch when the numbers of this one run out, and enters it when it has begun.
  /// @pre no turn is open
  void renew_epoch();
  void pause_grants(bool paused, const instant& now);

  /// When to check for expired leases; empty when no lease has a timer.
  [[nodiscard]] std::optional<monotonic_time> next_timer_look() const;
  [[nodiscard]] std::vector<base::worker_counts> worker_counts() const;

  shard_port& port_;
  std::shared_ptr<core::shard_state> state_;
  std::uint16_t shard_count_;
  turn_runner turns_;
  schedule_planner planner_;
  monotonic_time zones_seen_;
  base::turn_queue<wanted_backfill> backfills_;
  /// A backfill was decided; the next one waits for the shard's next wake-up.
  bool is_backfilling_ = false;
  segment_cache cache_;
  key_lookups lookups_;
  /// Empty when this coordinator is alone.
  std::optional<hand_overs> hand_overs_;
  /// Confirmations of follow-ups whose turns are not committed.
  std::vector<unwritten_confirmation> unwritten_;
  std::shared_ptr<const hand_over_hold> hold_;
  /// Only of shard 0 of a cluster.
  std::optional<settings_carrier> settings_;
  std::optional<synced_confirmations> confirmations_;
  end_questions ends_;
  /// Look-ups that were not sent yet.
  std::vector<keys_wanted> wanted_keys_;
  /// The commit of the latest snapshot that closed keys.
  std::uint64_t closed_keys_commit_ = 0;
  /// The commit of the latest snapshot; 0 once the survivors that it found were asked for.
  std::uint64_t snapshot_commit_ = 0;
  /// `shard_state::sessions_forgotten` as of the last snapshot.
  std::uint64_t sessions_forgotten_ = 0;
  timing_wheel wheel_;
  std::size_t timers_ = 0;
  std::unordered_map<core::peer_id, peer> peers_;
  std::deque<kept_read> kept_;
  base::fair_share kept_bytes_{tuning::kept_reads_bytes_max};
  /// When to look at them; empty when there are none.
  std::optional<monotonic_time> kept_look_;
  /// For each peer that watches queues: `shard_state::queues_created` when it was sent the last
  /// ones.
  std::map<core::peer_id, std::uint64_t> queue_watchers_;
  /// Queues that were removed since the watchers were sent news.
  std::vector<queue_address> removed_queues_;
  /// The tasks that connections await, by tenant: those of the last count, and all that were asked
  /// for since. A count looks at every connection, so it is made only when there seems no room.
  base::fair_share awaited_{limits::awaited_tasks_of_all_max};
  monotonic_time awaited_counted_{};
  /// Ended tasks that awaiting peers are sent after the turn's other effects.
  std::map<core::peer_id, std::vector<protocol::awaited_task>> ended_;
  // Since the start.
  std::uint64_t results_put_off_ = 0;
  std::map<errc, std::uint64_t> refused_enqueues_;
  base::time_counts dispatched_;
  base::time_counts ran_;
  /// Another epoch was requested from the journal.
  bool wants_epoch_ = false;
  /// The new epoch, while a turn is still open.
  std::optional<std::uint32_t> next_epoch_;
  /// As the port was told last.
  grant_pause paused_for_ = grant_pause::none;
  /// When too few replicas were in sync or answered last; empty: never.
  std::optional<monotonic_time> held_until_;
  bool is_stopping_ = false;
};

} // namespace codeq::coordinator
