// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/tuning.hpp"
#include "core/commands/command.hpp"
#include "core/commands/effect.hpp"
#include "core/commands/event.hpp"
#include "core/queues/queue_rules.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/known_rival.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace codeq::core {

/// The result of a turn: write the events, then carry out the effects, both in order.
struct sealed_turn {
  std::vector<event> events;
  std::vector<effect> effects;
  /// The events have to be synced in both durability modes before the effects are carried out.
  bool must_sync = false;
};

/// One mailbox turn of one shard. Commands are decided one by one against the state left by the
/// earlier ones, and the results are gathered in batch records. Sealing matches ready tasks with
/// waiting credits, so that a task meets a waiting worker in the turn that enqueued it. Effects may
/// leave only after the sealed events are durable.
class turn {
public:
  explicit turn(shard_state& state);
  ~turn();
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

  /// Decides one command. A refusal leaves the state unchanged and is answered by an effect. Time
  /// never goes back: a `now` with an earlier clock counts as the latest one that was seen.
  void decide(const command& c, const instant& now);

  /// Closes the turn. Nothing may be decided afterwards.
  [[nodiscard]] sealed_turn seal(const instant& now);

  /// Number of commands decided so far.
  [[nodiscard]] std::size_t commands() const noexcept { return commands_; }

  /// Size of the task bodies and texts gathered so far.
  [[nodiscard]] std::size_t body_bytes() const noexcept { return body_bytes_; }

private:
  /// The tasks that one worker gets in this turn.
  struct open_grant {
    tasks_granted batch;
    std::uint32_t tasks = 0;
  };

  /// A queue whose next task, of `priority`, comes after one of the shard `by`.
  struct outranked_queue {
    std::uint32_t queue = 0;
    std::uint8_t priority = 0;
    shard_id by{};
    /// Another coordinator serves that shard: only workers that reach all wait for its tasks.
    bool is_far = false;
  };

  /// Why no more tasks of a queue are granted to a worker.
  enum class grant_end : std::uint8_t {
    /// It has as many as it may have, or there are no more.
    done,
    /// The queue's next task is for no worker now.
    queue_waits,
    /// It is not for this one.
    claimer_waits
  };

  void advance(const instant& now);

  /// Makes tasks ready whose time has come: each at once, but once there are many, all those of a
  /// window together. So tasks of the same segments are leased and read together.
  void release_due_tasks();

  // Enqueue.
  void run(const enqueue& c);
  /// The queues in which the request needs room that it may not have.
  [[nodiscard]] result<std::vector<depth_need>> check(const enqueue& c) const;
  [[nodiscard]] result<void> check_session(const enqueue& c) const;
  [[nodiscard]] const request_answer* known_answer(const request_id& request) const;
  void refuse(const enqueue& c, const error& reason);
  void add_and_answer(const enqueue& c);
  /// Fills in the tasks that the answered request has created.
  void show_created(enqueue_answered& answer);
  /// Adds the tasks of a request, or finds the records that have their keys.
  request_answer add(const request_id& request, const std::vector<enqueue_run>& runs);
  /// Adds the tasks of a run; their segments refer to the request `marked` unless it is null.
  std::vector<seq_run> add_run(const enqueue_run& r, const request_id* marked);
  /// The fairness key and the limits of a task, its own and those that its queue gives to it.
  struct task_flow {
    fairness_mark fairness;
    std::vector<task_limit> limits;
  };
  [[nodiscard]] bool is_untouched(sequence segment) const;
  /// Number of tasks that the segment can still take.
  [[nodiscard]] std::size_t room_of(const segment_appended& s) const;
  /// The open segment of the lane, or a new one. Each lane has at most one open segment, so that
  /// its tasks keep their order. Sequences are reserved for it, so that tasks of alternating lanes
  /// form one segment per lane.
  segment_appended& segment_for(const enqueue_run& r, task_flow flow, std::size_t bytes);
  std::vector<std::size_t>::iterator find_lane(const enqueue_run& r, const std::string& key);
  segment_appended& open_segment(
    const enqueue_run& r,
    const task_settings& settings,
    task_flow flow,
    timestamp not_before);
  /// Reserves sequences for the segment opened last, before another one begins.
  void keep_sequences();

  // Claim.
  void run(const attach_worker& c);
  void run(const change_queues& c);
  void take_queues(attached_worker& a, peer_id peer, const std::vector<queue_address>& queues);
  void take_prefixes(attached_worker& a, peer_id peer, const std::vector<queue_address>& prefixes);
  void leave_out(attached_worker& a, peer_id peer, const std::vector<queue_address>& queues);
  void leave_queues(const attached_worker& a, peer_id peer);
  /// The worker has credits, so its queues are to be matched.
  void stir_for(const attached_worker& a, peer_id peer);
  void run(const detach_peer& c);
  void run(const claim& c);
  void run(const revoke_credits& c);
  [[nodiscard]] std::vector<std::uint32_t> match();
  /// The stirred queues, the one that was served longest ago first.
  [[nodiscard]] std::vector<std::uint32_t> take_stirred();
  void sort_by_service(std::vector<std::uint32_t>& queues) const;
  /// Stirs queues of prefixes for workers that claimed and have credits left. `tried`: what
  /// `ready_tasks_taken` was at the worker's latest round. False when there are none.
  bool stir_for_prefixes(std::map<peer_id, std::uint64_t>& tried);
  /// Number of ready tasks that were leased or held back, by this turn and before.
  [[nodiscard]] std::uint64_t ready_tasks_taken() const;
  /// Stirs at most `limit` such queues for the worker; returns how many.
  std::size_t stir_prefixes_of(const attached_worker& a, std::size_t limit);
  void match_queue(std::uint32_t queue);
  /// The workers with credits that claim from the queue, and the credits that it may use.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, peer_id>>
  waiting_at(std::uint32_t queue) const;
  /// Adds the workers with credits that claim from the queue by a prefix only.
  void add_by_prefix(
    std::uint32_t queue, std::vector<std::pair<std::uint32_t, peer_id>>& waiting) const;
  grant_end grant(std::uint32_t queue, peer_id peer, std::uint32_t count, known_rival& rival);
  /// Takes tasks that come next in this priority out of their lane while their limits refuse them.
  /// False when this turn may hold back no more.
  /// `asks`: also those that only lack a permit of another shard, which is then requested.
  bool hold_refused(queue_state& q, std::size_t priority, bool asks);
  /// `hold_refused` for the queue's first task of any priority, which other shards are shown.
  void settle_first(queue_state& q);
  /// Gives back the credits that wait at queues whose tasks come after those of other shards.
  void give_back_outranked();
  /// `charged`: see `lease::charged`.
  void lease_run(segment& s, const seq_run& tasks, peer_id peer, std::uint32_t charged);
  [[nodiscard]] fencing_token extend_grant(
    const std::shared_ptr<const worker_identity>& worker, duration lease, const seq_run& tasks);
  /// True when the worker may get a task of a queue that meets the condition.
  template <class Condition>
  [[nodiscard]] bool has_queue(const attached_worker& a, Condition meets) const;
  [[nodiscard]] bool has_ready(const attached_worker& a) const;
  /// True when there is something new to notify a worker without credits of.
  [[nodiscard]] bool has_news(const attached_worker& a) const;
  /// The workers that got tasks learn whether there are more.
  void settle_granted();
  void tell_claimers(const std::vector<std::uint32_t>& with_work);

  // Leases.
  void run(const heartbeat& c);
  void run(const expire_lease& c);
  void run(const resume& c);
  void run(const release_worker& c);
  void run(const replace_worker& c);
  void extend(lease& l, const lease_beat& beat);
  void tell_progress(const std::vector<lease_progress>& lines);
  void tell_progress(const lease_progress& p);
  void expire(fencing_token token, const lease& l);
  /// Makes the end of a lost attempt that of a dead task when the queue's `quarantine_after` says
  /// so. Returns true if it did.
  bool quarantine(lease_end& e, std::uint32_t lost_in_row);
  /// Notes the end of an expired lease for the log. @pre the task still has the lease
  void note_expired(const lease_end& e);
  void give_back(fencing_token token, const lease& l);
  void redeliver(peer_id peer, const std::vector<fencing_token>& tokens);
  void want_timers();

  // Checkpoints of tasks.
  void save_all(const heartbeat& c);
  /// False when the lease has ended; its checkpoint is refused.
  bool save(const lease_checkpoint& c);
  /// The task has ended, so its checkpoint is not needed any more.
  void drop_checkpoint(sequence seq);
  void close_checkpoints();

  // Reports.
  void run(const report& c);
  /// Whether a report is accepted now; empty when the store has to be asked.
  [[nodiscard]] std::optional<result<void>> answer_to(const lease_report& r, peer_id peer);
  void end_reported(const lease_report& r);
  void end_failed(lease_end e, const std::optional<duration>& delay);
  [[nodiscard]] leases_ended& record_for(duration retention);

  /// Adds the lease's grant to the record unless it is there; returns `lease_end::grant`.
  [[nodiscard]] std::uint16_t add_grant(fencing_token token, leases_ended& record) const;
  void append_end(lease_end e);
  /// Whether the record's last history entry says the same of the task before this one. It then
  /// tells of both, so that tasks that fail together do not cost a record each.
  [[nodiscard]] bool shares_note(
    const leases_ended& record, const segment& s, const lease_end& e, task_event::kind what) const;
  void count_activity(std::uint32_t queue, const lease_end& e);

  // Follow-ups.
  void run(const take_follow_ups& c);
  void run(const confirm_follow_ups& c);
  [[nodiscard]] result<void> check(const lease_report& r) const;
  void add_follow_ups(const lease_report& r);
  void append_follow_up(const follow_up& task);
  void say_follow_ups();

  // Changes.
  void run(const cancel& c);
  void run(const promote& c);
  void run(const redrive& c);
  [[nodiscard]] segment* find_to_change(peer_id peer, std::uint64_t number, sequence seq);
  /// Cancels a task, or marks it if it is leased.
  [[nodiscard]] change_answered cancel_task(const segment& s, sequence seq, task_event::author by);
  /// Asks the holder of the task's lease to stop, unless it was asked before.
  void stop_holder(const segment& s, sequence seq);
  void append_change(task_change change, task_event::author by);
  /// The record for the next change; a new one when the last one cannot take it, or when `is_new`.
  [[nodiscard]] tasks_changed& open_changes(bool is_new = false);
  void send_cancel(peer_id peer, fencing_token token);

  // History.
  void run(const tell_history& c);
  /// Begins a history entry for a task, before it changes.
  [[nodiscard]] task_note
  begin_note(const segment& s, sequence seq, task_event::kind what, task_event::author by);
  /// Completes the entry, after the task changed.
  [[nodiscard]] static task_note finish_note(task_note note, const segment& s);

  // Queues.
  void run(const configure_queue& c);
  void run(const weigh_keys& c);
  void run(const pause_queue& c);
  void run(const show_queue& c);
  void change_queue(queue_answered answer, operator_action action);
  /// Counts the end of an attempt, and pauses the queue when its breaker trips.
  void count_for_breaker(queue_state& queue, const lease_end& e);
  /// Pauses the queue unless it is paused.
  void pause_by_breaker(const queue_state& queue, const std::string& reason);
  /// An operator resumes the queue: its breaker begins a new window, here and on the shards that
  /// the settings are carried to, whether or not they are paused.
  void note_resume(queue_state& queue);

  // Purge, force and bulk changes.
  void run(const purge& c);
  void run(const force& c);
  void run(const change_many& c);
  void end_by_force(segment& s, const force& c);
  void tell_holder(fencing_token token);
  /// Changes, or only counts, the tasks of a list; returns how many.
  std::size_t change_listed(const change_many& c);
  std::size_t redrive_all(const std::vector<sequence>& tasks);
  void purge_all(const std::vector<sequence>& tasks);
  /// False when there was nothing to mark.
  bool mark_purged(const task_part& part);
  void purge_past_dead();

  // The audit log.
  void run(const note_command& c);
  void run(const tell_audit& c);
  /// Enters a change of the current command in the audit log, if an operator gave it.
  void audit(operator_action action, const queue_address& of, sequence task, std::uint64_t changed);
  void audit(audit_entry entry);
  void close_audits();

  // Schedules.
  void run(const set_schedule& c);
  void run(const change_schedule& c);
  void run(const show_schedule& c);
  void run(const list_schedules& c);
  void run(const fire_schedule& c);
  void run(const watch_ends& c);
  void run(const note_ends& c);
  void answer(schedule_answered answer);
  void fire(const fire_schedule& c, const planned_occurrence& o);
  void fire_due(const fire_schedule& c, const planned_occurrence& o);
  void fire_waiting(const fire_schedule& c);
  /// Adds the task of an occurrence.
  void start(const fire_schedule& c, occurrence entry, const planned_occurrence& o);
  /// Adds the entry of a schedule's next occurrence to its history; returns its number.
  std::uint64_t add_entry(const schedule_address& name, occurrence entry);
  /// Replaces an entry of the history.
  void change_entry(const schedule_address& name, const occurrence& entry);
  /// Cancels the open occurrences of a schedule.
  void cancel_running(const schedule_address& name);
  /// The task of an open occurrence ended.
  void end_occurrence(shard_id shard, sequence task, occurrence_state how);
  /// The task ended; notifies schedules and the shards that watch it.
  void tell_schedules(sequence seq);
  /// A shard has the tasks that this one sent it in that record.
  void settle_sent(const confirm_follow_ups& c);
  /// Asks other shards once for the ends of tasks that they took before this process began.
  void want_ends();
  /// The record of the schedule's changes in this turn.
  schedule_changed& change_of(const schedule_address& name);
  void close_schedules();

  // Limits.
  void run(const set_limit& c);
  void run(const list_limits& c);
  void run(const list_limit_keys& c);
  void run(const close_limit_key& c);
  [[nodiscard]] result<void> check(const set_limit& c) const;
  void run(const adopt_settings& c);

  /// For the shard that carries the settings, not for its tasks.
  void run(const settings_adopted&) {}

  /// False when a queue has no room here, so that it keeps its settings.
  bool adopt(const adopt_settings& all);
  /// The queue was resumed elsewhere, which may not have reached this shard.
  void hear_of_resume(const carried_queue& resumed);
  /// Keeps the pause of the queue's breaker on this shard when the carried settings lack it, and
  /// tells the other shards again.
  void keep_untold_pause(queue_state& known, queue_settings& carried);
  /// After a change that was not carried here: whoever carries settings is to send them again.
  void tell_carrier();
  void write_settings(const queue_address& queue, const queue_settings& settings);
  void
  write_limit(const limit_address& limit, const std::optional<limit_definition>& definition);
  void end_limited(lease_end e, const lease_report& r);
  void answer_close(const permit_recalls::ended& made);
  void close_limits();

  // Permits.
  void run(const ask_permits& c);
  void run(const give_permits& c);
  void take_list(const ask_permits& c);
  void take_back(const ask_permits& c, const permit_return& what);
  /// The permit waits, unless its tenant uses as many limit keys as it may.
  void want(shard_id asker, const permit& what);
  /// Books the permits that their keys admit. `in_turns`: not where the last slot of the key was
  /// another shard's, so that the tasks of this shard come first.
  void book_permits(bool in_turns);
  /// The same for the slots of queues.
  void book_slots(bool in_turns);

  /// Number of the queue's slots that are kept for tasks of this shard: they come before those of
  /// others by their priority, and a worker that is told of them may claim them soon. @pre slots of
  /// the queue are wanted
  [[nodiscard]] std::uint64_t
  slots_to_keep(const queue_address& name, const permit_book::slot_line& line);
  /// Books what is wanted at that place.
  void give_wanted(sequence place);
  void drop_wanted(sequence place);
  void change_permit(shard_id asker, permits_changed change);
  /// Queues that are paused ask for no permits.
  void settle_paused();
  void say_recalls();
  void say_permits();

  // Depths of queues.
  /// Tasks for which there is no room here, as far as this shard knows without asking.
  [[nodiscard]] std::uint64_t lacking_room(const depth_need& need) const;
  /// There are such tasks.
  [[nodiscard]] bool is_short_of_room(const depth_need& need) const;
  /// No more room can be had in the queue. @pre there is too little
  [[nodiscard]] bool is_depth_full(const depth_need& need) const;
  [[nodiscard]] error depth_full(const depth_need& need) const;
  /// The queue in which a request has to wait for room, or behind others; empty: it has room in
  /// all. `first_of`: it is the first one that waits for that queue. Errors: `queue_full`.
  [[nodiscard]] result<std::optional<depth_need>>
  find_wait(const std::vector<depth_need>& needs, std::optional<std::uint32_t> first_of) const;
  /// The request waits for the queue, or is refused when too many do.
  void park(parked_enqueues::parked what, const depth_need& need);
  /// Asks for the room that is lacking.
  void want_room(const depth_need& need);
  /// Decides the first request that waits for the queue; false when it has to wait on.
  bool try_parked(std::uint32_t queue);
  void admit_parked(std::uint32_t queue);
  void refuse_late();
  /// Decides what waits for room, here and on other shards.
  void settle_depths();
  void settle_line(const queue_address& name);
  /// Serves the shards that wait as long as there is room for the first one.
  void serve_line(std::uint32_t queue);
  /// Gives the shard what it waits for, or says that there is no room.
  void serve(std::uint32_t queue, depth_book::asking first);
  /// Serves all shards that wait: no more room is to be expected.
  void close_line(std::uint32_t queue);
  void give_room(std::uint32_t queue, const depth_book::asking& to);
  void book_depth(const queue_address& name, shard_id asker, const depth_book::booking& what);
  [[nodiscard]] depth_grant& depth_grant_for(const queue_address& name, shard_id asker);
  void begin_recall(std::uint32_t queue, depth_book::count& count);
  void recall_room(std::uint32_t queue, depth_book::count& count);
  void end_recall(std::uint32_t queue, depth_book::count& count);
  void take_level(shard_id from, const depth_level& level);
  void note_level(shard_id from, const depth_level& level);
  void say_uncounted(shard_id from, const depth_level& level);
  void hear_depths(const give_permits& said);
  /// The owner of the queue's depth needs the room that is not used.
  void return_room(std::uint32_t queue);
  [[nodiscard]] queue_configured settings_again(std::uint32_t queue);
  /// Nothing is booked for other shards any more.
  void free_depths(const queue_address& name);

  // Slots of queues.
  /// Calls `visit(queue)` for each queue of the worker whose slots another shard owns.
  template <class Visit>
  void visit_slot_queues(const attached_worker& a, Visit visit) const;
  /// The worker is new at its queues, or may use other slots than before; such queues may have no
  /// other claimer.
  void stir_slot_queues(const attached_worker& a);
  /// The same for queues that this turn does not match any more.
  void note_slot_queues(const attached_worker& a);
  /// Tasks of its queues are ready for which other shards may give slots.
  [[nodiscard]] bool may_get_slots(const attached_worker& a) const;
  /// The peer's open credits that are not kept for other queues than this, and those that are not
  /// kept at all.
  [[nodiscard]] std::uint32_t credits_for(std::uint32_t queue, peer_id peer) const;
  [[nodiscard]] std::uint32_t unkept_credits(peer_id peer) const;
  /// The queue's next task, if there were slots, comes after one of another shard.
  [[nodiscard]] bool is_first_outranked(std::uint32_t queue, bool reaches_all) const;
  /// The claimer would lease tasks of the queue if there were slots.
  [[nodiscard]] bool would_lease(std::uint32_t queue, peer_id peer, bool by_prefix) const;
  /// The claimers with that need that would.
  [[nodiscard]] std::vector<peer_id> claimers_at(std::uint32_t queue, claimer_need need) const;
  /// Some claimer would. Looks at no more of them than it takes to find one.
  [[nodiscard]] bool is_served(std::uint32_t queue) const;
  /// Credits of the queue's claimers that it may use.
  [[nodiscard]] std::uint64_t credits_at(std::uint32_t queue) const;
  /// Number of the queue's tasks that lack a slot, which the owner may give.
  [[nodiscard]] std::uint64_t slots_lacking(std::uint32_t queue) const;
  /// The queue has tasks that lack slots, and its owner has answered all that were asked for.
  [[nodiscard]] bool may_ask_for_slots(std::uint32_t queue) const;
  /// The queue has its turn among those whose claimers have credits: asks for slots before other
  /// queues use them.
  void take_turn_for_slots(std::uint32_t queue);
  /// Keeps a credit of a claim of this turn until a slot comes that was asked for before.
  void wait_for_slot(std::uint32_t queue);
  /// Asks for as many slots as claimers have credits, which are kept for them; without any, for one
  /// of which a claimer is to be notified.
  void ask_for_slots(std::uint32_t queue);
  /// Keeps at most so many credits for slots of the queue; returns how many. When a slot has come
  /// while the workers were busy, one is kept, also after the owner has answered that it has none.
  std::uint64_t keep_credits(std::uint32_t queue, std::uint64_t count);
  /// Promises a credit of a claimer that has none, and would claim when it is notified; returns how
  /// many.
  std::uint64_t promise_credit(std::uint32_t queue);
  /// Number of the peer's credits that are neither kept nor promised. One that it may be about to
  /// claim with counts when it has none.
  [[nodiscard]] std::uint32_t unpromised_credits(peer_id peer) const;
  /// After all grants of the turn: returns slots that cannot be used, and asks for those for which
  /// credits are left.
  void settle_slots();
  /// Waits for no more of the queue's slots than claimers have credits, but for one.
  void await_slots(std::uint32_t queue);
  /// Returns the queue's free slots, except those that tasks and claimers may use before their time
  /// is over.
  void return_slots(std::uint32_t queue);
  /// Promises credits to so many free slots, as far as there are any.
  void promise_to_slots(std::uint32_t queue, std::uint64_t count);
  /// Ends keeping credits where the owners of slots have answered; other queues may use them, also
  /// those of workers that were `tried`. False when there are none.
  bool end_kept_credits(std::map<peer_id, std::uint64_t>& tried);
  void end_all_kept_credits();
  /// The peer's credits may be used for all its queues.
  void release_credits(peer_id peer);
  /// The peer is gone, or claims from other queues.
  void forget_kept_credits(peer_id peer);

  // Keys.
  void run(const recall_keys& c);
  request_answer add_keyed(const request_id& request, const std::vector<enqueue_run>& runs);
  /// Adds a run for which no segment refers to a request, or finds the record that has its key;
  /// appends the tasks to `tasks`.
  enqueue_kind add_or_meet(const enqueue_run& r, std::vector<seq_run>& tasks);
  enqueue_kind meet_owner(const enqueue_run& r, sequence seq);
  enqueue_kind reschedule(const enqueue_run& r, const segment& s);
  void replace_body(const enqueue_run& r, const segment& s);
  [[nodiscard]] std::optional<sequence> find_named(
    peer_id peer, std::uint64_t number, sequence seq, const std::shared_ptr<const task_key>& key);
  [[nodiscard]] bool is_key_taken(const segment& s) const;

  // Inquiries.
  void run(const await_tasks& c);
  void run(const stop_awaiting& c);
  void run(const describe_task& c);
  void run(const explain_task& c);
  void run(const list_tasks& c);
  void describe(const inquiry& why, sequence seq);
  void explain(task_explained& e, const segment& s);
  void say_not_here(const inquiry& why, sequence seq);
  void tell_awaiting(sequence seq);

  /// Removes a peer from those that await the task. @pre it is one of them
  void leave_awaited(sequence seq, peer_id peer);
  [[nodiscard]] std::optional<bytes> text_at_hand(const task_entry& entry) const;
  [[nodiscard]] task_view view_of(segment& s, sequence seq);

  void run(const end_session& c);

  void run(const tick&) {}
  void run(const look_at_rivals& c);

  void run(const copy_survivors& c);

  void run(const take_snapshot&) { snapshot_wanted_ = true; }

  [[nodiscard]] snapshot_taken make_snapshot();

  shard_state& state_;
  instant now_{};
  std::size_t commands_ = 0;
  std::size_t body_bytes_ = 0;
  std::vector<segment_appended> segments_;
  /// Indexes in `segments_` of the lanes' open segments, ascending.
  std::vector<std::size_t> open_lanes_;
  /// Index of the segment that the current request's tasks were added to last. They are not added
  /// to an earlier one, because the answer is recovered in the order of segments.
  std::size_t joined_from_ = 0;
  std::vector<batch_granted> grants_;
  std::vector<leases_ended> ended_;
  std::vector<tasks_changed> changed_;
  std::vector<queue_configured> configured_;
  std::vector<follow_ups_sent> follow_ups_;
  std::vector<schedule_changed> scheduled_;
  std::vector<limit_defined> limits_;
  std::vector<limit_keys_changed> limit_keys_;
  /// By the shard that has the permits.
  std::map<shard_id, permits_changed> permits_;
  std::map<shard_id, give_permits> permits_given_;
  /// Tenants for which this turn refused permits of further limit keys.
  std::set<std::string> tenants_out_of_keys_;
  /// The grants and recalls of this turn, and their number.
  std::map<shard_id, std::map<queue_address, depth_grant>> depths_given_;
  std::size_t depth_words_ = 0;
  /// Room was booked for other shards, which has to be synced before they are told.
  bool has_given_room_ = false;
  /// A queue whose room was returned because of ends of earlier turns. If this turn writes nothing
  /// else, it writes the queue's settings once more, since those ends have to be synced.
  std::optional<std::uint32_t> synced_queue_;
  /// Queues whose slots another shard owns, and of which something has changed.
  std::set<std::uint32_t> slot_queues_;
  /// Queues whose settings were written.
  std::set<std::uint32_t> changed_queues_;
  /// Queues for which this turn ended the keeping of credits.
  std::set<std::uint32_t> waited_;
  /// The records in `scheduled_` of schedules that are not removed.
  std::map<schedule_address, std::size_t> open_schedules_;
  /// Checkpoints saved in this turn, and tasks whose checkpoints were dropped.
  std::map<sequence, lease_checkpoint> saved_;
  std::set<sequence> dropped_;
  std::vector<checkpoints_changed> changed_checkpoints_;
  /// The origin of the command that is being decided; null when no operator gave it.
  origin_ptr origin_;
  std::vector<audit_entry> audited_;
  std::vector<commands_audited> closed_audits_;
  bool snapshot_wanted_ = false;
  std::vector<open_grant> granted_;
  std::vector<outranked_queue> outranked_;
  /// Number of tasks that the turn may still hold back.
  std::size_t holds_left_ = tuning::limits_held_per_turn_max;
  /// Index of the queue of the lease that was ended last.
  std::uint32_t ended_queue_ = 0;
  /// By the queue's index.
  std::map<std::uint32_t, leases_expired> expired_;
  /// Workers that attached or claimed, or whose queues have ready tasks: they may need a
  /// notification.
  std::set<peer_id> touched_;
  std::vector<effect> effects_;
};

/// Time until something becomes due by time alone: a task, or a lease that needs a timer. Empty
/// when nothing waits for time.
[[nodiscard]] std::optional<duration> next_wakeup(shard_state& state, const instant& now);

} // namespace codeq::core
