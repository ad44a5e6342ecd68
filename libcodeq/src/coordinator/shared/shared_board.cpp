// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/shared_board.hpp"

#include "codeq/limits.hpp"

#include "base/assert.hpp"
#include "coordinator/shared/shared_turns.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace codeq::coordinator {

namespace {

/// A task as a number: the one that comes first is the greatest, and 0 is none.
constexpr int priority_shift = 56;
constexpr std::uint64_t time_max = (std::uint64_t{1} << priority_shift) - 1;

std::uint64_t pack(const std::optional<core::ready_head>& head) {
  if (!head)
    return 0;
  auto time = static_cast<std::uint64_t>(head->enqueued_at.time_since_epoch().count());
  return ((std::uint64_t{head->priority} + 1) << priority_shift) | (time_max - time);
}

core::ready_head unpack(std::uint64_t packed) {
  auto time = static_cast<duration::rep>(time_max - (packed & time_max));
  return {
    static_cast<std::uint8_t>((packed >> priority_shift) - 1), timestamp{duration{time}}};
}

/// A task at another coordinator as a number: its time in seconds, or `far_turn`, and its shard;
/// 0 is none.
constexpr int far_time_shift = 16;
constexpr std::uint64_t far_turn = (std::uint64_t{1} << (priority_shift - far_time_shift)) - 1;

std::uint64_t pack_far(const std::optional<core::rival_head>& far) {
  if (!far)
    return 0;
  auto ms = static_cast<std::uint64_t>(far->head.enqueued_at.time_since_epoch().count());
  auto time =
    core::is_turn(far->head.enqueued_at) ? far_turn : std::min(ms / 1000, far_turn - 1);
  return ((std::uint64_t{far->head.priority} + 1) << priority_shift) | (time << far_time_shift)
         | value(far->shard);
}

std::optional<core::rival_head> unpack_far(std::uint64_t packed) {
  if (packed == 0)
    return std::nullopt;
  auto time = (packed >> far_time_shift) & far_turn;
  auto at = time == far_turn ? core::time_of_turn(0)
                             : timestamp{duration{static_cast<duration::rep>(time * 1000)}};
  auto priority = static_cast<std::uint8_t>((packed >> priority_shift) - 1);
  return core::rival_head{{priority, at}, static_cast<shard_id>(packed & 0xffff)};
}

} // namespace

/// The queues whose tasks have changed since they were taken.
struct shared_board::changed_queues {
  std::mutex mutex;
  std::vector<queue_address> queues;
};

/// The tasks of one queue, by shard. Each is replaced at once, and no other memory depends on it,
/// so that the order of the accesses does not matter.
struct shared_board::row {
  row(queue_address of, std::size_t shards, std::shared_ptr<changed_queues> list)
    : queue(std::move(of)), heads(shards), turns_shown(shards), changed(std::move(list)) {}

  /// The task of a shard has changed.
  void note_change() {
    if (!changed || is_listed.exchange(true, std::memory_order_acq_rel))
      return;
    std::lock_guard lock(changed->mutex);
    changed->queues.push_back(queue);
  }

  /// Lists later changes again, and makes those before visible to this thread.
  void unlist() { (void)is_listed.exchange(false, std::memory_order_acq_rel); }

  /// The task that comes before those of all other shards but `except`.
  [[nodiscard]] std::optional<core::rival_head>
  best(std::optional<std::size_t> except = std::nullopt) {
    auto turns = lock_turns();
    std::uint64_t first = 0;
    std::size_t of = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      auto head = i == except ? 0 : head_of(i, turns);
      if (head <= first)
        continue;
      first = head;
      of = i;
    }
    if (first == 0)
      return std::nullopt;
    return core::rival_head{unpack(first), static_cast<shard_id>(of)};
  }

  /// The shard's task, as a number; that of a turn as of now, when `turns` is locked.
  [[nodiscard]] std::uint64_t
  head_of(std::size_t shard, const std::unique_lock<std::mutex>& turns) const {
    auto head = heads[shard].load(std::memory_order_relaxed);
    if (head == 0 || !turns)
      return head;
    const auto& [turn, given] = turns_shown[shard];
    if (turn.waits.shard_behind())
      return 0;
    if (!turn.only)
      return head;
    auto now = turn.head;
    now.enqueued_at += duration{std::max<std::int64_t>(turn.only->read().given - given, 0)};
    return pack(now);
  }

  /// The lock of the turns; of nothing while there are none.
  [[nodiscard]] std::unique_lock<std::mutex> lock_turns() {
    return has_turns.load(std::memory_order_acquire) ? std::unique_lock(mutex)
                                                     : std::unique_lock<std::mutex>();
  }

  /// The turns of a priority, from their first use on.
  [[nodiscard]] shared_turns& turns_of(std::size_t priority) {
    std::lock_guard lock(mutex);
    auto& turns = by_priority[priority];
    if (!turns)
      turns = std::make_unique<shared_turns>();
    has_turns.store(true, std::memory_order_release);
    return *turns;
  }

  /// Whatever the only group was given since comes before the turn.
  struct dated_turn {
    core::shown_turn turn;
    std::int64_t given = 0;
  };

  const queue_address queue;
  std::vector<std::atomic<std::uint64_t>> heads;
  /// That of other coordinators, see `pack_far`.
  std::atomic<std::uint64_t> far{0};
  std::atomic<bool> has_turns{false};
  std::mutex mutex;
  std::vector<dated_turn> turns_shown;
  std::array<std::unique_ptr<shared_turns>, limits::priority_max + 1> by_priority;
  /// Null when nobody takes the changes.
  const std::shared_ptr<changed_queues> changed;
  std::atomic<bool> is_listed{false};
};

/// Only the shard itself writes, and no other memory depends on it.
class board_shard final : public core::turn_shard {
public:
  explicit board_shard(std::size_t number) : number_(static_cast<shard_id>(number)) {}

  void set_may_grant(bool may) { may_grant_.store(may, std::memory_order_relaxed); }

  [[nodiscard]] shard_id number() const override { return number_; }

  [[nodiscard]] bool may_grant() const override {
    return may_grant_.load(std::memory_order_relaxed);
  }

private:
  shard_id number_;
  std::atomic<bool> may_grant_{false};
};

class shared_board::place final : public core::queue_board {
public:
  place(std::shared_ptr<row> all, std::size_t own)
    : row_(std::move(all)),
      own_(own),
      here_(std::make_shared<board_shard>(own)) {}

  ~place() override { publish(std::nullopt); }

  void publish(const std::optional<core::ready_head>& head) override {
    auto lock = row_->lock_turns();
    if (lock)
      row_->turns_shown[own_] = {};
    store(head);
  }

  void publish_turn(core::shown_turn turn) override {
    auto lock = row_->lock_turns();
    auto given = turn.only ? turn.only->read().given : 0;
    store(turn.head);
    row_->turns_shown[own_] = {std::move(turn), given};
  }

  [[nodiscard]] core::key_credits
  share_turns(std::size_t priority, std::string_view key) override {
    auto credits = row_->turns_of(priority).join(key);
    credits.here = here_;
    return credits;
  }

  [[nodiscard]] bool has_turns() const override {
    return row_->has_turns.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::optional<core::rival_head> best_elsewhere() const override {
    return row_->best(own_);
  }

  [[nodiscard]] std::optional<core::rival_head> best_far() const override {
    return unpack_far(row_->far.load(std::memory_order_relaxed));
  }

private:
  void store(const std::optional<core::ready_head>& head) {
    row_->heads[own_].store(pack(head), std::memory_order_relaxed);
    here_->set_may_grant(head.has_value());
    row_->note_change();
  }

  std::shared_ptr<row> row_;
  std::size_t own_;
  std::shared_ptr<board_shard> here_;
};

shared_board::shared_board(std::size_t shards, bool tells_changes)
  : shards_(shards), changed_(tells_changes ? std::make_shared<changed_queues>() : nullptr) {
}

std::shared_ptr<shared_board::row> shared_board::row_of(const queue_address& queue) {
  auto& known = rows_[queue];
  auto found = known.lock();
  if (!found)
    known = found = std::make_shared<row>(queue, shards_, changed_);
  if (rows_.size() >= sweep_at_)
    sweep();
  return found;
}

std::unique_ptr<core::queue_board>
shared_board::join(const queue_address& queue, shard_id shard) {
  CODEQ_ASSERT(value(shard) < shards_);
  std::lock_guard lock(mutex_);
  return std::make_unique<place>(row_of(queue), value(shard));
}

void shared_board::set_far(
  const queue_address& queue, const std::optional<core::rival_head>& head) {
  std::lock_guard lock(mutex_);
  auto at = row_of(queue);
  at->far.store(pack_far(head), std::memory_order_relaxed);
  if (head)
    far_rows_.insert_or_assign(queue, std::move(at));
  else
    far_rows_.erase(queue);
}

std::vector<queue_head> shared_board::take_changes() {
  std::vector<queue_address> queues;
  if (changed_) {
    std::lock_guard lock(changed_->mutex);
    queues.swap(changed_->queues);
  }
  std::vector<queue_head> changes;
  std::lock_guard lock(mutex_);
  for (auto& queue : queues) {
    auto at = rows_.find(queue);
    auto known = at == rows_.end() ? nullptr : at->second.lock();
    if (known)
      known->unlist();
    changes.push_back({std::move(queue), known ? known->best() : std::nullopt});
  }
  return changes;
}

std::optional<shard_id>
shared_board::first_shard(std::span<const queue_address> queues, std::uint64_t turn) {
  std::optional<core::rival_head> far;
  auto heads = best_of_each(queues, far);
  auto best = *std::max_element(heads.begin(), heads.end());
  if (far && (best == 0 || core::is_outranked_from_afar(unpack(best), far->head)))
    return far->shard;
  if (best == 0)
    return std::nullopt;
  std::vector<shard_id> first;
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (heads[i] != 0 && !core::is_outranked(unpack(heads[i]), unpack(best)))
      first.push_back(static_cast<shard_id>(i));
  return first[turn % first.size()];
}

std::vector<std::uint64_t> shared_board::best_of_each(
  std::span<const queue_address> queues, std::optional<core::rival_head>& far) {
  std::vector<std::uint64_t> best(shards_);
  std::lock_guard lock(mutex_);
  for (const auto& queue : queues) {
    auto at = rows_.find(queue);
    auto known = at == rows_.end() ? nullptr : at->second.lock();
    if (!known)
      continue;
    auto turns = known->lock_turns();
    for (std::size_t i = 0; i < shards_; ++i)
      best[i] = std::max(best[i], known->head_of(i, turns));
    auto of_queue = unpack_far(known->far.load(std::memory_order_relaxed));
    if (of_queue && (!far || core::is_outranked_from_afar(far->head, of_queue->head)))
      far = of_queue;
  }
  return best;
}

std::size_t shared_board::queues() {
  std::lock_guard lock(mutex_);
  sweep();
  return rows_.size();
}

void shared_board::sweep() {
  std::erase_if(rows_, [](const auto& one) { return one.second.expired(); });
  sweep_at_ = 2 * rows_.size() + 64;
}

} // namespace codeq::coordinator
