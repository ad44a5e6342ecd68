// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/session.hpp"
#include "core/state/shard_state.hpp"
#include "worker/node/dispatcher.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {

/// A worker, the coordinators of its cluster and their shards, in one thread under virtual time.
class routed_worker final : public worker::dispatcher_port {
public:
  struct options {
    std::uint64_t seed = 0;
    /// 0: one coordinator that is alone.
    std::size_t nodes = 3;
    std::uint16_t shards = 6;
    std::size_t slots = 4;
    std::size_t prefetch = 0;
    /// Run time of each handler.
    duration run_min{5};
    duration run_max{20};
  };

  explicit routed_worker(const options& opts);
  ~routed_worker() override;

  /// Adds ready tasks to a shard.
  void enqueue(std::uint16_t shard, std::uint32_t tasks);

  /// Lets a shard leave its coordinator, and come to another after `gap`.
  void move(std::uint16_t shard, std::size_t to_node, duration gap);

  /// Breaks the worker's connection to a coordinator.
  void cut(std::size_t node);

  enum class direction { to_coordinator, to_worker };

  /// The network holds up what is sent in one direction between the worker and a coordinator, as
  /// TCP does while it waits before it sends again.
  void hold_up(std::size_t node, direction way, duration time);

  /// Lets time pass; checks the slots after each millisecond if `watches_slots`.
  void run_for(duration time, bool watches_slots);

  /// The longest time for which a slot was idle while a task was ready.
  [[nodiscard]] duration longest_idle() const { return longest_idle_; }

  /// The most tasks that the worker held at once.
  [[nodiscard]] std::size_t most_held() const { return most_held_; }

  [[nodiscard]] std::size_t enqueued() const { return enqueued_; }

  /// The accepted completions; a task that was accepted twice is counted twice.
  [[nodiscard]] std::size_t completed() const { return completed_; }

  /// Number of attempts that the worker started again.
  [[nodiscard]] std::size_t doubled() const { return doubled_; }

  /// The state of worker and shards, for failures.
  [[nodiscard]] std::string describe() const;

  /// Frames that coordinators sent of a type.
  template <class S>
  [[nodiscard]] std::size_t frames_of() const {
    auto at = frames_.find(protocol::frame_type<S>);
    return at == frames_.end() ? 0 : at->second;
  }

  void to_link(std::size_t link, const protocol::wire_frame& frame) override;
  void break_link(std::size_t link, const error& reason) override;
  void open_link(std::size_t link, const std::string& coordinator) override;
  void close_link(std::size_t link, const error& reason) override;
  worker::handler_number start_handler(const std::string&, const std::string&) override;
  void run(worker::handler_number handler, task&& attempt) override;

  void run_batch(worker::handler_number, std::vector<task>) override {}

  void stop_handler(worker::handler_number) override {}

  void flush_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;

  void ended(result<void>) override {}

  void note_connected(std::size_t, std::size_t) override {}

  void note_no_patterns(std::size_t) override {}

  void note_settings(std::size_t, std::size_t, std::size_t) override {}

  void note_unhandled(const task&) override {}

  void note_handler_end(fencing_token, const std::string&) override {}

  void note_failed(const worker::failed_attempt&) override {}

  void note_lost(const task_id&, fencing_token) override {}

  void note_refused(const worker::report_answer&) override {}

  void note_over(const task_id&, fencing_token) override {}

  void note_drain(std::size_t, duration) override {}

  void note_abandoned(const task_id&, fencing_token) override {}

  void note_awaits_answers(std::size_t, duration) override {}

  void note_unanswered(std::size_t) override {}

private:
  class node_places;
  class peer_session;

  struct shard {
    explicit shard(std::uint16_t number) : state(shard_id{number}, 1) {}

    core::shard_state state;
    /// The coordinator that serves it; none while it moves.
    std::optional<std::size_t> node;
    std::uint64_t version = 0;
    /// Number of tasks that no worker has.
    std::int64_t ready = 0;
    std::set<peer_session*> peers;
  };

  struct node {
    std::unique_ptr<node_places> places;
    /// The worker's session.
    std::unique_ptr<peer_session> session;
  };

  struct connection {
    std::size_t node = 0;
    bool is_closed = false;
  };

  [[nodiscard]] instant now() const;
  [[nodiscard]] std::size_t below(std::size_t end);
  void after(duration wait, std::function<void()> what);
  void connect(std::size_t link);
  void accept(std::size_t link);
  void lose(std::size_t link);
  void decide(std::uint16_t shard, const core::command& command);
  void carry_out(std::uint16_t shard, core::effect& effect);
  /// The answer to a heartbeat.
  [[nodiscard]] protocol::leases_extended extended(
    std::uint16_t shard, std::uint64_t number, const std::vector<core::lease_beat>& beats);
  void grant(std::uint16_t shard, core::tasks_granted& granted, peer_session& to);
  void attach(std::uint16_t shard, peer_session& peer);
  void learn(std::size_t node, std::uint16_t shard);
  void come(std::uint16_t shard, std::size_t node);
  void deliver(peer_session* from, const protocol::wire_frame& frame);
  void receive(std::size_t link, const protocol::wire_frame& frame);
  void watch_slots();

  options options_;
  std::mt19937_64 random_;
  std::int64_t time_ = 1;
  std::uint64_t next_event_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> events_;
  std::deque<shard> shards_;
  std::vector<node> nodes_;
  std::vector<connection> links_;
  /// Sessions that ended stay, because planned events may still refer to them.
  std::vector<std::unique_ptr<peer_session>> ended_;
  std::optional<worker::dispatcher> dispatcher_;
  worker::handler_number last_handler_ = 0;
  core::peer_id last_peer_ = 0;
  std::uint64_t last_request_ = 0;
  std::size_t enqueued_ = 0;
  std::size_t completed_ = 0;
  std::set<std::pair<shard_id, fencing_token>> started_;
  std::size_t doubled_ = 0;
  std::size_t most_held_ = 0;
  std::int64_t idle_since_ = 0;
  duration longest_idle_{0};
  std::map<std::uint16_t, std::size_t> frames_;
};

} // namespace codeq::test
