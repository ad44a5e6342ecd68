// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/producer.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "client/shard_way.hpp"
#include "protocol/messages.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace codeq::client {

/// The tasks whose end is awaited. A coordinator remembers them only as long as a connection, so
/// all are requested again after each reconnect. Owned by the producer actor and used from its
/// thread; uses neither clock nor network.
class watch_list {
public:
  /// Number of tasks that `ask_again` requests at once. Each one that the coordinator has no room
  /// for costs both of them a few microseconds.
  static constexpr std::size_t asked_again_max = 8192;

  /// Receives the outcome of one task. Must not block.
  using ended_function = std::function<void(result<ended_task>)>;
  /// Receives progress of a task. Must not block; empty: progress is not requested.
  using progressed_function = std::function<void(const task_progress&)>;
  using send_function = std::function<void(const protocol::await_request&)>;
  using way = shard_way<protocol::await_request>;

  /// A connection is up: requests all tasks again. Ids of another store are unknown there, so their
  /// waits end with `session_expired`.
  void connect(send_function send, store_identity store);

  /// The same for the coordinators of a cluster; tasks of shards that are not reached are requested
  /// by `resend`.
  void connect(way to, store_identity store);

  /// The shards have another coordinator, or a new connection to it: requests their tasks again.
  /// `shards` ascends.
  void resend(std::span<const shard_id> shards);

  /// The connection is lost; nothing is sent until the next `connect`.
  void disconnect();

  /// Calls `ended` when each of `tasks` ends. `watch` identifies the call, for `remove`.
  void add(
    std::uint64_t watch,
    const std::vector<task_id>& tasks,
    ended_function ended,
    progressed_function progressed = {});

  /// Cancels the `add` call with that id. The coordinator forgets the tasks that nobody awaits any
  /// more.
  void remove(std::uint64_t watch, const std::vector<task_id>& tasks);

  /// Handles ended tasks and progress. Errors: `protocol_error`.
  [[nodiscard]] result<void> accept(const protocol::tasks_ended& ended);

  /// True when tasks wait for `ask_again`: the coordinator was overloaded when it was asked.
  [[nodiscard]] bool wants_to_ask_again() const noexcept { return !put_off_.empty(); }

  /// Requests those of them again that are still awaited, at most `asked_again_max` at once.
  void ask_again();

  /// Ends every wait with `reason`.
  void fail_all(const error& reason);

  /// Number of awaited tasks; linear time.
  [[nodiscard]] std::size_t size() const;

private:
  struct watcher {
    std::uint64_t watch = 0;
    std::shared_ptr<ended_function> ended;
    /// Null: progress is not requested.
    std::shared_ptr<progressed_function> progressed;
  };

  /// Keyed by task; nearly every task has a single watcher.
  using watcher_map = std::unordered_multimap<task_id, watcher>;

  /// What the coordinator is asked to tell of tasks.
  enum class interest { ends, ends_and_progress, nothing };

  [[nodiscard]] static bool
  wants_progress(watcher_map::const_iterator begin, watcher_map::const_iterator end);

  /// Builds one message; `tasks` are sorted and belong to one shard.
  [[nodiscard]] static protocol::await_request
  request_for(std::span<const task_id> tasks, interest in);
  void ask(std::vector<task_id> tasks, interest in);
  /// Requests the tasks for which `is_meant` returns true.
  void ask_for(const std::function<bool(task_id)>& is_meant);
  void tell(const task_progress& progress);
  void finish(task_id task, const result<ended_task>& how);

  watcher_map watched_;
  /// Tasks for which the coordinator had no room, in the order of its refusals.
  std::deque<task_id> put_off_;
  way way_;
  std::optional<store_identity> store_;
};

} // namespace codeq::client
