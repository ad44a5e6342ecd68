// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/shared_board.hpp"

#include "codeq/limits.hpp"

#include "base/assert.hpp"
#include "coordinator/actors/shared_turns.hpp"

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

} // namespace

/// The tasks of one queue, by shard. Each is replaced at once, and no other memory depends on it,
/// so that the order of the accesses does not matter.
struct shared_board::row {
  explicit row(std::size_t shards) : heads(shards), turns_shown(shards) {}

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

  std::vector<std::atomic<std::uint64_t>> heads;
  std::atomic<bool> has_turns{false};
  std::mutex mutex;
  std::vector<dated_turn> turns_shown;
  std::array<std::unique_ptr<shared_turns>, limits::priority_max + 1> by_priority;
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
    auto lock = row_->lock_turns();
    std::uint64_t best = 0;
    std::size_t of = 0;
    for (std::size_t i = 0; i < row_->heads.size(); ++i) {
      auto head = i == own_ ? 0 : row_->head_of(i, lock);
      if (head <= best)
        continue;
      best = head;
      of = i;
    }
    if (best == 0)
      return std::nullopt;
    return core::rival_head{unpack(best), static_cast<shard_id>(of)};
  }

private:
  void store(const std::optional<core::ready_head>& head) {
    row_->heads[own_].store(pack(head), std::memory_order_relaxed);
    here_->set_may_grant(head.has_value());
  }

  std::shared_ptr<row> row_;
  std::size_t own_;
  std::shared_ptr<board_shard> here_;
};

std::unique_ptr<core::queue_board>
shared_board::join(const queue_address& queue, shard_id shard) {
  CODEQ_ASSERT(value(shard) < shards_);
  std::lock_guard lock(mutex_);
  auto& known = rows_[queue];
  auto joined = known.lock();
  if (!joined)
    known = joined = std::make_shared<row>(shards_);
  if (rows_.size() >= sweep_at_)
    sweep();
  return std::make_unique<place>(std::move(joined), value(shard));
}

std::optional<shard_id>
shared_board::first_shard(std::span<const queue_address> queues, std::uint64_t turn) {
  auto heads = best_of_each(queues);
  auto best = *std::max_element(heads.begin(), heads.end());
  if (best == 0)
    return std::nullopt;
  std::vector<shard_id> first;
  for (std::size_t i = 0; i < heads.size(); ++i)
    if (heads[i] != 0 && !core::is_outranked(unpack(heads[i]), unpack(best)))
      first.push_back(static_cast<shard_id>(i));
  return first[turn % first.size()];
}

std::vector<std::uint64_t> shared_board::best_of_each(std::span<const queue_address> queues) {
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
