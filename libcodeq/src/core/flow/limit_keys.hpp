// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/time.hpp"

#include "core/commands/permit_command.hpp"
#include "core/flow/held_tasks.hpp"
#include "core/flow/limit_rule.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::core {

/// A limit by its number, and one of its keys; empty: the tasks that give no key.
struct limit_place {
  std::uint32_t limit = 0;
  std::string key{};

  auto operator<=>(const limit_place&) const = default;
};

/// A task's use of a limit key.
struct limit_use {
  limit_place at;
  /// Counts against the rate.
  std::uint32_t cost = 1;
};

/// A ready task with limits. The one with the higher priority comes first, then fairness keys take
/// turns, then the older one.
struct limited_task {
  sequence seq = 0;
  std::uint8_t priority = 0;
  std::vector<limit_use> uses;
  /// Number of its queue. A task that may start does not reserve the slot against other queues,
  /// since it may have no worker.
  std::uint32_t queue = 0;
  /// Valid while it is used; empty in queues without fairness keys.
  std::string_view fairness_key{};
};

[[nodiscard]] inline bool is_permit(const limited_task& task) noexcept {
  return task.queue >= first_permit_queue;
}

/// Why a task is held back.
struct limit_refusal {
  /// The place of the use in `limited_task::uses`.
  std::size_t use = 0;
  /// When the key admits the task if nothing else starts; empty when a slot has to become free.
  std::optional<timestamp> next_start;
};

/// The limit keys of a tenant that are in use: their slots, unpaid starts, closed keys, and the
/// tasks that each holds back. The slots are the leases: they are taken with a grant and freed with
/// the end of the lease. A key that nothing uses takes no memory.
///
/// A ready task is in its lane, or held by one key. `release` moves as many held tasks back to
/// their lanes as their key admits; each of them then starts (`take`), is held by another of its
/// keys (`hold`), or is not ready any more (`drop`). One that waits for the permit of another shard
/// has a reservation meanwhile (`reserve`). Costs are logarithmic in the number of keys.
class limit_keys {
public:
  /// Defines or changes a limit. Nothing is revoked when it becomes lower. Past starts count by the
  /// new rate; they are forgotten when there is none any more.
  void set(std::uint32_t limit, const limit_rule& rule, timestamp now);

  /// Removes a limit, which admits everything from then on. Its closed keys are opened, and past
  /// starts are forgotten.
  void remove(std::uint32_t limit);

  /// Null when the limit is not defined.
  [[nodiscard]] const limit_rule* find(std::uint32_t limit) const;

  /// The first use that does not admit a start of the task now; empty when all do. Tasks of its
  /// queue that a key with a rate holds come before one that no key has released, unless their
  /// priority is lower: starts that cost less would else pass them for ever.
  [[nodiscard]] std::optional<limit_refusal> check(const limited_task& task, timestamp now) const;

  /// The task could start but for the permit of another shard: its keys keep its place until that
  /// time, or until it starts, is held or dropped. Does nothing when one of them has kept a place
  /// in vain since its last start, so that no slot is idle for long. @pre `check` admits it
  void reserve(const limited_task& task, timestamp until);

  /// The task takes a slot of each of its limits. @pre it is not held
  void occupy(const limited_task& task);

  /// The task starts, which counts against the rates of its limits. @pre `check` admits it
  void charge(const limited_task& task, timestamp now);

  /// Both.
  void take(const limited_task& task, timestamp now);

  /// The task's lease ended: frees its slots. @pre they were taken
  void free(const std::vector<limit_use>& uses, timestamp now);

  /// A task that started at that time cost `actual` instead of what `use` says. If the limit had no
  /// rate then, nothing was charged, and so no surplus comes back.
  void settle(const limit_use& use, std::uint32_t actual, timestamp started_at, timestamp now);

  /// Nothing of the key starts before that time. A past time opens the key.
  void close(const limit_place& at, timestamp until);

  /// Nothing of the key starts before that time, nor before the one until which it is closed.
  void extend_closure(const limit_place& at, timestamp until);

  /// Nothing of the key starts now, because it was closed.
  [[nodiscard]] bool is_closed(const limit_place& at, timestamp now) const;

  /// The last slot of the key was taken by another shard, so that it is this one's turn.
  [[nodiscard]] bool was_permitted(const limit_place& at) const;

  /// No task of a limit with a rate starts before that time: what starts while starts cannot leave
  /// would leave at once later. Until then `release` looks at no key that changes by time alone.
  void put_off_starts(timestamp until) noexcept { put_off_until_ = until; }

  /// The slot that was just taken is another shard's, for a task of that queue of permits.
  void note_permitted(const limit_place& at, std::uint32_t queue) {
    auto& key = use(at);
    key.was_permitted = true;
    key.next_permits = queue + 1;
  }

  /// The burst of the key counts as used.
  void use_up(const limit_place& at, timestamp now);

  /// The burst of every key counts as used at that time, since starts may have been forgotten.
  void use_up_all(timestamp at);

  /// The state of a key that has to be stored.
  struct mark {
    limit_place at;
    std::int64_t paid_at = 0;
    timestamp closed_until{};
    /// Neither matters any more; nothing has to be stored.
    bool is_over = false;
  };

  /// Sets what was stored of a key.
  void restore(const mark& stored);

  /// The keys whose marks have changed since the last call, in their order.
  [[nodiscard]] std::vector<mark> take_marks();

  /// The marks of all keys that have one, in their order.
  [[nodiscard]] std::vector<mark> marks() const;

  /// The task leaves its lane, because `check` refused it for `why`. `terms`: of its fairness key.
  void hold(const limited_task& task, const limit_refusal& why, const fair_terms& terms = {});

  /// The task is not ready any more, whether it is held or in its lane.
  void drop(const limited_task& task);

  [[nodiscard]] bool is_held(const limited_task& task) const;

  /// Takes the tasks that return to their lanes, the first ones of each key. Every turn calls it
  /// before `take_marks`, when `next_release` is due.
  [[nodiscard]] std::vector<sequence> release(timestamp now, const fair_terms_of& terms_of = {});

  /// The task's lease ended, and it ran for so much less than its fairness key was charged, or more
  /// when negative.
  void settle_turn(const limited_task& task, std::int64_t difference);

  /// When to call `release` if nothing else happens; in the past when it should be called now.
  [[nodiscard]] std::optional<timestamp> next_release() const;

  struct key_counts {
    std::uint64_t leased = 0;
    std::size_t held = 0;
    timestamp closed_until{};
    /// When the first held task can start, or one of cost 1; empty when a slot has to become free.
    std::optional<timestamp> next_start{};
  };

  [[nodiscard]] key_counts counts_of(const limit_place& at) const;

  /// Number of tasks of cost 1 that the key would let start now if `rule` were its limit's.
  [[nodiscard]] std::uint64_t
  room_by(const limit_rule& rule, const limit_place& at, timestamp now) const;

  [[nodiscard]] bool is_in_use(const limit_place& at) const { return keys_.contains(at); }

  /// The sums over the keys of a limit.
  struct key_sums {
    /// Number of keys that take memory.
    std::size_t keys = 0;
    std::uint64_t leased = 0;
    std::uint64_t held = 0;
  };

  [[nodiscard]] key_sums sums_of(std::uint32_t limit) const {
    auto at = sums_.find(limit);
    return at == sums_.end() ? key_sums{} : at->second;
  }

  /// Calls `visit(key, counts)` for the limit's keys after `after`, or for all when it is empty, in
  /// the order of their bytes, as long as it returns true.
  template <class Visit>
  void for_each_key(
    std::uint32_t limit, const std::optional<std::string>& after, Visit&& visit) const {
    auto at = after ? keys_.upper_bound({limit, *after}) : keys_.lower_bound({limit, {}});
    for (; at != keys_.end() && at->first.limit == limit; ++at)
      if (!visit(at->first.key, counts_of(at->first.limit, at->second)))
        return;
  }

  /// Number of the queue's tasks that the key holds.
  [[nodiscard]] std::uint64_t held_of(const limit_place& at, std::uint32_t queue) const;

  /// Number of permits that the key holds.
  [[nodiscard]] std::uint64_t held_permits_of(const limit_place& at) const;

  /// Calls `visit(limit, held)` for each limit that holds tasks of the queue.
  template <class Visit>
  void for_each_holding(std::uint32_t queue, Visit&& visit) const {
    auto at = held_of_queues_.lower_bound({queue, 0});
    for (; at != held_of_queues_.end() && at->first.first == queue; ++at)
      visit(at->first.second, at->second);
  }

  /// Calls `visit(limit, held)` for each queue of permits and each limit that holds some of it.
  template <class Visit>
  void for_each_holding_permits(Visit&& visit) const {
    auto at = held_of_queues_.lower_bound({first_permit_queue, 0});
    for (; at != held_of_queues_.end(); ++at)
      visit(at->first.second, at->second);
  }

  /// Number of held tasks of the key that come before this one; about as many when fairness keys
  /// take turns. In each queue at most `tuning::turns_counted_max` of the task's priority.
  [[nodiscard]] std::size_t held_before(
    const limit_place& at, const limited_task& task, const fair_terms_of& terms_of = {}) const;

  /// Number of keys that take memory.
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  /// The number stands for a limit of this tenant from now on. @pre no key of it is in use
  void assign(std::uint32_t limit, const std::string& tenant);

  /// The number stands for no limit any more. @pre no key of it is in use
  void unassign(std::uint32_t limit) { tenants_.erase(limit); }

  /// Number of keys that take memory, of all limits of the tenant.
  [[nodiscard]] std::size_t keys_of(const std::string& tenant) const;

private:
  struct known_rule {
    limit_rule rule{};
    /// Valid when it has a rate. After a restart it is the time of the latest change.
    timestamp has_rate_since{};
  };

  struct released_task {
    std::uint8_t priority = 0;
    std::uint32_t cost = 0;
    /// As `held_turns::taken::charged`.
    std::int64_t charged = 0;
  };

  /// Number of tasks, and their costs.
  struct task_sum {
    std::uint64_t tasks = 0;
    std::uint64_t cost = 0;
  };

  /// The tasks of one queue.
  struct queue_part {
    held_tasks held{};
    /// They are permits that other shards want.
    bool is_of_permits = false;
    /// Tasks that were released and are still in their lanes, and their sums by priority.
    std::map<sequence, released_task> released{};
    std::vector<std::pair<std::uint8_t, task_sum>> released_sums{};

    void add_released(sequence seq, const released_task& task);
    void remove_released(std::map<sequence, released_task>::iterator at);
    /// The released tasks that come before a held one of that priority.
    [[nodiscard]] task_sum released_before(std::uint8_t priority) const;
  };

  /// See `reserve`.
  struct reservation {
    std::vector<limit_use> uses;
    timestamp until{};
  };

  struct key_state {
    std::uint64_t leased = 0;
    /// The places that are kept for tasks.
    task_sum reserved{};
    /// One was kept in vain since the last start.
    bool has_reserved_in_vain = false;
    rate_meter meter{};
    /// It gave permits of its rate: starts here have their allowance, too, since they would else
    /// get nothing of a small burst. Volatile.
    bool is_shared = false;
    timestamp closed_until{};
    /// By the number of the queue; none of them is empty.
    std::map<std::uint32_t, queue_part> parts{};
    /// The queue whose tasks are released first, when there are more than can be looked at.
    std::uint32_t next_queue = 0;
    /// The queue of permits that has its turn, if it is of this number or the next one.
    std::uint32_t next_permits = 0;
    /// The key's time in `due_`, if it has one.
    std::optional<timestamp> due{};
    /// Its mark is stored.
    bool is_stored = false;
    bool was_permitted = false;
  };

  using key_map = std::map<limit_place, key_state>;

  /// A call of `release`.
  struct release_round {
    timestamp now;
    const fair_terms_of& terms_of;
    std::vector<sequence> released{};
  };

  [[nodiscard]] static held_task as_held(const limited_task& task) {
    return {task.priority, task.seq, task.fairness_key};
  }
  /// The state of a key that is not in use.
  [[nodiscard]] key_state fresh_state(std::uint32_t limit) const;
  [[nodiscard]] key_state& use(const limit_place& at);
  void erase(key_map::iterator at);
  /// The limit has one key more, or less.
  void count_key(std::uint32_t limit);
  void discount_key(std::uint32_t limit);
  [[nodiscard]] static mark mark_of(const limit_place& at, const key_state& key);
  [[nodiscard]] key_counts counts_of(std::uint32_t limit, const key_state& key) const;
  [[nodiscard]] static bool is_used(const key_state& key);
  [[nodiscard]] static std::uint64_t room_by(
    const limit_rule& rule, const key_state& key, const rate_meter& meter, timestamp now);
  /// When a task of that cost can start, after those that start `before` it; empty when that is not
  /// known. The rule may be null. `is_late`: it is a permit, whose task starts later.
  [[nodiscard]] std::optional<timestamp> next_start(
    const limit_rule* rule,
    const key_state& key,
    std::uint32_t cost,
    const task_sum& before,
    bool is_late) const;
  /// The same for a task that is not held; `own`: its reservation, if it has one.
  [[nodiscard]] std::optional<timestamp>
  next_start(const limit_use& use, const limited_task& task, const reservation* own) const;
  /// Whether the key holds tasks of its queue that come before the task.
  [[nodiscard]] static bool has_to_queue(const key_state& key, const limited_task& task);
  void drop_reservation(sequence seq);
  /// Drops the reservations whose time is over.
  void drop_reservations(timestamp now);
  /// The same for the first held task of a queue, after the released ones of the queue started.
  [[nodiscard]] std::optional<timestamp> next_release_of(
    std::uint32_t limit, const key_state& key, queue_part& part, const terms_of_key& terms) const;
  /// The limit's rate was `before`, if it had one, and is `after` now.
  void change_rate(
    const limit_place& at,
    key_state& key,
    const std::optional<start_rate>& before,
    const std::optional<start_rate>& after,
    timestamp now);
  /// Takes at most `most` keys out of `keys`, first those after `last`, and releases tasks of them.
  /// Returns their number.
  std::size_t look_at(
    std::set<limit_place>& keys,
    std::optional<limit_place>& last,
    std::size_t most,
    release_round& round);
  /// Null when the key has no tasks of the queue.
  [[nodiscard]] const queue_part* find_part(const limit_place& at, std::uint32_t queue) const;
  /// One of its keys has let it go back to its lane.
  [[nodiscard]] bool is_released(const limited_task& task) const;
  /// The task is not held by the key, nor released by it, any more. `is_held_again`: if it was
  /// released, its fairness key gets its turn back.
  void leave(const limit_use& use, const limited_task& task, bool is_held_again = false);
  /// A limit holds one task of a queue more.
  void count_held(std::uint32_t queue, std::uint32_t limit);
  /// It holds that many less.
  void discount_held(std::uint32_t queue, std::uint32_t limit, std::uint64_t tasks);
  void schedule(const limit_place& at, key_state& key, const std::optional<timestamp>& when);
  void release_of(const limit_place& at, release_round& round);
  /// Releases tasks of a key. Returns when the next one can be released.
  std::optional<timestamp>
  release_parts(const limit_place& at, key_state& key, release_round& round);
  /// Returns when the next task of the queue can be released.
  std::optional<timestamp> release_part(
    const limit_place& at,
    const key_state& key,
    queue_part& part,
    const terms_of_key& terms,
    release_round& round);

  std::map<std::uint32_t, known_rule> rules_;
  key_map keys_;
  /// The sums of each limit that has keys.
  std::map<std::uint32_t, key_sums> sums_;
  /// The tenants of limits, and the number of keys of each tenant that has some.
  std::map<std::uint32_t, std::string> tenants_;
  std::map<std::string, std::size_t> keys_of_tenants_;
  /// Number of held tasks by queue and limit; none is 0.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> held_of_queues_;
  std::map<sequence, reservation> reservations_;
  /// By their ends.
  std::set<std::pair<timestamp, sequence>> reserved_until_;
  std::optional<timestamp> used_up_at_;
  timestamp put_off_until_{};
  /// Keys whose marks have changed.
  std::set<limit_place> marked_;
  /// Keys that a change of their limit has changed; `release` marks them one after the other.
  std::set<limit_place> rescaled_;
  /// Keys whose tasks may have become able to start, or that may not be in use any more.
  std::set<limit_place> changed_;
  /// The same for keys that changed with all of their limit, or of the shard. They may be many, so
  /// the others come first.
  std::set<limit_place> swept_;
  /// The last ones of both that `release` has looked at, if it had then looked at as many keys, or
  /// released as many tasks, as it may; empty when it has looked at all.
  std::optional<limit_place> looked_at_;
  std::optional<limit_place> swept_at_;
  /// Keys that change by time alone.
  std::set<std::pair<timestamp, limit_place>> due_;
};

} // namespace codeq::core
