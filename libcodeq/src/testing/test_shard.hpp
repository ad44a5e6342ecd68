// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"
#include "codeq/task.hpp"

#include "client/schedule_questions.hpp"
#include "coordinator/shard/shard.hpp"
#include "coordinator/store/reader.hpp"
#include "protocol/task_convert.hpp"
#include "storage/memory/memory_store.hpp"
#include "testing/event_loop.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace codeq::testing {

/// Drives a shard and its reader under the clock of an event loop. The store is in memory; each
/// call commits its decisions before it returns.
class test_shard final : public coordinator::shard_port, public coordinator::reader_port {
public:
  /// A message to the worker's session.
  using worker_message =
    std::variant<coordinator::shard_reply, coordinator::task_delivery, coordinator::credit_news>;
  using receiver = std::function<void(worker_message)>;

  /// @pre `loop` outlives the shard
  explicit test_shard(event_loop& loop);

  // Requests of a producer and an operator.

  /// Errors: as `producer::enqueue`.
  [[nodiscard]] result<enqueued_task> enqueue(const task_spec& spec);

  /// Errors: as `operator_client::set_limit`.
  [[nodiscard]] result<limit_info>
  set_limit(const limit_address& limit, const limit_definition& definition);

  // Schedules, by the name that the test gave them. Errors: as `operator_client`.

  [[nodiscard]] result<schedule_answer>
  set_schedule(const schedule_address& name, const schedule_spec& spec);
  [[nodiscard]] result<schedule_answer>
  change_schedule(const std::string& name, schedule_action what);
  [[nodiscard]] result<std::vector<schedule_occurrence>> occurrences(const std::string& name);

  /// Errors: `unknown_task`.
  [[nodiscard]] result<task_status> status(sequence seq);

  /// False when the task has ended already.
  bool cancel(sequence seq);

  /// Passes on another request, and returns the answer.
  [[nodiscard]] result<protocol::wire_frame> answer_to(const protocol::wire_frame& request);

  /// Begins the retention of the keys of tasks that have ended, as a coordinator does every few
  /// seconds. Call before time advances.
  void begin_retention();

  // Requests of a worker's session.

  /// Replaces the worker: the leases of the previous process end as lost.
  void attach(const coordinator::peer_attached& worker, receiver receive);

  void ask(const coordinator::peer_request& request);
  void decide(const core::command& command);

  /// Drops the heartbeats of a lease from now on.
  void silence(fencing_token token) { silenced_.insert(token); }

  /// Remaining time of a lease without another heartbeat; empty when it has ended.
  [[nodiscard]] std::optional<duration> remaining(fencing_token token) const;

  /// The tasks of a queue in order of arrival.
  [[nodiscard]] std::vector<sequence> tasks_of(const std::string& queue) const;

  void commit(coordinator::turn_commit turn, const std::vector<core::event>& events) override;

  void raise_epoch() override { wants_epoch_ = true; }

  void reply(core::peer_id peer, protocol::peer_reply reply) override;
  void reply(core::peer_id peer, coordinator::shard_reply reply) override;
  void deliver(core::peer_id peer, coordinator::task_delivery tasks) override;
  void tell_credits(core::peer_id peer, const coordinator::credit_news& news) override;

  void tell_queues(core::peer_id, coordinator::queues_added) override {}

  [[noreturn]] void end_peer(core::peer_id peer, const error& reason) override;
  void fetch_bodies(core::peer_id peer, coordinator::bodies_wanted wanted) override;
  void answer_inquiry(core::peer_id peer, coordinator::stored_inquiry inquiry) override;
  void list_stored(core::peer_id peer, coordinator::stored_list list) override;
  void find_keys(coordinator::keys_wanted wanted) override;
  void read_survivors(coordinator::survivors_wanted wanted) override;
  [[nodiscard]] bool may_hold_key(const task_key& name) override;
  void
  keys_found(shard_id shard, std::uint64_t number, std::vector<core::recalled_key> found) override;
  void survivors_read(shard_id shard, core::copy_survivors found) override;

  void survivors_damaged(const coordinator::survivors_wanted&, const error& reason) override {
    fail(reason);
  }

  void to_shard(shard_id to, core::command command) override;
  bool make_timer(sequence seq, fencing_token token) override;

  /// The testbed fires timers itself.
  void fire_timer(fencing_token) override {}

  bool drop_timer(fencing_token token) override;

  /// Every call closes its turn.
  void close_turn_soon() override {}

  void wake_after(duration wait, std::uint64_t number) override;

  void note_limit(
    std::string_view, std::uint64_t, std::string_view, std::string_view) override {}

  void note_expired(const core::leases_expired&) override {}
  void note_breaker(const core::breaker_tripped&) override {}
  void note_occurrence(const core::occurrence_noted&, timestamp) override {}
  void note_grants(coordinator::grant_pause) override {}

  void settled() override {}

  [[nodiscard]] const result<void>& check_disk(monotonic_time now) override;

  [[nodiscard]] bool is_disk_tight(monotonic_time, std::size_t) override { return false; }

  [[noreturn]] void fail(const error& reason) override;

private:
  [[nodiscard]] core::enqueue_answered add(const protocol::encoded_tasks& tasks);
  /// The producer's next requests have a new session, since the shard forgets one that is idle for
  /// `limits::producer_session_idle_max`.
  void begin_session();
  /// Commits all decisions, then processes and commits their consequences.
  void settle();
  void to_worker(core::peer_id peer, worker_message message);

  /// Sends a request for a schedule.
  [[nodiscard]] result<protocol::schedules_told> ask_schedule(const client::question& what);
  /// The place of the schedule that the test set under that name.
  [[nodiscard]] client::schedule_place place_of(const std::string& name) const;

  /// The answer to the producer's latest request, if it is an `Answer`; otherwise null.
  template <class Answer>
  [[nodiscard]] const Answer* answer() const {
    return answer_ ? std::get_if<Answer>(&*answer_) : nullptr;
  }

  event_loop& loop_;
  std::shared_ptr<storage::memory_store> store_ = std::make_shared<storage::memory_store>();
  coordinator::reader reader_;
  coordinator::shard shard_;
  std::uint32_t epoch_ = 1;
  bool wants_epoch_ = false;
  std::uint64_t committed_ = 0;
  /// A task has a key.
  bool has_keys_ = false;
  /// The turn of the latest snapshot that `begin_retention` took.
  std::uint64_t snapshot_turn_ = 0;
  /// Commands that resulted from a call into the shard.
  std::deque<core::command> commands_;
  std::deque<coordinator::keys_wanted> wanted_keys_;
  /// When the timer of each lease fires.
  std::map<fencing_token, monotonic_time> timers_;
  std::set<fencing_token> silenced_;
  std::map<std::string, std::vector<sequence>> tasks_;
  /// The tenant of each schedule by its name.
  std::map<std::string, std::string> schedules_;
  producer_id producer_;
  std::uint64_t requests_ = 0;
  std::optional<protocol::peer_reply> answer_;
  core::peer_id worker_peer_ = 0;
  receiver receive_;
};

} // namespace codeq::testing
