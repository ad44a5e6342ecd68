// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "actors/ask_coordinator.hpp"
#include "base/clock.hpp"
#include "base/coordinator_counts.hpp"
#include "base/fair_share.hpp"
#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "client/watch_list.hpp"
#include "coordinator/shared/drained_workers.hpp"
#include "coordinator/shared/shared_board.hpp"
#include "coordinator/shared/shared_question.hpp"
#include "core/commands/command.hpp"
#include "http/desk/bounded_reads.hpp"
#include "http/desk/claim_driver.hpp"
#include "http/desk/claim_turns.hpp"
#include "http/desk/enqueue_desk.hpp"
#include "http/desk/far_shards.hpp"
#include "http/desk/gateway_actors.hpp"
#include "http/desk/lease_requests.hpp"
#include "http/desk/timer_list.hpp"
#include "http/json/task_json.hpp"
#include "http/server/answer_shares.hpp"
#include "http/server/gateway_limits.hpp"
#include "protocol/task_convert.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::http {

struct desk_options {
  /// Indexed by shard number.
  std::vector<coordinator::shard_actor> shards;
  std::uint64_t store_id = 0;
  /// Only the gateway's actor uses the clock.
  std::shared_ptr<base::clock> clock;
  std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>();
  /// The gateway and all connections of nodes share it.
  std::shared_ptr<coordinator::enqueue_shares> shares =
    std::make_shared<coordinator::enqueue_shares>();
  /// Spawns the actor of a claim; empty: in the scheduler.
  std::function<claim_actor(const claim_driver_options&)> spawn_claim{};
  /// The gateway and its servers share it.
  std::shared_ptr<answer_shares> answers = std::make_shared<answer_shares>();
  /// The first ready tasks of the shards; null when they show none.
  std::shared_ptr<coordinator::shared_board> board{};
  /// In a cluster requests reach their shards over connections to the coordinators; those of claims
  /// only if the shards are not here. Empty for a coordinator that is alone.
  std::optional<far_shards_options> cluster{};
  /// The gateway and the sessions of workers share it.
  std::shared_ptr<coordinator::drained_workers> drained =
    std::make_shared<coordinator::drained_workers>();
};

/// A claim of an HTTP worker.
struct claim_wish {
  std::shared_ptr<const worker_identity> worker;
  /// The queues to claim from. Empty stands for every queue that the tenant has or gets.
  std::vector<queue_address> queues{};
  std::string tenant{};
  std::uint32_t count = 1;
  duration lease{0};
  /// Zero does not wait.
  duration wait{0};
  /// The bytes of tasks that all shards together may grant. The last task of each may exceed its
  /// part.
  std::int64_t room = core::unbounded_bytes;
};

/// What the maker of a claim is told.
struct claim_events {
  /// The claim has ended.
  std::function<void(claimed_tasks)> ended;
  /// A claim that may wait has found no work so far. Called once or never.
  std::function<void()> waits = [] {};
};

/// A heartbeat of one lease.
struct lease_heartbeat {
  task_id task;
  fencing_token token{};
  /// How much longer the lease is wanted; zero stands for its own length.
  duration extend{0};
  /// How far the attempt is, in 0..100.
  std::optional<std::uint8_t> percent{};
  /// Only with `percent`.
  std::string note{};
};

/// How an attempt ended.
struct attempt_end {
  task_id task;
  fencing_token token{};
  disposition how = disposition::completed;
  std::string text{};
  /// With nack; empty leaves the delay to the retry policy. With limited: how long the limit key is
  /// closed.
  std::optional<duration> delay{};
  /// Only with a completion; null for none.
  std::shared_ptr<const protocol::encoded_tasks> follow_ups{};
  /// Only with limited: the limit of the task; empty for its first one.
  std::string limit_name{};
  /// The actual costs, by the names of limits.
  std::vector<task_limit> costs{};
};

/// Sends the routes' requests to the shards and hands the replies to the routes' callbacks. One
/// session serves all requests, and each claim has its own. The gateway's actor owns the desk; it
/// calls each callback once, later unless a function says otherwise.
class shard_desk {
public:
  template <class T>
  using then = std::function<void(result<T>)>;

  void start(gateway_actor::pointer self, const desk_options& options);

  /// Ends everything that is open. Later requests fail with `going_away`.
  void stop();

  [[nodiscard]] std::uint16_t shard_count() const {
    return static_cast<std::uint16_t>(options_.shards.size());
  }

  [[nodiscard]] bool is_in_cluster() const { return far_.has_value(); }

  /// Whether this coordinator serves a shard.
  [[nodiscard]] bool has_shards() const { return !far_ || away_.size() < shard_count(); }

  /// Whether this coordinator serves the shard; always when it is alone.
  [[nodiscard]] bool is_here(std::uint16_t shard) const {
    return !far_ || !away_.contains(shard_id{shard});
  }

  /// The shards that are here and may have tasks of the tenant.
  [[nodiscard]] std::set<shard_id> own_shards_of(const std::string& tenant) const;

  /// In a cluster: the name of the coordinator that serves the shard, as far as it is known; else
  /// empty.
  [[nodiscard]] std::string node_of(std::uint16_t shard) const;

  using shard_follower = std::function<void(shard_id shard, bool is_here)>;

  /// Calls `tell` for each shard that is here, and in a cluster whenever one comes or leaves.
  void follow_shards(shard_follower tell);

  /// Calls `tell` whenever another coordinator of the cluster, or the connection to it, was lost.
  void follow_losses(std::function<void()> tell) { loss_followers_.push_back(std::move(tell)); }

  /// In a cluster: which coordinator serves a shard, for people.
  [[nodiscard]] std::string place_of(shard_id shard) const {
    return far_ ? far_->place_of(shard) : std::string();
  }

  /// In a cluster: the number of coordinators that serve the shards, as far as it is known; shards
  /// whose coordinator is not known count as those of one.
  [[nodiscard]] std::size_t nodes_of(const std::vector<shard_id>& shards) const;

  /// In a cluster: why a shard cannot be reached at present; empty when it can.
  [[nodiscard]] std::string why_unreached(std::uint16_t shard) const;

  /// The same for the shard of an enqueue, if it is the only one that may have the task.
  [[nodiscard]] std::string why_unreached(const enqueue_ticket& ticket) const;

  /// The shards' time.
  [[nodiscard]] timestamp now() { return options_.clock->now().shard; }

  /// Counts the requests that meet a limit.
  [[nodiscard]] observe::limit_meter& meter() const { return *options_.meter; }

  [[nodiscard]] claim_turns& turns() noexcept { return turns_; }

  /// The bytes of responses.
  [[nodiscard]] answer_shares& answers() const { return *options_.answers; }

  [[nodiscard]] monotonic_time steady_now() { return options_.clock->now().steady; }

  /// Enqueues a task in the window of `tenant`. Errors: the coordinator's refusals; `overloaded`
  /// when the tenant has too many open enqueues or too many bytes; `going_away`.
  enqueue_ticket
  enqueue(const std::string& tenant, const task_spec& task, then<enqueued_task> done);

  /// Ends an enqueue with `timeout`, or with `disconnected` when its shard is not reached and did
  /// not get it, and frees its place; does nothing when the enqueue has ended.
  void give_up(const enqueue_ticket& ticket);

  /// Ends an enqueue with `disconnected` if its shard is not reached for as long as a question
  /// waits for one, and did not get it.
  void await_shard(const enqueue_ticket& ticket);
  void describe(const client::task_address& task, then<task_detail> done);

  /// The same for a task that was created just now, in the call of `enqueue`'s `done`: as it was
  /// then. Calls `done` at once if the answer to the enqueue shows the task, and asks its shard
  /// otherwise.
  void describe_added(const task_id& task, then<task_detail> done);

  /// The same with the task's body. At most `limits::http_bodies_read_max` such reads are open; the
  /// others wait, and their owners take turns: the tenants that ask, and `own_reads`.
  void describe_with_body(
    const std::string& owner, const client::task_address& task, then<task_detail> done);

  /// Asks a shard for a part of a list. At most `limits::http_lists_read_max` such questions are
  /// open; the others wait, and their owners take turns as with `describe_with_body`. Errors:
  /// `overloaded` when too many of the owner wait.
  void list(
    const std::string& owner,
    std::uint16_t shard,
    const client::question& question,
    then<client::list_part> done);

  /// The owner of reads that the gateway needs itself.
  static constexpr auto own_reads = "";

  using stats_result = result<base::coordinator_counts>;
  using parts_result = result<std::vector<base::coordinator_counts>>;

  /// Workers of all coordinators that have answered.
  struct worker_sum {
    std::vector<base::worker_counts> workers{};
    /// The coordinators that have not, and the shards of which no coordinator has told.
    actors::missing_answers missing{};
  };

  using workers_result = result<worker_sum>;

  /// Adds up the statistics of all shards. In a cluster those of other coordinators are only counts
  /// of queues; the gauges of `client::set_missing` say what is missing. Errors: `timeout`.
  void stats(std::function<void(const stats_result&)> done) { stats_.ask(std::move(done)); }

  /// The same for the shards that are here.
  void own_stats(std::function<void(const stats_result&)> done);

  /// The number of the statistics that `stats` has passed on latest.
  [[nodiscard]] std::uint64_t stats_number() const noexcept { return stats_number_; }

  /// The workers of all shards, with their queues and leases. Errors: `timeout`.
  void workers(std::function<void(const workers_result&)> done) { workers_.ask(std::move(done)); }

  /// A page of the audit log of all shards that answer. Errors: those of a shard that refuses, or
  /// of the first one when none answers.
  void audit(const audit_filter& filter, then<audit_page> done);

  /// Drains a worker, named as in `workers`, or takes it back, at every coordinator, and enters it
  /// in the audit log. Errors: see `operator_client::drain_worker`.
  void drain_worker(
    const std::string& name, bool is_drained, const core::origin_ptr& origin, then<void> done);

  /// The statistics of each shard, indexed by shard number.
  void stats_by_shard(std::function<void(const parts_result&)> done) {
    parts_.ask(std::move(done));
  }

  /// Adds what the other coordinators of the cluster know to the own state of the cluster; those
  /// that are not connected or do not answer in time are left out. @pre in a cluster
  void gather_cluster(cluster_status own, std::function<void(const cluster_status&)> done);

  /// Asks a shard a question whose reply is `S`. `origin`: where the question comes from when it is
  /// an operator's change. Returns the question's number; 0 when the desk has stopped.
  template <class T, class S>
  std::uint64_t ask(
    std::uint16_t shard,
    const client::question& question,
    result<client::answered<T>> (*read)(const protocol::frame<S>&),
    then<T> done,
    const core::origin_ptr& origin = {});

  /// A number for the next command of an operator; never used twice by this process.
  [[nodiscard]] std::uint64_t next_operation() {
    return std::uint64_t{peer_} << 32 | ++last_operation_;
  }

  /// Enters an operator's command in the audit log that changed something other than tasks: on a
  /// shard that is here, if there is one.
  void note(core::note_command command);

  /// Reads the ready tasks of a tenant on a shard, newest first, and calls `take` for each part
  /// until one is an error, has no `more`, or `take` returns false. For the tenants whose tasks are
  /// the gateway's own records.
  void walk_ready(
    const std::string& tenant,
    std::uint16_t shard,
    std::function<bool(const result<client::list_part>&)> take,
    sequence below = 0);

  /// Reports the end of an attempt. Errors: `already` when the same end was reported before,
  /// `stale_lease`, `unknown_task`, or the reason why the shard refused the report's content.
  void report(const attempt_end& end, then<void> done);

  /// Gives leases back of which no worker has learned; the attempts are not charged. Repeats it for
  /// some time while their shard is not reached.
  void give_back(const std::vector<granted_lease>& leases);

  /// Extends a lease and tells those who watch its task of its progress. Errors: `stale_lease`.
  void beat(const lease_heartbeat& said, then<task_detail> done);

  /// Saves the checkpoint of a lease for the task's next attempt, and extends the lease. `done` is
  /// called when it is durable. Errors: `stale_lease`; `overloaded` when the task's tenant has used
  /// up its share of the enqueue bytes, and then the lease is not extended.
  void save_checkpoint(
    const task_status& task, fencing_token token, std::string_view checkpoint, then<void> done);

  /// Starts a claim, and returns its name for `end_claim_of`.
  std::uint64_t claim(claim_wish wish, claim_events events);

  /// Ends a claim early; its `ended` is still called with its tasks.
  void end_claim_of(std::uint64_t claim);

  /// Waits for the end of a task, and passes its progress on until then. Fails with `timeout` after
  /// `wait`. Returns a name for `unwatch`.
  std::uint64_t watch(
    task_id task,
    std::optional<duration> wait,
    then<ended_task> ended,
    client::watch_list::progressed_function progressed = {});

  /// Drops a watch that has not ended; does nothing for 0.
  void unwatch(std::uint64_t watch);

  /// Runs `action` after `wait`, or at once when the desk has stopped. Returns a name for `cancel`.
  timer_list::id after(duration wait, std::function<void()> action);

  /// Cancels an action that has not run; does nothing for 0.
  void cancel(timer_list::id action) { timers_.remove(action); }

  // Messages to the gateway's actor.

  void take(const coordinator::shard_reply& m);
  void take(const coordinator::queues_added& m);
  void remove_queue(shard_id shard, const queue_address& queue);
  void take(claim_ended& m);
  void take(const claim_waits& m);
  void take(const frame_arrived& m);

  // In a cluster.

  void take(const coordinator::shard_moved& m);

  void take(const actors::link_up& m) { far_->take(m); }

  void take(const actors::link_down& m) { far_->take(m); }

  void take(const actors::from_link<schema::ClusterMap>& m) { far_->take(m); }

  /// A shard ended the gateway's session. Begins another one, in which enqueues and watches go on;
  /// other open requests fail.
  void misbehaved(const error& reason);
  void run_timers(gateway_tick tick);

private:
  struct question_open {
    std::function<void(const protocol::wire_frame&)> answered;
    std::function<void(const error&)> failed;
    std::uint16_t shard = 0;
    protocol::wire_frame frame{};
    core::origin_ptr origin{};
    /// In a cluster: the connection that it was sent on; null when it was not, or was refused.
    actors::connection_actor sent_to{};
    /// It is for the coordinator at the connection, and for no shard.
    bool is_for_node = false;
    /// How often it was sent to a coordinator that did not answer that another one has the shard.
    std::uint32_t unrefused = 0;
  };

  struct open_claim {
    claim_actor actor;
    timer_list::id timer = 0;
    claim_events events;
  };

  struct open_watch {
    task_id task;
    timer_list::id timer = 0;
  };

  void attach();
  void connect_stats();

  // In a cluster.

  void connect_far();
  /// Ends an enqueue whose shard is not reached and did not get it; false for any other.
  bool withdraw_unreached(const enqueue_ticket& ticket);
  /// Sends a frame of a lease to its shard, which holds the share until it is durable; in a cluster
  /// the receiving session takes a share of its own. Errors: `disconnected` when the shard is not
  /// reached.
  [[nodiscard]] result<void> send_lease(
    shard_id shard,
    const protocol::wire_frame& frame,
    const coordinator::enqueue_share& share = {});
  /// A bounded read of a shard: `start` begins it, or `fail` ends it.
  struct shard_read {
    std::uint16_t shard = 0;
    std::string owner;
    std::function<void()> start;
    std::function<void(const error&)> fail;
  };

  /// Adds a read, once its shard is reached: one that waits for it must not use up a place.
  void add_read(bounded_reads& reads, shard_read read, monotonic_time began);
  /// Asks the question of a read that has a place. The place is free for others once the answer has
  /// come, or has not come in time: `timeout`.
  template <class T, class S>
  void ask_in_time(
    bounded_reads& reads,
    std::uint16_t shard,
    const client::question& question,
    result<client::answered<T>> (*read)(const protocol::frame<S>&),
    const then<T>& done);
  void ask_number(std::uint64_t number);
  void wait_for_shard(std::uint64_t number);
  void fail_question(std::uint64_t number, const error& reason);
  void send_moved(const std::vector<shard_id>& shards);
  void send_again(const std::vector<shard_id>& shards);
  void send_lost(const actors::connection_actor& connection);
  /// Tells the claims which connections lead to these shards.
  void tell_claims(const std::vector<shard_id>& shards);
  /// The same a little later, once for all shards of that time.
  void tell_claims_later(const std::vector<shard_id>& shards);
  /// Tells all claims.
  template <class Message>
  void tell_claims(const Message& m);
  /// Passes what a shard of another coordinator says to its claim.
  void take_claim_news(const protocol::wire_frame& frame);
  /// Gives back the tasks of news of a claim that has ended.
  void give_back_late(const protocol::claim_news& news);
  void add_others(base::coordinator_counts sum, std::function<void(const stats_result&)> done);
  void add_others(worker_sum sum, std::function<void(const workers_result&)> done);
  /// Asks the other coordinators a question; calls `take` with each answer and then `done` with
  /// those that did not answer. `origin`: as for `ask`.
  template <class T, class S>
  void ask_others(
    const client::question& question,
    result<client::answered<T>> (*read)(const protocol::frame<S>&),
    std::function<void(T)> take,
    std::function<void(const actors::missing_answers&)> done,
    const core::origin_ptr& origin = {});

  /// The shards that are neither here nor at another coordinator that is connected and none of the
  /// `silent` ones.
  [[nodiscard]] std::vector<shard_id>
  shards_without(const std::vector<actors::connection_actor>& silent) const;

  /// The first queues of the tenant, by name, at most so many.
  [[nodiscard]] std::vector<queue_address>
  some_queues_of(const std::string& tenant, std::size_t most) const;

  /// Number of the shard where the claim begins.
  [[nodiscard]] std::size_t first_shard_of(const claim_wish& wish, std::uint64_t claim) const;

  [[nodiscard]] core::peer_id next_peer();
  void send_frame(
    std::uint16_t shard,
    const protocol::wire_frame& frame,
    const coordinator::enqueue_share& share = {},
    const core::origin_ptr& origin = {});
  void give_back(const granted_lease& lease, monotonic_time until);
  void give_back_later(const granted_lease& lease, monotonic_time until, const error& why);
  void take_frame(const protocol::wire_frame& frame);
  /// Handles the answer to a frame of a lease; false when it is another one.
  bool take_lease_frame(const protocol::wire_frame& frame);
  void take_enqueued(const protocol::enqueue_reply& reply);
  void ask_ends_again();
  [[nodiscard]] client::store_identity store() const;
  void connect_watches();
  void take_reply(const protocol::wire_frame& frame);
  /// Fails what is open, except enqueues and watches.
  void fail_questions(const error& reason);
  void fail_all(const error& reason);
  void arm();

  /// Leases that wait to be given back again; tenants share them. The others run out.
  static constexpr std::uint64_t give_backs_waiting_max = 10'000;

  gateway_actor::pointer self_ = nullptr;
  desk_options options_;
  core::peer_id peer_ = 0;
  core::peer_id last_peer_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint32_t last_operation_ = 0;
  std::unordered_map<std::uint64_t, question_open> questions_;
  /// The tasks that the answer of a shard to an enqueue shows, while it is handled.
  std::span<const core::task_view> shown_;
  shard_id shown_at_{};
  lease_requests leases_;
  /// The leases that are given back again a little later, by tenant.
  base::fair_share give_backs_{give_backs_waiting_max};
  std::unordered_map<std::uint64_t, open_claim> claims_;
  bounded_reads bodies_{limits::http_bodies_read_max};
  bounded_reads lists_{limits::http_lists_read_max};
  /// For each tenant, the names of its queues, each with the shards that have it.
  std::map<std::string, std::map<std::string, std::set<shard_id>>> queues_;
  std::unordered_map<std::uint64_t, open_watch> watches_;
  coordinator::shared_question<parts_result> parts_;
  coordinator::shared_question<stats_result> stats_;
  coordinator::shared_question<workers_result> workers_;
  std::uint64_t stats_number_ = 0;
  claim_turns turns_;
  /// See `claim_driver_options`.
  std::shared_ptr<observe::line_pace> refusal_lines_ = std::make_shared<observe::line_pace>(1);
  enqueue_desk enqueues_;
  client::watch_list watch_list_;
  bool will_ask_ends_ = false;
  bool will_resume_ = false;
  timer_list timers_;
  /// Empty for a coordinator that is alone.
  std::optional<far_shards> far_;
  /// The shards of which claims are told later.
  std::set<shard_id> untold_;
  /// The shards that other coordinators serve.
  std::set<shard_id> away_;
  std::vector<shard_follower> followers_;
  std::vector<std::function<void()>> loss_followers_;
  std::optional<monotonic_time> armed_;
  /// Number of the tick that `armed_` waits for.
  std::uint64_t last_tick_ = 0;
  bool stopped_ = false;
};

template <class T, class S>
std::uint64_t shard_desk::ask(
  std::uint16_t shard,
  const client::question& question,
  result<client::answered<T>> (*read)(const protocol::frame<S>&),
  then<T> done,
  const core::origin_ptr& origin) {
  if (stopped_) {
    done(error{errc::going_away, "the coordinator is stopping"});
    return 0;
  }
  auto number = ++last_number_;
  auto answered = [read, done](const protocol::wire_frame& wire) {
    auto frame = protocol::frame<S>::parse(wire.body);
    if (!frame)
      return done(frame.error());
    auto told = read(*frame);
    if (told)
      done(std::move(told->answer));
    else
      done(told.error());
  };
  questions_.emplace(
    number, question_open{std::move(answered), done, shard, question(number), origin});
  ask_number(number);
  return number;
}

/// The error for a request that may have been executed where its shard was before.
[[nodiscard]] error moved_away();

/// Adds the time of the task's last change, if its history is still there.
void add_last_change(shard_desk& desk, task_detail task, std::function<void(task_detail)> done);

} // namespace codeq::http
