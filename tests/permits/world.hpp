// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace codeq::permits {

inline constexpr std::uint16_t shard_count = 4;

inline constexpr core::peer_id worker_peer = 1;
inline constexpr core::peer_id producer_peer = 2;

inline const queue_address bounded_queue{"default", "bounded"};
inline const queue_address deep_queue{"default", "deep"};

/// Tasks that are added whatever the depth have this priority, and no others.
inline constexpr std::uint8_t exempt_priority = 9;

/// The limits of the simulation, with their concurrency.
inline const std::map<std::string, std::uint32_t> concurrencies{{"one", 1}, {"two", 2}, {"any", 5}};

/// A limit by its name, and one of its keys.
using limit_key = std::pair<std::string, std::string>;

/// An operator's close of a key.
struct key_close {
  limit_key key;
  monotonic_time asked{};
  monotonic_time until{};
  /// Number of the operator's requests about the key so far.
  std::uint64_t order = 0;
};

class world;

/// A shard with its log. The log is what is written; the part up to `synced_` outlives a power cut.
class node {
public:
  node(world& around, shard_id id) : around_(around), id_(id) { rebuild(); }

  void serve();
  void kill();
  void cut_power(std::uint64_t kept);
  /// The worker's process dies: it reports nothing any more. Returns false when there is none.
  bool kill_worker();
  /// A new process of the worker, if there is none, takes over the name: the leases of the old one
  /// are lost.
  void start_worker();
  void decide(const core::command& c);
  /// An operator cancels a task that has not ended.
  void cancel_task();
  /// An operator pauses or resumes the queue of tasks with limits on this shard.
  void pause(bool is_paused);
  /// `customer`: its fairness key.
  void enqueue_task(
    std::string group,
    std::string customer,
    std::vector<task_limit> uses,
    std::uint8_t priority);
  /// Adds tasks to the queue that has a maximum of leases.
  void enqueue_bounded(
    std::uint32_t count, std::vector<task_limit> uses, std::uint8_t priority);
  /// Sets that maximum on this shard; 0: none.
  void set_maximum(std::uint64_t max_leased);
  /// Adds tasks to the queue that has a maximum depth. `is_exempt`: as a task of another shard's
  /// completion, which is never refused.
  void enqueue_deep(std::uint32_t count, bool is_exempt);
  /// Cancels live tasks of that queue, at most so many.
  void cancel_deep(std::uint64_t most);
  /// Sets that maximum on this shard; 0: none.
  void set_depth(std::uint64_t max_depth);
  /// Turns that maximum off and on again in one turn; the other shards do not learn it.
  void flip_depth();
  /// An operator closes a key of this shard until that time, or opens it when that is now.
  void close_key(const key_close& order);
  /// What a handler's report closed may be open again.
  void forget_reported(const limit_key& key) { reported_.erase(key); }

  [[nodiscard]] std::uint64_t unsynced() const { return log_.size() - synced_; }
  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] shard_id id() const { return id_; }
  [[nodiscard]] const core::shard_state& state() const { return *state_; }
  [[nodiscard]] core::shard_state& state() { return *state_; }

private:
  void rebuild();
  void connect_worker();
  void later(duration wait, std::function<void()> what);
  void close_turn();
  void write(const std::vector<core::event>& events, bool is_synced);
  void carry_out(const core::effect& e);
  void complete(const core::tasks_granted& granted);
  void note_limited(const core::lease_report& done);
  /// No task of a key starts in the turn in which a report here closes it, nor before its end.
  void check_starts(const core::batch_granted& grant);
  void note_starts(const core::tasks_granted& granted);
  void enqueue_run_of(core::enqueue_run run, std::uint32_t count, std::uint8_t priority);

  world& around_;
  shard_id id_;
  std::uint32_t epoch_ = 0;
  std::unique_ptr<core::shard_state> state_;
  std::unique_ptr<core::turn> turn_;
  std::vector<core::event> log_;
  std::size_t synced_ = 0;
  bool is_up_ = false;
  bool is_closing_ = false;
  bool has_lost_ = false;
  std::uint64_t process_ = 0;
  /// The worker's process runs, and its number.
  bool has_worker_ = true;
  std::uint64_t worker_process_ = 1;
  std::uint64_t requests_ = 0;
  /// The requests that are not answered yet, and the number of tasks of each.
  std::map<std::uint64_t, std::uint32_t> deep_;
  /// The operator's closes that are not answered yet, by request.
  std::map<std::uint64_t, key_close> closes_;
  /// The keys that reports to this process have closed, with the ends of that.
  std::map<limit_key, monotonic_time> reported_;
  monotonic_time written_until_{};
};

/// The shards, their network and their tasks. Every decision comes from the seed.
class world {
public:
  explicit world(std::uint64_t seed);

  /// Runs under faults, then without any. Returns what was violated; empty: nothing.
  [[nodiscard]] std::string run();

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] instant now() const { return {now_, timestamp{now_.time_since_epoch()}}; }
  void after(duration wait, std::function<void()> what);

  /// The message may get lost, double or late.
  void send(shard_id to, const core::command& c);

  /// Notes the first violation.
  void look(const std::string& wrong);

  /// After each turn: no key has more leases over all shards than its limit allows, and the bounded
  /// queue has no more than its maximum.
  void audit();

  /// A task has met a foreign limit, which closes the key.
  void note_closed(const task_limit& use, duration wait);
  /// The same; its shard has accepted the report.
  void note_reported(const limit_key& key, duration wait);
  /// A task of the key was leased.
  void note_leased(const limit_key& key);
  /// An operator's close was answered: from now on no task of the key starts before its end.
  void note_answered(const key_close& order);
  /// The worker was given a task of the key.
  void note_started(const limit_key& key);

  /// The maxima that the shards are told when they start.
  [[nodiscard]] std::uint64_t maximum() const { return maximum_; }
  [[nodiscard]] std::uint64_t max_depth() const { return max_depth_; }

  /// An enqueue into the queue with a maximum depth was answered, by `errc::none` or a refusal.
  void note_deep(std::uint32_t tasks, errc answer);

  bool is_os_mode = false;
  /// Messages, turns and writes take at most a millisecond each.
  bool is_quick = false;
  /// Number of credits that each worker has.
  std::uint32_t credits = 6;
  /// The longest time that a task runs, in milliseconds.
  std::uint64_t run_max = 60;
  std::uint64_t completed = 0;
  /// Leases whose tasks needed permits.
  std::uint64_t through_permits = 0;
  /// Leases of the bounded queue on shards that do not own its slots.
  std::uint64_t through_slots = 0;
  /// Enqueues into the queue with a maximum depth: those that were taken, those that it was full
  /// for, and those that could not wait for an answer.
  std::uint64_t deep_taken = 0;
  std::uint64_t deep_full = 0;
  std::uint64_t deep_put_off = 0;
  /// Operators' closes of keys that all shards with permits have confirmed.
  std::uint64_t closes_confirmed = 0;
  /// Processes that died: of workers, and of shards, of which some lost what was not synced.
  std::uint64_t killed_workers = 0;
  std::uint64_t killed_shards = 0;
  std::uint64_t power_cuts = 0;

private:
  void disturb();
  void disturb_workers();
  /// For a while the queue of a shard is paused, or has no worker.
  void stop_queue();
  /// An operator closes a key, or opens it.
  void order_close();
  /// The key may be open.
  void forget_closed(const limit_key& key);
  /// Cuts a shard's power: of what is not synced, `kept` events stay.
  void lose(node& one, std::uint64_t kept);
  void bring_back(node& one);
  void add_task();
  void add_bounded();
  void change_maximum();
  void change_depth();
  void disturb_depth();
  /// The queue with a maximum depth takes as many tasks as it may have, on all shards and on one.
  void fill_depth();
  void empty_depth();
  [[nodiscard]] std::uint64_t deep_tasks() const;
  /// Number of its live tasks that needed no room.
  [[nodiscard]] std::uint64_t exempt_tasks() const;
  void audit_depth();
  /// On a quick network and without faults no task waits for `idle_max` while its worker has a
  /// credit, and each of its keys a slot.
  void audit_idle(const std::map<limit_key, std::uint32_t>& leased);
  /// Tasks come for a while, on a quick network and without faults.
  void load_quickly();
  void pass(duration time);
  [[nodiscard]] std::string check_end();

  std::mt19937_64 random_;
  /// In every other seed workers die, too. Their numbers leave the other seeds as they are.
  bool kills_workers_;
  std::mt19937_64 worker_random_;
  std::mt19937_64 operator_random_;
  monotonic_time now_{std::chrono::hours{1}};
  std::uint64_t order_ = 0;
  std::map<std::pair<monotonic_time, std::uint64_t>, std::function<void()>> due_;
  bool is_faulty_ = false;
  std::uint64_t maximum_ = 0;
  /// The maximum changes, and shards learn it at different times.
  bool is_maximum_changed_ = false;
  bool is_maximum_checked_ = true;
  std::uint64_t max_depth_ = 0;
  bool is_depth_checked_ = true;
  /// There are no faults, and all shards know the same maximum.
  bool is_filling_ = false;
  bool is_disturbed_ = true;
  /// Limit keys that were closed, with the ends of that.
  std::map<limit_key, monotonic_time> closed_;
  struct report_close {
    monotonic_time at{};
    monotonic_time until{};
  };
  /// The keys that reports have closed on a quick network.
  std::map<limit_key, std::vector<report_close>> reported_;
  /// The keys whose closes by an operator were answered, with the ends of that.
  std::map<limit_key, monotonic_time> shut_;
  /// Number of the operator's requests about each key.
  std::map<limit_key, std::uint64_t> orders_;
  /// The tasks that could start, and since when.
  std::map<std::pair<shard_id, sequence>, monotonic_time> startable_;
  std::string wrong_;
  std::vector<std::unique_ptr<node>> nodes_;
};

} // namespace codeq::permits
