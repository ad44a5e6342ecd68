// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/shared_turns.hpp"

#include "core/flow/ready_board.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

/// Number of keys that no shard has ready and that are kept beside as many as are ready.
constexpr std::size_t idle_keys_max = 64;

} // namespace

/// The times of the rings of several keys at different shards, one for each shard at most.
class shown_rings {
public:
  /// Returns what `behind` does.
  std::optional<shard_id>
  show(const std::shared_ptr<const core::turn_shard>& at, std::int64_t time) {
    std::lock_guard lock(mutex_);
    auto known = std::find_if(
      all_.begin(), all_.end(), [&](const auto& one) { return one.at->number() == at->number(); });
    if (known == all_.end())
      all_.push_back({at, time});
    else
      *known = {at, time};
    return find_behind(*at, time);
  }

  void withdraw(const core::turn_shard& at) {
    std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const auto& one) { return one.at.get() == &at; });
  }

  /// See `core::shared_credit::shard_behind`.
  [[nodiscard]] std::optional<shard_id>
  behind(const core::turn_shard& at, std::int64_t time) const {
    std::lock_guard lock(mutex_);
    return find_behind(at, time);
  }

private:
  struct ring {
    std::shared_ptr<const core::turn_shard> at;
    std::int64_t time = 0;
  };

  /// @pre the lock is held
  [[nodiscard]] std::optional<shard_id>
  find_behind(const core::turn_shard& at, std::int64_t time) const {
    auto least = time - core::rival_age_margin.count();
    std::optional<shard_id> found;
    for (const auto& one : all_) {
      if (one.time >= least || one.at->number() == at.number() || !one.at->may_grant())
        continue;
      least = one.time;
      found = one.at->number();
    }
    return found;
  }

  mutable std::mutex mutex_;
  std::vector<ring> all_;
};

/// How far the rings of the shards have come. No other memory depends on the numbers, and each
/// changes by compare-exchange, so that the order of the accesses does not matter and no change of
/// another shard is undone.
struct shared_turns::rounds {
  /// The latest time of a grant.
  std::atomic<std::int64_t> now{0};
  /// The length of the latest rounds; it falls slowly.
  std::atomic<std::int64_t> length{1};
  /// The length of the longest round of a turn so far.
  std::atomic<std::int64_t> longest{1};
  /// Number of the members that are remembered. A single one is in the same turn at all shards.
  std::atomic<std::size_t> members{0};
  shown_rings rings;

  void note_turn(std::int64_t of_length) {
    raise_to(length, of_length);
    raise_to(longest, of_length);
  }

  void note(std::int64_t time, std::int64_t of_length) {
    raise_to(now, time);
    auto known = length.load(std::memory_order_relaxed);
    constexpr std::int64_t memory = 256;
    while (!length.compare_exchange_weak(
      known, std::max(of_length, known - known / memory), std::memory_order_relaxed)) {
    }
  }

  /// A key has got its allowance up to here at least.
  [[nodiscard]] std::int64_t least_given() const {
    return now.load(std::memory_order_relaxed) - 2 * length.load(std::memory_order_relaxed)
           - margins_behind_max * core::rival_age_margin.count();
  }
};

/// The credit and the time it was given for change together under the lock of the cell: a time is
/// given for once, and its allowance is in the credit as soon as another shard sees the time. No
/// other lock is taken while this one is held. Two shards that saw the same credit may both take
/// its last task: it is in debt then.
class shared_turns::cell final : public core::shared_credit {
public:
  explicit cell(std::shared_ptr<rounds> of) : rounds_(std::move(of)) { ++rounds_->members; }

  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;
  ~cell() override { --rounds_->members; }

  [[nodiscard]] core::fair_credit read() const override {
    std::lock_guard lock(mutex_);
    return now();
  }

  core::fair_credit add(const core::fair_allowance& a) override {
    rounds_->note_turn(a.largest);
    auto of_all = a;
    of_all.longest = rounds_->length.load(std::memory_order_relaxed);
    std::lock_guard lock(mutex_);
    heaviest_ = std::max(heaviest_, a.weight);
    extra_ = std::max(extra_, a.owed + 2 * a.waited);
    return credit_ = core::add_allowance(now(), of_all);
  }

  void change(std::int64_t difference) override {
    std::lock_guard lock(mutex_);
    credit_.credit += difference;
  }

  void note_round(std::int64_t time, std::int64_t length) override {
    rounds_->note(time, length);
  }

  std::optional<shard_id>
  show(const std::shared_ptr<const core::turn_shard>& at, std::int64_t time) override {
    return has_others() ? rounds_->rings.show(at, time) : std::nullopt;
  }

  void withdraw(const core::turn_shard& at) override { rounds_->rings.withdraw(at); }

  [[nodiscard]] std::optional<shard_id>
  shard_behind(const core::turn_shard& at, std::int64_t time) const override {
    return has_others() ? rounds_->rings.behind(at, time) : std::nullopt;
  }

  [[nodiscard]] std::int64_t most() const override {
    std::lock_guard lock(mutex_);
    auto of_rounds = (2 * heaviest_ + 1) * rounds_->longest.load(std::memory_order_relaxed);
    return of_rounds + heaviest_ * extra_;
  }

  /// The key becomes ready, which no shard had ready.
  void restart() {
    std::lock_guard lock(mutex_);
    credit_.credit = 0;
    credit_.given = std::max(credit_.given, rounds_->now.load(std::memory_order_relaxed));
  }

private:
  [[nodiscard]] bool has_others() const {
    return rounds_->members.load(std::memory_order_relaxed) > 1;
  }

  [[nodiscard]] core::fair_credit now() const {
    return {credit_.credit, std::max(credit_.given, rounds_->least_given())};
  }

  std::shared_ptr<rounds> rounds_;
  mutable std::mutex mutex_;
  core::fair_credit credit_;
  std::int64_t heaviest_ = 1;
  /// The most that turns added beside the allowance of a round, per weight.
  std::int64_t extra_ = 0;
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
  return {first.turns, whole, nullptr};
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
  sweep_at_ = 2 * keys_.size() + idle_keys_max;
}

} // namespace codeq::coordinator
