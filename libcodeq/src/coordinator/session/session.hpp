// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "base/coordinator_counts.hpp"
#include "base/tuning.hpp"
#include "coordinator/session/claim_places.hpp"
#include "coordinator/session/claim_router.hpp"
#include "coordinator/session/claim_wire.hpp"
#include "coordinator/session/delivery_window.hpp"
#include "coordinator/session/map_source.hpp"
#include "coordinator/session/result_backlog.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "protocol/convert.hpp"
#include "protocol/operator_convert.hpp"
#include "security/principal.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

struct session_options {
  core::peer_id peer = 0;
  /// Null for producers and operators.
  std::shared_ptr<const worker_identity> worker{};
  /// Null in a single-user setup.
  std::shared_ptr<const security::principal> bearer{};
  std::size_t shard_count = 1;
  /// Address of the peer.
  std::string remote{};
  /// Maximum bytes of tasks, and of results, that wait for the connection.
  std::uint64_t delivery_bytes_max = tuning::delivery_bytes_waiting_max;
  std::uint64_t result_bytes_max = tuning::result_bytes_waiting_max;
  /// Null when this coordinator serves all shards.
  std::shared_ptr<const map_source> places{};
  /// `changes()` of the map that the peer was told with its acknowledgement.
  std::uint64_t map_changes = 0;
  /// The peer is the gateway of another coordinator, which says for whom it acts. What it does by
  /// itself is not audited.
  bool is_gateway = false;
};

/// Why a session requested a wake-up.
enum class session_wake : std::uint8_t {
  /// Credits are held back by the token's rate.
  held_credits,
  /// The connection is filling up with tasks.
  full_window,
  /// Tasks may have waited for too long.
  late_tasks,
  /// Results wait for the connection.
  waiting_results,
  /// The connection keeps a part of its tenant's share of unread bytes.
  unread_bytes,
};

/// Bytes of a connection since its session began.
struct outgoing_bytes {
  /// Passed to the connection.
  std::uint64_t sent = 0;
  /// Accepted by its socket, in the order in which they were passed.
  std::uint64_t written = 0;

  [[nodiscard]] std::uint64_t waiting() const { return sent - written; }
};

/// The outcome of a drain of a worker, or of the end of one.
enum class drain_outcome : std::uint8_t {
  /// No such worker is known here.
  unknown,
  unchanged,
  changed,
};

/// The tenant in front of a worker's name; empty without tokens.
[[nodiscard]] std::string tenant_of_worker(const std::string& name);

/// The session's interface to its driver. Calls return before they call the session back.
class session_port {
public:
  virtual ~session_port() = default;

  /// Passes a request of the peer to a shard.
  virtual void ask_shard(shard_id to, peer_request request) = 0;

  /// Sends a shard a command on the peer's behalf.
  virtual void command_shard(shard_id to, core::command command) = 0;

  /// Sends the peer a frame.
  virtual void send(const protocol::wire_frame& frame) = 0;

  /// Closes the connection after the frames sent before.
  virtual void close(const error& reason) = 0;

  /// Requests the sum of the counts of all shards, which must not be older than this call; answered
  /// by `tell_stats`, or by `tell_workers` when the leases of workers are wanted, too. Each of the
  /// two is requested again only after it was answered.
  virtual void gather_stats(bool with_leases) = 0;

  /// Requests the state of the cluster, after a change if there is one, which the audit log has as
  /// one of `by` once it is stored; answered by `tell_cluster`. Only called in a cluster.
  virtual void ask_cluster(
    std::uint64_t number, const cluster_change& change, const core::origin_ptr& by) = 0;

  /// Requests a call of `wake` after `wait`.
  virtual void wake_after(duration wait, session_wake what) = 0;

  [[nodiscard]] virtual outgoing_bytes outgoing() const = 0;

  /// Keeps `bytes` of the tenant's share of unread bytes for this connection, in place of those
  /// kept before. Errors: `overloaded` when the share is used up; then as many as before are kept.
  [[nodiscard]] virtual result<void> keep_unread(std::uint64_t bytes) = 0;

  /// How long the bearer of a token has to wait before it may use `cost`; zero: not at all.
  [[nodiscard]] virtual duration
  take_rate(const security::principal& bearer, security::rate_scope scope, std::uint64_t cost) = 0;

  /// Shard time.
  [[nodiscard]] virtual timestamp now() = 0;

  /// The metrics of the whole process, by name.
  [[nodiscard]] virtual std::map<std::string, std::int64_t> gauges() const = 0;

  /// Does what is wished and returns the status of the latest backup.
  [[nodiscard]] virtual result<backup_status> back_up(const backup_wish& wish) = 0;

  /// Changes the level of the log, or only reads it when `level` is empty; returns the one in
  /// force. Errors: `invalid_argument`.
  [[nodiscard]] virtual result<std::string> set_log_level(const std::string& level) = 0;

  /// Drains a worker, or takes it back. Errors: `unsupported`.
  [[nodiscard]] virtual result<drain_outcome>
  drain_worker(const std::string& name, bool is_drained) = 0;

  /// Sets `is_draining` of the drained workers.
  virtual void mark_drained(std::vector<base::worker_counts>& workers) const = 0;

  /// The backups that exist.
  [[nodiscard]] virtual result<std::vector<backup_info>> list_backups() const = 0;

  // For gateways of other coordinators.

  /// Passes a step of a claim to its proxy, which the first step creates. `claim_ended` is called
  /// when the proxy has ended.
  virtual void pass_claim(const claim_place& place, const claim_step& step) {
    static_cast<void>(place);
    static_cast<void>(step);
  }

  /// Lets the proxy of a claim keep the credits from its shard, or give them to it again.
  virtual void hold_claim(const claim_place& place, bool is_held) {
    static_cast<void>(place);
    static_cast<void>(is_held);
  }

  // For the log.

  /// A request met a limit. `name` is one of `observe::counted_limits`; `max` is 0 when it is the
  /// token's.
  virtual void note_limit(std::string_view name, std::uint64_t max) = 0;
  virtual void note_goodbye() = 0;
  virtual void note_refused(const error& reason) = 0;
};

/// A connected node: checks which shard a message is for, owns the worker's credits, bounds a
/// producer's requests in flight, and writes the shards' replies into frames. Uses no actor, clock
/// or socket: its driver calls it from one thread.
class session {
public:
  /// @pre `port` outlives the session
  session(session_options options, session_port& port);

  /// Handles a message of the peer. One that is stored holds its share until it is durable or
  /// refused.
  void take(const protocol::session_request& request, enqueue_share share = nullptr);

  /// Sends the refusal of a message for which there is no share.
  void take(const request_without_share& m);

  // Messages of shards and the reader.

  void take(const shard_reply& m);
  void take(const task_delivery& m);
  void take(const credit_news& m);

  // In a cluster.

  /// A shard is served here from now on.
  void shard_came(shard_id shard);

  /// The map has changed: tells the peer what has.
  void map_changed();

  /// A shard is not served here any more. Its unanswered requests are void: the peer sends them
  /// again where the shard is now.
  void shard_left(shard_id shard);

  /// Answers the `StatsRequest`s for which the counts were requested.
  void tell_stats(const result<base::coordinator_counts>& counts);

  /// The same for `WorkersRequest`s.
  void tell_workers(const result<base::coordinator_counts>& counts);

  /// Answers the `ClusterRequest` of that number.
  void tell_cluster(std::uint64_t number, const result<cluster_status>& told);

  /// A claim of the peer has no place at a shard any more.
  void claim_ended(const claim_place& place);

  /// The connection has too many unread bytes, or no longer.
  void set_pressure(bool high);

  /// An operator has drained the worker, or has taken it back.
  void set_drained(bool is_drained);

  /// A requested wake-up is due.
  void wake(session_wake what);

  /// The peer violated the protocol: sends it the reason and closes the connection.
  void refuse(const error& reason);

  /// Sends the peer the reason and closes the connection.
  void end(const error& reason);

private:
  void take_request(const protocol::enqueue_request& m);

  void take_request(const protocol::claim_request& m);

  void take_request(const protocol::heartbeat_request& m);

  void take_request(const protocol::result_request& m) { forward(m); }

  void take_request(const protocol::resume_request& m);

  void take_request(const protocol::await_request& m) { forward(m); }

  void take_request(const protocol::stats_request& m);
  void take_request(const protocol::workers_request& m);
  void take_request(const protocol::backup_request& m);
  void take_request(const protocol::log_level_request& m);
  void take_request(const protocol::cluster_request& m);
  void take_request(const protocol::acting_for& m);
  void take_request(const protocol::claim_at& m);
  void take_request(const protocol::shard_epochs& m);
  void take_request(const protocol::goodbye& m);

  /// Counts an attachment of a claim. Errors: `not_owner`, `overloaded`, `unsupported`,
  /// `protocol_error`.
  [[nodiscard]] result<void> admit(const claim_place& place, const claim_attached& claim);

  /// Holds the claim while the connection has too many unread bytes or its tenant has too many
  /// ended claims at the shard, and lets it go on otherwise.
  void hold_claim_if_due(const claim_place& place, bool was_held);

  // session_counts.cpp: counts of queues and workers.

  /// Requests of one kind for counts, by number.
  struct count_requests {
    /// The numbers that are answered with the counts under way.
    std::vector<std::uint64_t> asked;
    /// The numbers that came later. They are answered with the next counts.
    std::vector<std::uint64_t> waiting;

    [[nodiscard]] std::size_t size() const { return asked.size() + waiting.size(); }
  };

  /// Asks for counts on behalf of an admin.
  template <class S>
  void ask_for_counts(const protocol::frame<S>& m, bool with_leases);

  /// Whether one more request for counts may wait. Errors: `overloaded`.
  [[nodiscard]] result<void> check_room(const count_requests& open);

  /// Requests counts for the requests that wait, unless some were requested and not told yet.
  void gather_counts(count_requests& open, bool with_leases);

  /// The part of the counts that the bearer may see.
  [[nodiscard]] base::coordinator_counts visible_part(const base::coordinator_counts& all) const;

  /// Answers the `StatsRequest` of that number.
  void answer_stats(std::uint64_t number, const result<base::coordinator_counts>& counts);

  /// Answers the `WorkersRequest` of that number.
  void
  answer_workers(std::uint64_t number, const result<std::vector<base::worker_counts>>& workers);

  /// Drains a worker or takes it back. Errors: `unauthorized`, `overloaded`, `unsupported`.
  [[nodiscard]] result<std::vector<base::worker_counts>>
  drain_worker(const protocol::workers_wish& wish);

  /// Enters it in the audit log, on a shard that is here, if there is one.
  void note_drain(const protocol::workers_wish& wish);

  /// Sends the answer to a request without effects, or its refusal.
  template <class S, class Reply>
  void send_counts(std::uint64_t number, const Reply& reply);

  /// Passes an operator's request to its shard, or to the shard of its task.
  template <class S>
  void take_request(const protocol::frame<S>& m);

  /// Whether the bearer may see the state of the cluster, or change it. Errors: `unauthorized`,
  /// `unsupported`, `overloaded`.
  [[nodiscard]] result<void> allow_cluster(const cluster_change& change);

  /// Where a command of the peer comes from. Requests with the same `operation`, unless it is 0,
  /// are parts of one command.
  [[nodiscard]] core::origin_ptr origin_of(std::uint64_t operation);

  /// Passes a message to the shard that it names.
  template <class S>
  void forward(const protocol::frame<S>& m);

  /// Whether this coordinator serves the shard now.
  [[nodiscard]] bool is_here(shard_id shard) const;
  /// Whether the peer sends for an earlier epoch of the shard than that in which it is served here.
  [[nodiscard]] bool is_late(shard_id shard) const;
  /// Whether a shard of a cluster takes the worker's leases now. `epoch`: the one that the worker
  /// knows, 0 for none.
  [[nodiscard]] bool resumes_now(shard_id shard, replication::epoch_number epoch);

  /// Tells the peer that the shard is not here, and the places that it was not told yet.
  void tell_places(shard_id shard);

  /// Tells a peer that was told otherwise that the shard is here, so that it asks at once.
  void tell_arrival(shard_id shard);

  /// The places that the peer was not told yet; they count as told.
  [[nodiscard]] cluster::map_news take_news();

  /// Keeps credits from shards that are not here.
  void find_places();

  void carry_out(const claim_router::moves& moves);

  /// Returns unused credits to the worker, which has slots on several coordinators.
  void take_back(std::uint32_t credits);

  /// Tells the worker of a cluster which credits have come back, and whether tasks wait for some.
  void tell_credits();

  /// Gives credits to a shard, and the room for bytes that it is owed.
  void claim_at(shard_id shard, std::uint32_t credits);

  /// Whether the worker is connected to the coordinators of all shards.
  void set_reach(bool reaches_all);

  /// Places credits that were held back, as far as the token's rate allows.
  void place_held_credits();

  /// Returns freed room to the shards that need it.
  void return_room();

  /// Sends heartbeats for tasks that the socket does not accept, marked as not started: their
  /// leases then end uncharged.
  void beat_for_late_tasks();

  void wake_later(session_wake what, duration wait);

  void write(shard_id shard, const protocol::peer_reply& reply);

  // Bytes that the peer has not read.

  /// Sends what cannot be refused. Closes the connection instead when it has many unread bytes and
  /// its tenant's share is used up.
  void write_in_any_case(const protocol::wire_frame& frame);

  /// Takes the tenant's share for the bytes that the peer has not read and for `more` bytes.
  /// Errors: `overloaded`.
  [[nodiscard]] result<void> take_unread(std::uint64_t more);

  /// The same for an answer of that size. Errors: `overloaded`, also when this connection alone has
  /// too many unread bytes.
  [[nodiscard]] result<void> take_answer(std::uint64_t bytes);

  /// Gives back what the peer has read.
  void give_back_unread();

  /// Pauses claims for a peer that reads slowly or takes no more tasks, or resumes them.
  void pause_claims();

  // Results of awaited tasks.

  void tell(shard_id shard, const protocol::tasks_told& told);
  void ask_for_results();

  /// The number of bytes of these results that may be sent now.
  [[nodiscard]] std::uint64_t room_for_results(const protocol::tasks_told& told);

  /// From now on the worker claims from these queues.
  void take_from(protocol::claim_wish wish);

  /// Takes all credits back, permanently.
  void drain();
  /// Records where the producer's session is used.
  void note_producer(const producer_id& producer, shard_id shard);
  /// Lets the shards forget the producer session that the goodbye names. Does nothing unless it is
  /// the one of this connection and all of its requests have been answered.
  void end_producer_session(const protocol::goodbye& m);

  /// Whether a request of that size may go to the shard. The shards of a cluster share the bytes of
  /// unanswered requests as `base::shared_places` says, so that one that waits for its other copies
  /// leaves as many free as it has; each may have one request in any case. Errors: `overloaded`.
  [[nodiscard]] result<void> check_inflight(shard_id shard, std::size_t bytes) const;

  void refuse_enqueue(std::uint64_t number, const error& reason, duration retry_after);

  /// How long the bearer has to wait before it may use `cost`; zero: not at all.
  [[nodiscard]] duration take_rate(security::rate_scope scope, std::uint64_t cost);

  /// Notes that the bearer met its rate.
  void note_rate(security::rate_scope scope);

  /// Counts an operator's request. Errors: `overloaded`.
  [[nodiscard]] result<void> count_request();

  template <class F>
  void for_each_shard(F&& fn) const {
    for (std::size_t i = 0; i < options_.shard_count; ++i)
      fn(static_cast<shard_id>(i));
  }

  session_options options_;
  session_port& port_;
  claim_router router_;
  delivery_window window_;
  result_backlog results_;
  /// Wake-ups that were requested and are not due yet.
  std::set<session_wake> wakes_;
  duration lease_wish_{0};
  bool reaches_all_ = false;
  std::uint32_t batch_tasks_ = 0;
  /// The worker takes no more tasks.
  bool draining_ = false;
  bool high_pressure_ = false;
  /// An operator has drained it.
  bool is_drained_ = false;
  /// The tenant's share of unread bytes is used up.
  bool over_share_ = false;
  /// The connection was closed because of that.
  bool is_over_ = false;
  /// The peer was told why the connection closes.
  bool has_ended_ = false;
  /// How often the worker has resumed at each shard since it was here.
  std::map<shard_id, unsigned> resumes_;
  /// The epochs of shards in which the peer sends to their places, as far as it names them.
  std::map<shard_id, replication::epoch_number> epochs_;
  /// The peer asked for them in vain.
  std::set<shard_id> told_not_here_;
  /// Credits beyond the token's rate.
  std::uint32_t held_credits_ = 0;
  /// Those of them that the worker has asked for.
  std::uint32_t returned_credits_ = 0;
  /// The worker has asked for credits, and not all that come back have.
  bool is_asked_back_ = false;
  /// The worker was told that tasks wait here.
  bool wants_credits_ = false;

  /// The latest commands with several parts, by the peer's numbers, oldest first.
  std::deque<std::pair<std::uint64_t, core::origin_ptr>> operations_;
  std::uint32_t last_operation_ = 0;
  /// Who has asked the peer, which is a gateway, for its next change.
  std::optional<core::command_origin> acting_for_;

  /// The share of the message that is being handled.
  enqueue_share share_;
  count_requests stats_requests_;
  count_requests workers_requests_;

  /// The claims of the peer, which is a gateway.
  claim_places claims_;

  // A producer's unanswered requests.
  struct waiting_enqueue {
    shard_id shard{};
    std::size_t bytes = 0;
  };

  std::unordered_multimap<std::uint64_t, waiting_enqueue> enqueue_bytes_;
  std::size_t inflight_bytes_ = 0;
  std::map<shard_id, std::size_t> inflight_bytes_at_;
  /// The session of the latest request, and the shards that it was used at.
  producer_id producer_{};
  std::set<shard_id> producer_shards_;
};

} // namespace codeq::coordinator
