// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/producer.hpp"
#include "codeq/result.hpp"

#include "client/request_window.hpp"
#include "client/shard_way.hpp"
#include "protocol/messages.hpp"
#include "protocol/task_convert.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace codeq::client {

/// The enqueue requests of a producer, from submission to answer. Each request keeps its number and
/// its shard and is resent after a reconnect, so that the coordinator recognises the repeat. A
/// submission becomes one request; or, if keys or groups determine the shards of its tasks, one
/// request per shard, and it is answered when all of them are. Owned by the producer actor and used
/// from its thread; uses neither clock nor network.
///
/// The shards of a cluster share the window as `base::shared_places` says, and each may have one
/// request in any case: a shard that does not answer, because it waits for its other copies, holds
/// up the requests for itself and no others.
class enqueue_outbox {
public:
  using tasks_ptr = std::shared_ptr<const protocol::encoded_tasks>;
  /// Receives the outcome of each task. An error of the whole: the tasks that may go to any shard
  /// were refused, and none was added. Must not block.
  using done_function = std::function<void(result<enqueue_answers>)>;
  using send_function = std::function<void(const protocol::enqueue_request&)>;
  using way = shard_way<protocol::enqueue_request>;

  struct options {
    std::size_t in_flight_max = limits::producer_window_requests_default;
    /// Creates the id of a new session; called at the first connection, and when the coordinator
    /// has forgotten the session.
    std::function<producer_id()> new_session;
    /// First request number. Several outboxes that share a connection use different ranges.
    std::uint64_t first_number = 1;
  };

  explicit enqueue_outbox(options opts);

  /// A connection is up: resends all unanswered requests in order, then sends those that wait. If
  /// the store is another one than before, requests that were sent end with `session_expired`,
  /// because it is unknown whether the other store executed them.
  void connect(send_function send, store_identity store);

  /// The same for the coordinators of a cluster. A request whose shard is not reached waits for
  /// `resend`; one without keys and groups goes to a shard that is reached and has room in the
  /// window, which is chosen once.
  void connect(way to, store_identity store);

  /// The shards have another coordinator, or a new connection to it: resends their unanswered
  /// requests in order, then sends those that wait.
  void resend(std::span<const shard_id> shards);

  /// The connection is lost; nothing is sent until the next `connect`.
  void disconnect();

  /// Sends the tasks now if the connection is up and the window has room, otherwise later. Returns
  /// an id for `give_up`, never 0.
  std::uint64_t submit(tasks_ptr tasks, done_function done);

  /// Ends the submission with that id with `reason` and frees its place in the window; does nothing
  /// when it has ended. Requests that were sent may still be executed; their answers are ignored.
  void give_up(std::uint64_t submission, const error& reason);

  /// Ends the submission with `reason` if none of its requests was sent; then none of its tasks
  /// will be added. Returns false when a request was sent, or when the submission has ended.
  bool withdraw(const tasks_ptr& tasks, const error& reason);

  /// The same by the id for `give_up`.
  bool withdraw(std::uint64_t submission, const error& reason);

  /// In a cluster: the first shard that is not reached and that a request with some of these tasks
  /// waits for; null: any request. None: all of them are reached.
  [[nodiscard]] std::optional<shard_id> unreached_shard(const tasks_ptr& tasks = nullptr) const;

  /// A request to be resent after a pause, by `retry_due`.
  struct retry {
    std::uint64_t number = 0;
    duration pause{0};
  };

  /// Handles an answer. Returns a retry when the coordinator requested one. Errors:
  /// `protocol_error` for an answer that does not fit its request; the request stays open.
  [[nodiscard]] result<std::optional<retry>> accept(const protocol::enqueue_reply& reply);

  /// The pause of a retry is over.
  void retry_due(std::uint64_t number);

  /// Ends every request with `reason`, and says whether it was sent.
  void fail_all(const error& reason);

  /// The session, if the coordinator can forget it once no more requests are submitted: all of its
  /// requests were sent on this connection only and have been answered. Otherwise zero, because a
  /// copy of a request may still arrive and would be executed again under a new session.
  [[nodiscard]] producer_id finished_session() const;

private:
  /// Tasks that were submitted together.
  struct submission {
    std::uint64_t name = 0;
    tasks_ptr tasks;
    done_function done;
    /// The outcome of each task, once it is known.
    std::vector<std::optional<result<enqueued_task>>> answers{};
    /// Number of tasks that are not answered yet.
    std::size_t missing = 0;
    /// A request with some of its tasks was sent.
    bool is_sent = false;
  };

  /// Tasks of a submission that go to one shard; all of its tasks until the shards are known.
  struct request {
    std::shared_ptr<submission> of;
    protocol::encoded_tasks::run_numbers runs{};
    shard_id shard{};
    /// Empty before the first send.
    std::optional<protocol::enqueue_request> frame{};
    /// The session named in the frame.
    producer_id session{};
    /// Sent more than once, so that an earlier copy may have been executed.
    bool repeated = false;
    bool pausing = false;
    /// It was already moved to a new session once.
    bool renewed = false;
  };

  struct answer;

  using is_meant_function = std::function<bool(const submission&)>;

  /// Ends the submission that is meant, unless a request of it was sent.
  bool withdraw_if(const is_meant_function& is_meant, const error& reason);

  [[nodiscard]] static result<answer> read(const protocol::enqueue_reply& reply);
  static void finish(const request& one, const answer& from);
  static void fail(const request& one, const error& reason);

  /// Counts `tasks` more tasks as answered. Passes the outcomes on when all tasks are answered.
  static void note_answered(submission& of, std::size_t tasks);
  [[nodiscard]] result<std::optional<retry>> settle(request& open, answer& from);
  void connect_store(way to, store_identity store);
  void send(const request& one);
  void send_again(request& one);
  /// Sends parked requests for which there is room now, then those that wait.
  void send_next();
  /// The same for parked requests whose shards may be reached now.
  void send_parked();
  void send_waiting();
  [[nodiscard]] bool is_in_cluster() const { return !open_at_.empty(); }
  /// In a cluster, whether the window has room for one more request for the shard.
  [[nodiscard]] bool has_room_for(shard_id shard) const;
  /// In a cluster, whether the next request for the shard can be sent at once.
  [[nodiscard]] bool takes_at_once(shard_id shard) const;
  /// In a cluster, the number of requests that are before the next one for the shard.
  [[nodiscard]] std::size_t load_of(shard_id shard) const;
  /// All requests with smaller numbers that went to the shard have been answered.
  [[nodiscard]] std::uint64_t answered_below(shard_id shard) const;
  /// The shard of the next request without keys and groups.
  [[nodiscard]] shard_id choose_shard() const;
  [[nodiscard]] request take_part(request whole);
  [[nodiscard]] std::optional<request> close(std::uint64_t number);
  void open(request fresh);
  [[nodiscard]] bool renew(request& refused, errc code);
  void expire_sent();
  void begin_session();

  options options_;
  /// Session of all requests from now on; created at the first connection.
  producer_id session_{};
  /// A request of the session was sent.
  bool is_session_used_ = false;
  /// A copy of a request of the session may arrive after its answer.
  bool has_late_copies_ = false;
  request_window<request> window_;
  std::deque<request> waiting_;
  /// In a cluster, those whose shard is not reached or has no room in the window. No line is empty.
  std::map<shard_id, std::deque<request>> parked_;
  /// By shard: the numbers of its unanswered requests. Empty without a cluster.
  std::vector<std::set<std::uint64_t>> open_at_;
  std::uint64_t last_submission_ = 0;
  way way_;
  std::optional<store_identity> store_;
};

} // namespace codeq::client
