// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/shared_turns.hpp"

#include "core/flow/ready_board.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace codeq::coordinator {

namespace {

/// The greater value stays, whoever writes last.
void raise_to(std::atomic<std::int64_t>& to, std::int64_t value) {
  auto known = to.load(std::memory_order_relaxed);
  while (known < value && !to.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

/// By so many margins more than two rounds a key may lag behind; what it missed beyond is lost. A
/// key on a shard that grants nothing for long would hold the others up for as long afterwards.
constexpr std::int64_t margins_behind_max = 10;

} // namespace

/// How far the rings of the shards have come. No other memory depends on the numbers, so that the
/// order of the accesses does not matter.
struct shared_turns::rounds {
  /// The latest time of a grant.
  std::atomic<std::int64_t> now{0};
  /// The length of the latest rounds; it falls slowly.
  std::atomic<std::int64_t> length{1};

  void note(std::int64_t time, std::int64_t of_length) {
    raise_to(now, time);
    auto known = length.load(std::memory_order_relaxed);
    constexpr std::int64_t memory = 256;
    length.store(std::max(of_length, known - known / memory), std::memory_order_relaxed);
  }

  /// A key has got its allowance up to here at least.
  [[nodiscard]] std::int64_t least_given() const {
    return now.load(std::memory_order_relaxed) - 2 * length.load(std::memory_order_relaxed)
           - margins_behind_max * core::rival_age_margin.count();
  }
};

/// Two shards that use a credit at once may both take its last task: it is in debt then.
class shared_turns::cell final : public core::shared_credit {
public:
  explicit cell(std::shared_ptr<rounds> of) : rounds_(std::move(of)) {}

  [[nodiscard]] core::fair_credit read() const override {
    return {
      credit_.load(std::memory_order_relaxed),
      std::max(given_.load(std::memory_order_relaxed), rounds_->least_given())};
  }

  core::fair_credit add(const core::fair_allowance& a) override {
    auto given = given_.load(std::memory_order_relaxed);
    for (;;) {
      core::fair_credit before{
        credit_.load(std::memory_order_relaxed), std::max(given, rounds_->least_given())};
      auto after = core::add_allowance(before, a);
      if (after == before)
        return before;
      // The one that moves the time on adds the allowance for it.
      if (!given_.compare_exchange_weak(given, after.given, std::memory_order_relaxed))
        continue;
      change(after.credit - before.credit);
      return after;
    }
  }

  void change(std::int64_t difference) override {
    credit_.fetch_add(difference, std::memory_order_relaxed);
  }

  void note_round(std::int64_t time, std::int64_t length) override {
    rounds_->note(time, length);
  }

  /// The key becomes ready, which no shard had ready.
  void restart() {
    credit_.store(0, std::memory_order_relaxed);
    raise_to(given_, rounds_->now.load(std::memory_order_relaxed));
  }

private:
  std::shared_ptr<rounds> rounds_;
  std::atomic<std::int64_t> credit_{0};
  std::atomic<std::int64_t> given_{0};
};

core::key_credits shared_turns::join(std::string_view key) {
  std::lock_guard lock(mutex_);
  if (keys_.size() >= sweep_at_)
    sweep();
  if (!of_groups_)
    of_groups_ = std::make_shared<rounds>();
  auto& first = groups_[std::string(key.substr(0, key.find('/')))];
  if (!first.turns)
    first = {std::make_shared<cell>(of_groups_), std::make_shared<rounds>()};
  auto& whole = keys_[std::string(key)];
  if (!whole)
    whole = std::make_shared<cell>(first.of_keys);
  for (const auto* one : {&first.turns, &whole})
    if (one->use_count() == 1)
      (*one)->restart();
  return {first.turns, whole};
}

std::size_t shared_turns::keys() {
  std::lock_guard lock(mutex_);
  return keys_.size();
}

void shared_turns::sweep() {
  std::erase_if(keys_, [](const auto& one) { return one.second.use_count() == 1; });
  std::erase_if(groups_, [](const auto& one) {
    return one.second.turns.use_count() == 1 && one.second.of_keys.use_count() == 1;
  });
  sweep_at_ = 2 * keys_.size() + 1024;
}

} // namespace codeq::coordinator
