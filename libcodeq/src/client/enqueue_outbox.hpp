// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/producer.hpp"
#include "codeq/result.hpp"

#include "client/request_window.hpp"
#include "client/store_identity.hpp"
#include "protocol/messages.hpp"
#include "protocol/task_convert.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::client {

/// The enqueue requests of a producer, from submission until their answer. Keeps each under its
/// number and shard and says it again after a reconnect, so that the coordinator recognises it.
/// What was submitted at once is one request, or, when keys or groups say which shards own its
/// tasks, one request per shard; it is answered when all of them are.
/// Owned by the producer actor and used from its thread; neither clock nor network.
class enqueue_outbox {
public:
  using tasks_ptr = std::shared_ptr<const protocol::encoded_tasks>;
  /// Learns what became of each task. Errors of the whole: tasks that may go to any shard were
  /// refused, none of them was added. Must not block.
  using done_function = std::function<void(result<enqueue_answers>)>;
  using send_function = std::function<void(const protocol::enqueue_request&)>;

  struct options {
    std::size_t in_flight_max = limits::producer_window_requests_default;
    /// Names a new session; at the first connection, and when the coordinator has forgotten it.
    std::function<producer_id()> new_session;
    /// Of the requests; several outboxes that share a connection have ranges of their own.
    std::uint64_t first_number = 1;
  };

  explicit enqueue_outbox(options opts);

  /// A connection is up: sends all unanswered requests again, in order, then what waits. When the
  /// store is another one than before, those that were sent end with `session_expired`, because
  /// nobody there can tell whether they were executed.
  void connect(send_function send, store_identity store);

  /// The connection is gone; nothing is sent until the next `connect`.
  void disconnect();

  /// Sends now when connected and the window has room, else later. Returns a name for `give_up`,
  /// never 0.
  std::uint64_t submit(tasks_ptr tasks, done_function done);

  /// Ends what was submitted under that name with `reason` and frees its place in the window; does
  /// nothing when it has ended. What was sent may still be executed; its answer is ignored.
  void give_up(std::uint64_t submission, const error& reason);

  /// A request to send again, after a pause, by `retry_due`.
  struct retry {
    std::uint64_t number = 0;
    duration pause{0};
  };

  /// Takes an answer. Returns a retry when the coordinator asked for one. Errors:
  /// `protocol_error` for an answer that does not fit its request; the request stays open.
  [[nodiscard]] result<std::optional<retry>> accept(const protocol::enqueue_reply& reply);

  /// The pause of a retry is over.
  void retry_due(std::uint64_t number);

  /// Ends every request with `reason`.
  void fail_all(const error& reason);

private:
  /// What was submitted at once.
  struct submission {
    std::uint64_t name = 0;
    tasks_ptr tasks;
    done_function done;
    enqueue_answers answers{};
    /// Tasks that are not answered yet.
    std::size_t missing = 0;
  };

  /// Tasks of a submission that go to one shard; all of them until the shards are known.
  struct request {
    std::shared_ptr<submission> of;
    protocol::encoded_tasks::run_numbers runs{};
    shard_id shard{};
    /// Empty before the first send.
    std::optional<protocol::enqueue_request> frame{};
    /// The session that the frame names.
    producer_id session{};
    /// Said more than once, so that an earlier copy may have been executed.
    bool repeated = false;
    bool pausing = false;
    /// Was already moved to a new session once.
    bool renewed = false;
  };

  struct answer;

  [[nodiscard]] static result<answer> read(const protocol::enqueue_reply& reply);
  static void finish(const request& one, const answer& from);
  static void fail(const request& one, const error& reason);
  [[nodiscard]] result<std::optional<retry>> settle(request& open, answer& from);
  void send_waiting();
  [[nodiscard]] request take_part(request whole);
  void open(request fresh);
  [[nodiscard]] bool renew(request& refused, errc code);
  void expire_sent();

  options options_;
  /// Of all requests from now on; named at the first connection.
  producer_id session_{};
  request_window<request> window_;
  std::deque<request> waiting_;
  std::uint64_t last_submission_ = 0;
  send_function send_;
  std::optional<store_identity> store_;
};

} // namespace codeq::client
