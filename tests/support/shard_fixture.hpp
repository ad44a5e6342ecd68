// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "support/closed_keys.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::test {

/// Deviations of an enqueue from the default.
struct enqueue_options {
  int priority = 0;
  duration delay{0};
  bool allow_promotion = false;
  task_settings settings{};
  /// Request number; empty: a new request.
  std::optional<std::uint64_t> request{};
  std::uint64_t answered_below = 0;
  std::size_t body_size = 16;
  std::string group{};
  /// Bit set of `setting_bit`.
  std::uint16_t left_to_queue = 0;
  std::string tenant = "default";
  std::string key{};
  on_duplicate duplicate = on_duplicate::existing;
  bool replace_payload = false;
  /// Empty: the producer's first session.
  std::optional<producer_id> session{};
  /// The disk's reason to refuse the enqueue.
  result<void> allowed{};
  core::fairness_mark fairness{};
  std::vector<task_limit> limits{};
};

/// One shard under a manual clock. Every verb runs one turn and returns the turn's effects as a
/// `transcript`; inside `together`, verbs share a turn and return nothing. Peers are identified by
/// name; producer `p` enqueues.
class shard_fixture : public testing::Test {
protected:
  shard_fixture();
  ~shard_fixture() override;

  /// Runs the verbs called by `all` in one turn.
  std::string together(const std::function<void()>& all);

  std::string
  enqueue(const std::string& queue, std::size_t count = 1, const enqueue_options& options = {});
  /// Enqueues one request with a task for each of `tasks`.
  std::string enqueue_all(const std::string& queue, const std::vector<enqueue_options>& tasks);
  /// A queue that ends with `*` is a prefix.
  std::string attach(const std::string& worker, const std::vector<std::string>& queues);
  std::string detach(const std::string& peer);
  /// A claim with room for `bytes` bytes of bodies.
  std::string claim_within(const std::string& worker, std::uint32_t credits, std::int64_t bytes);

  std::string claim(
    const std::string& worker,
    std::uint32_t credits,
    duration lease = {},
    std::uint32_t batch_tasks = 0);
  std::string revoke(const std::string& worker, std::uint32_t credits);
  std::string beat(const std::string& worker, core::task_lease lease, bool queued = false);
  /// A heartbeat that extends the lease by `extend`.
  std::string beat_for(const std::string& worker, core::task_lease lease, duration extend);
  /// One message with a heartbeat for each lease.
  std::string beat_all(const std::string& worker, const std::vector<core::task_lease>& leases);
  /// A heartbeat that says that the handler has made progress.
  std::string progress(const std::string& worker, core::task_lease lease);
  /// Reports a handler's progress.
  std::string tell_progress(
    const std::string& worker, core::task_lease lease, std::uint8_t percent, std::string note);
  /// A heartbeat that carries only a checkpoint.
  std::string save(const std::string& worker, core::task_lease lease, std::uint32_t number);
  /// Reports progress twice in one message: with the notes `first` and `last`.
  std::string tell_progress_twice(
    const std::string& worker, core::task_lease lease, std::string first, std::string last);
  /// `without`: queues that the prefixes leave out.
  std::string change_queues(
    const std::string& worker,
    const std::vector<std::string>& queues,
    const std::vector<std::string>& without = {});
  std::string
  report(const std::string& worker, core::task_lease lease, const core::lease_report& how);
  std::string
  complete(const std::string& worker, core::task_lease lease, const std::string& text = {});
  /// Completes with follow-ups, one run each; their bodies look like those of `enqueue`.
  std::string complete_with(
    const std::string& worker, core::task_lease lease, std::vector<core::follow_up> follow_ups);
  std::string take(core::take_follow_ups follow_ups);
  std::string confirm(std::uint16_t shard, std::uint64_t number);
  /// One message with a completion for each lease.
  std::string complete_all(const std::string& worker, const std::vector<core::task_lease>& leases);
  std::string fail(const std::string& worker, core::task_lease lease);
  std::string fail_permanently(const std::string& worker, core::task_lease lease);
  std::string nack(const std::string& worker, core::task_lease lease, duration delay);
  std::string abandon(const std::string& worker, core::task_lease lease);
  std::string expire(core::task_lease lease);
  std::string cancel(int task);
  std::string promote(int task);
  std::string redrive(int task);
  std::string purge(int task);
  std::string force(int task, force_kind how, const std::string& text = {});
  /// In tenant `default` unless the filter names another.
  std::string change_many(core::bulk_kind what, core::task_part part);
  /// Any command of the producer's peer.
  std::string decide(const core::command& c) { return run(c); }
  std::string cancel_key(const std::string& queue, const std::string& key);
  std::string promote_key(const std::string& queue, const std::string& key);
  std::string describe_key(const std::string& queue, const std::string& key);
  std::string resume(const std::string& worker, const std::vector<core::task_lease>& leases);
  std::string release(const std::string& worker);
  std::string await(const std::string& peer, const std::vector<int>& tasks);
  std::string stop_awaiting(const std::string& peer, const std::vector<int>& tasks);
  /// As `await`, with progress.
  std::string watch(const std::string& peer, int task);
  std::string describe(const std::string& peer, int task);
  std::string explain(int task);
  std::string tell_history(int task);
  std::string configure(const std::string& queue, const queue_config& config);
  std::string weigh(const std::string& queue, const weight_changes& weights);
  /// Of tenant `default`; empty removes the limit.
  std::string set_limit(const std::string& name, const std::optional<limit_definition>& definition);
  std::string close_key(const std::string& limit, const std::string& key, duration closed_for);
  std::string pause(const std::string& queue);
  std::string unpause(const std::string& queue);
  std::string show(const std::string& queue);
  std::string list(const core::task_part& part);
  /// The producer's goodbye.
  std::string end_session(const producer_id& producer);
  std::string take_snapshot();
  /// Gives the shard the bodies of a segment's survivors.
  std::string bring(const core::copy_survivors& found);
  /// Advances time; events due by time alone happen in the turn returned.
  std::string advance(duration by);

  /// Changes of tasks and queues come from this operator from now on; those with the same operation
  /// are parts of one command. Null: from nobody.
  void act_as(core::origin_ptr origin) { origin_ = std::move(origin); }

  /// A new process takes over the worker's name; it is not attached to any queue yet.
  std::string replace(const std::string& worker);

  /// The same process takes over its name once more.
  std::string replace_again(const std::string& worker);

  /// Kills the process and recovers a new epoch from all events so far.
  void restart();

  /// The n-th task under the n-th token, both of epoch 1 by default.
  [[nodiscard]] static core::task_lease held(int task, int token, std::uint32_t token_epoch = 1);
  [[nodiscard]] static sequence task(int number);

  /// State of a task, in words: `ready`, `scheduled`, ...
  [[nodiscard]] std::string state_of(int task) const;
  [[nodiscard]] core::task_entry entry_of(int task) const;

  [[nodiscard]] core::shard_state& state() { return *state_; }

  [[nodiscard]] const base::manual_clock& clock() const { return clock_; }

  /// The state recovered from the first `turns` turns.
  [[nodiscard]] std::unique_ptr<core::shard_state> recovered(std::size_t turns);

  [[nodiscard]] std::size_t turns() const noexcept { return turns_.size(); }

  /// Shard time.
  [[nodiscard]] timestamp now() { return clock_.now().shard; }

  [[nodiscard]] instant instant_now() { return clock_.now(); }

  /// The events of the latest turn.
  [[nodiscard]] const std::vector<core::event>& events() const { return turns_.back(); }

  [[nodiscard]] const std::vector<core::event>& events_of(std::size_t turn) const {
    return turns_.at(turn);
  }

private:
  core::enqueue_run
  run_of(const std::string& queue, std::size_t count, const enqueue_options& options);
  std::string run(const core::command& c);
  std::string seal();
  core::peer_id peer_of(const std::string& name);
  std::shared_ptr<const worker_identity> identity_of(const std::string& worker);

  base::manual_clock clock_;
  instant start_;
  producer_id session_;
  std::unique_ptr<core::shard_state> state_;
  std::unique_ptr<core::turn> turn_;
  bool together_ = false;
  core::origin_ptr origin_;
  std::vector<std::vector<core::event>> turns_;
  closed_keys closed_keys_;
  std::map<core::peer_id, std::string> names_;
  std::map<std::string, core::peer_id> peers_;
  std::map<std::string, std::uint64_t> incarnations_;
  std::uint64_t next_request_ = 1;
};

} // namespace codeq::test
