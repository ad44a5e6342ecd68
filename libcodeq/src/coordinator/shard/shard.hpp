// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "coordinator/shard/key_lookups.hpp"
#include "coordinator/shard/segment_cache.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "coordinator/shard/timing_wheel.hpp"
#include "coordinator/shard/turn_runner.hpp"
#include "protocol/convert.hpp"

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

struct shard_options {
  /// The recovered state; owned by the shard from then on.
  std::shared_ptr<core::shard_state> state;
  /// Of the store.
  std::uint16_t shard_count = 1;
  /// Bytes of bodies kept so that a task claimed soon is not read back.
  std::size_t cache_bytes = limits::segment_cache_bytes_default;
  /// When a turn is closed, and when a snapshot is taken.
  turn_limits turns{};
};

/// The outside of a shard. No call leads back into the shard before it has returned.
class shard_port {
public:
  virtual ~shard_port() = default;

  /// Has a turn written; answered by `committed`. `events` is what the writes were made from; the
  /// shard's state is the one after them.
  virtual void commit(turn_commit turn, const std::vector<core::event>& events) = 0;

  /// Asks for another epoch of the store; answered by `begin_epoch`.
  virtual void raise_epoch() = 0;

  // To an attached peer.

  virtual void reply(core::peer_id peer, protocol::peer_reply reply) = 0;
  virtual void deliver(core::peer_id peer, task_delivery tasks) = 0;
  virtual void tell_credits(core::peer_id peer, const credit_news& news) = 0;
  virtual void tell_queues(core::peer_id peer, queues_added news) = 0;

  /// Ends the session of a peer that broke the protocol.
  virtual void end_peer(core::peer_id peer, const error& reason) = 0;

  // To the reader, which answers the peer by itself.

  virtual void fetch_bodies(core::peer_id peer, bodies_wanted wanted) = 0;
  virtual void answer_inquiry(core::peer_id peer, stored_inquiry inquiry) = 0;

  /// Asks the reader, which answers by `keys_found`, also when the peer is gone.
  virtual void find_keys(keys_wanted wanted) = 0;

  /// Asks the reader for bodies; answered by `core::copy_survivors`, or not at all when the segment
  /// was closed meanwhile.
  virtual void read_survivors(survivors_wanted wanted) = 0;

  /// Whether the store may hold a record of the key, told from memory alone; false is certain.
  [[nodiscard]] virtual bool may_hold_key(const task_key& name) = 0;

  /// Gives another shard of the store a command.
  virtual void to_shard(shard_id to, core::command command) = 0;

  // Timers of leases, by token.

  /// Makes sure that the lease has a timer. Returns true if it had none.
  virtual bool make_timer(sequence seq, fencing_token token) = 0;

  /// Has the timer say that its lease ran out, by `core::expire_lease`, unless it was dropped.
  virtual void fire_timer(fencing_token token) = 0;

  /// Returns true if there was one.
  virtual bool drop_timer(fencing_token token) = 0;

  /// Asks for `close_turn` behind what the shard was sent before.
  virtual void close_turn_soon() = 0;

  /// Asks for `wake(number)` after so long.
  virtual void wake_after(duration wait, std::uint64_t number) = 0;

  /// Everything is durable that was decided before `stop`.
  virtual void settled() = 0;

  /// Whether the disk takes more tasks. Errors: `disk_full`.
  [[nodiscard]] virtual const result<void>& check_disk(monotonic_time now) = 0;

  /// Whether the disk has too little space for large results. `bytes`: to be written, if it has.
  [[nodiscard]] virtual bool is_disk_tight(monotonic_time now, std::size_t bytes) = 0;
};

/// One shard of the store, the single writer of its keys: reads what peers ask, lets the core
/// decide it in turns, and turns what that leads to into writes and messages. Nothing that a turn
/// leads to leaves before the journal has committed that turn and all before it. Knows no actor,
/// clock, disk or thread: its driver calls it from one thread, with the time of each call.
class shard {
public:
  /// @pre `port` outlives the shard
  shard(const shard_options& options, shard_port& port, const instant& now);

  /// Does what the time since the last start left to do. Call it once, first.
  void start(const instant& now) { decide(core::tick{}, now); }

  /// Reads what a peer asks and decides it.
  void take(const peer_request& m, const instant& now);

  /// The command that a peer's request comes to, for this peer and time. Empty when the peer may
  /// not ask for it or it is out of bounds; then the peer was told so.
  [[nodiscard]] std::optional<core::command> read(const peer_request& m, const instant& now);

  /// Decides a command in the current turn, or when the store has told of the keys that it names.
  /// Holds the share until what it leads to is durable.
  void decide(const core::command& command, const instant& now, enqueue_share share = nullptr);

  void attach(const peer_attached& m, const instant& now);

  /// Forgets a peer and its credits; its leases run on.
  void detach(core::peer_id peer, const instant& now);

  /// Closes the turn, if one is open.
  void close_turn(const instant& now);

  /// Takes the store's answer to the look-up with that number: the key records that it found.
  void keys_found(std::uint64_t number, std::vector<core::recalled_key> found, const instant& now);

  /// All commits up to this number are durable.
  void committed(std::uint64_t number, const instant& now);

  /// The store is durably in a new epoch: the shard's numbers go on from there.
  void begin_epoch(std::uint32_t epoch);

  void wake(std::uint64_t number, const instant& now);

  /// Grants nothing while the disk has too little space for results.
  void pause_grants(bool paused, const instant& now);

  /// Takes a snapshot; `settled` is called when everything is durable.
  void stop(const instant& now);

  /// Its counts, since the start where not said otherwise.
  [[nodiscard]] coordinator_stats stats() const;

  [[nodiscard]] const core::shard_state& state() const noexcept { return *state_; }

  /// Commands that wait for the store to tell of keys.
  [[nodiscard]] std::size_t waiting_commands() const noexcept { return lookups_.size(); }

  [[nodiscard]] bool has_turn() const noexcept { return turns_.has_turn(); }

  /// True when there is no open turn and everything is committed.
  [[nodiscard]] bool is_settled() const noexcept { return turns_.is_settled(); }

private:
  struct peer {
    std::shared_ptr<const worker_identity> worker;
    std::shared_ptr<const security::principal> bearer;
  };

  // shard_requests.cpp: reading what peers ask.

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

  /// Requests of operators.
  template <class S>
  [[nodiscard]] std::optional<core::command>
  read(const peer_request& by, const protocol::frame<S>& m, const instant& now);

  /// Takes a converted message; a malformed one ends the peer's session and is empty.
  template <class Command>
  std::optional<Command> accept(core::peer_id peer, result<Command> command);

  /// Has results refused that the disk has no space for; their leases are extended meanwhile.
  void put_off_large(core::report& command, const instant& now);

  // Answers what is not this peer's to see as if it was not there.
  void reply_not_there(core::peer_id peer, const std::vector<core::lease_beat>& beats);
  void reply_not_there(core::peer_id peer, const std::vector<core::lease_report>& reports);
  void reply_not_there(core::peer_id peer, const std::vector<sequence>& awaited);

  [[nodiscard]] protocol::shard_place place() const { return {state_->id, shard_count_}; }

  // shard_effects.cpp: carrying out what turns lead to.

  void carry_out(std::vector<core::effect>& effects, const instant& now);
  void carry_out(core::tasks_granted& e, const instant& now);
  void carry_out(core::claim_parked& e, const instant& now);
  void carry_out(core::work_available& e, const instant& now);
  void carry_out(core::credits_revoked& e, const instant& now);
  void carry_out(core::reports_answered& e, const instant& now);
  void carry_out(core::deliver_follow_ups& e, const instant& now);
  void carry_out(core::follow_ups_taken& e, const instant& now);
  void carry_out(core::timer_wanted& e, const instant& now);
  void carry_out(core::timer_dropped& e, const instant& now);
  void carry_out(core::task_described& e, const instant& now);
  void carry_out(core::task_not_here& e, const instant& now);
  void carry_out(core::progress_told& e, const instant& now);

  /// Effects that are the peer's reply as they are.
  template <class Effect>
  void carry_out(Effect& e, const instant& now);

  void reply_to(core::peer_id peer, protocol::peer_reply reply);
  void tell_credits(core::peer_id peer, credit_news::kind what, std::uint32_t credits = 0);
  void inquire(const core::inquiry& why, stored_inquiry inquiry, const instant& now);
  void tell_ended();
  void tell_queues();
  void note_dispatch(const core::tasks_granted& granted, const instant& now);

  // shard.cpp: turns.

  void decide_now(const core::command& command, const instant& now);
  void close_if_full(const instant& now);

  /// Whether a closed task may have the key.
  [[nodiscard]] bool must_look_up(const task_key& name) const;

  /// Asks the store for the keys that wait; not before it has those that were closed last.
  void find_keys(const instant& now);

  /// Hands what a turn decided to the journal.
  void commit(std::vector<core::event> events);
  void note_closed(const core::snapshot_taken& snapshot);

  /// Has the bodies read that the next snapshot is to copy, once the last one is committed.
  void read_survivors();
  void release(const instant& now);
  void arm(const instant& now);

  /// Asks for another epoch when the numbers of this one run out; takes it when it is there.
  /// @pre no turn is open
  void renew_epoch();

  /// When leases are to be looked at; empty when none has a timer.
  [[nodiscard]] std::optional<monotonic_time> next_timer_look() const;
  [[nodiscard]] std::vector<worker_stats> worker_counts() const;

  shard_port& port_;
  std::shared_ptr<core::shard_state> state_;
  std::uint16_t shard_count_;
  turn_runner turns_;
  segment_cache cache_;
  key_lookups lookups_;
  /// Not yet asked for.
  std::vector<keys_wanted> wanted_keys_;
  /// The commit of the last snapshot that closed keys.
  std::uint64_t closed_keys_commit_ = 0;
  /// The commit of the last snapshot; 0 when its sparse segments were asked for.
  std::uint64_t snapshot_commit_ = 0;
  timing_wheel wheel_;
  std::size_t timers_ = 0;
  std::unordered_map<core::peer_id, peer> peers_;
  /// How many queues each of the peers knows that watch them.
  std::map<core::peer_id, std::size_t> queue_watchers_;
  /// Tasks that awaiting peers are told of at the end of the turn's effects.
  std::map<core::peer_id, std::vector<protocol::ended_task>> ended_;
  // Since the start.
  std::uint64_t results_put_off_ = 0;
  time_counts dispatched_;
  time_counts ran_;
  /// The journal was asked for another epoch.
  bool wants_epoch_ = false;
  /// Begun, but a turn is open.
  std::optional<std::uint32_t> next_epoch_;
  bool is_stopping_ = false;
};

} // namespace codeq::coordinator
