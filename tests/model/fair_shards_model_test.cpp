// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"
#include "coordinator/session/claim_router.hpp"
#include "coordinator/shared/shared_board.hpp"
#include "core/checks/invariants.hpp"
#include "core/commands/effect.hpp"
#include "core/flow/ready_board.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "support/seed.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Fairness keys over the shards of a coordinator: a worker with a fixed number of slots claims as
/// its session does, in virtual time.
namespace codeq::model {

namespace {

const queue_address fair_queue{.queue = "q"};
constexpr core::peer_id fair_producer = 1;
constexpr core::peer_id fair_worker = 2;

struct fair_task {
  std::size_t shard = 0;
  sequence seq = 0;
  fencing_token token{};
  std::string key;
  timestamp end;
};

/// The run time of each task of a key, and its weight.
struct fair_profile {
  duration runs_for{10};
  std::uint16_t weight = 1;
};

class shards_run {
public:
  shards_run(std::size_t shards, std::uint32_t slots)
    : slots_(slots), board_(std::make_shared<coordinator::shared_board>(shards)), router_(shards) {
    auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    for (std::size_t i = 0; i < shards; ++i) {
      shards_.push_back(
        std::make_unique<core::shard_state>(static_cast<shard_id>(static_cast<int>(i)), 1));
      shards_.back()->join_board(board_);
      decide(i, core::attach_worker{fair_worker, identity, {fair_queue}});
    }
    settle();
  }

  void add(std::size_t shard, const std::string& key, std::size_t tasks) {
    core::enqueue c;
    c.peer = fair_producer;
    c.request = {session_, ++requests_, requests_};
    auto& run = c.runs.emplace_back();
    run.queue = fair_queue;
    run.fairness = {key, profiles[key].weight};
    run.tasks = test::encode_bodies(tasks, 8);
    ready_ += tasks;
    decide(shard, std::move(c));
    settle();
  }

  [[nodiscard]] std::size_t count() const noexcept { return shards_.size(); }

  void add_everywhere(const std::string& key, std::size_t tasks) {
    for (std::size_t i = 0; i < shards_.size(); ++i)
      add(i, key, tasks);
  }

  /// Lets the slots run that many tasks to their ends.
  void run(int tasks) {
    if (!std::exchange(is_started_, true))
      carry_out(router_.add_credits(slots_));
    settle();
    for (int i = 0; i < tasks && !testing::Test::HasFatalFailure(); ++i) {
      ASSERT_EQ(running_.size(), std::min<std::size_t>(slots_, running_.size() + ready_))
        << "a slot idles";
      finish();
    }
  }

  /// The difference of the run times that the keys which begin so got per weight.
  [[nodiscard]] std::int64_t spread(const std::string& prefix = {}) const {
    std::vector<std::int64_t> each;
    for (const auto& [key, time] : used)
      if (key.starts_with(prefix))
        each.push_back(time / profiles.at(key).weight);
    auto [least, most] = std::minmax_element(each.begin(), each.end());
    return *most - *least;
  }

  /// The difference of the run times that the first parts of keys got per weight, which is that of
  /// the key without a second part.
  [[nodiscard]] std::int64_t spread_of_groups() const {
    std::map<std::string, std::int64_t> groups;
    for (const auto& [key, time] : used) {
      auto end = key.find('/');
      auto weight = end == std::string::npos ? profiles.at(key).weight : 1;
      groups[key.substr(0, end)] += time / weight;
    }
    auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    auto [least, most] = std::minmax_element(groups.begin(), groups.end(), less);
    return most->second - least->second;
  }

  void check() {
    for (const auto& state : shards_)
      EXPECT_EQ(core::find_violations(*state), std::vector<std::string>{});
  }

  std::map<std::string, fair_profile> profiles;
  std::map<std::string, std::int64_t> used;

private:
  using moves = coordinator::claim_router::moves;
  using move = coordinator::claim_router::move;

  void decide(std::size_t shard, const core::command& c) {
    core::turn turn(*shards_[shard]);
    turn.decide(c, clock_.now());
    auto sealed = turn.seal(clock_.now());
    for (const auto& e : sealed.events)
      if (const auto* added = std::get_if<core::segment_appended>(&e))
        for (std::uint32_t i = 0; i < added->count; ++i)
          key_of_[{shard, added->first + i}] = added->fairness.key;
    for (auto& e : sealed.effects)
      effects_.emplace_back(shard, std::move(e));
  }

  /// Passes on what the shards say, until they are silent.
  void settle() {
    for (int messages = 0; !effects_.empty(); ++messages) {
      ASSERT_LT(messages, 100'000) << "credits move about for ever";
      auto [shard, effect] = std::move(effects_.front());
      effects_.pop_front();
      hear(shard, effect);
    }
  }

  void hear(std::size_t from, const core::effect& e) {
    const auto shard = shards_[from]->id;
    if (const auto* granted = std::get_if<core::tasks_granted>(&e))
      take(from, *granted);
    else if (std::holds_alternative<core::claim_parked>(e))
      carry_out(router_.drained(shard));
    else if (std::holds_alternative<core::work_available>(e))
      carry_out(router_.has_work(shard));
    else if (const auto* revoked = std::get_if<core::credits_revoked>(&e))
      carry_out(router_.returned(shard, revoked->credits));
    else if (const auto* worse = std::get_if<core::claim_outranked>(&e))
      carry_out(router_.outranked(shard, worse->credits, worse->by, worse->priority));
  }

  void carry_out(const moves& all) {
    for (const auto& one : all) {
      auto to = static_cast<std::size_t>(value(one.shard));
      if (one.what == move::kind::claim)
        decide(to, core::claim{fair_worker, one.credits, limits::lease_max});
      else
        decide(to, core::revoke_credits{fair_worker, one.credits});
    }
  }

  void take(std::size_t from, const core::tasks_granted& granted) {
    std::uint32_t count = 0;
    for (const auto& run : granted.runs)
      for (std::uint32_t i = 0; i < run.count; ++i, ++count) {
        const auto& key = key_of_.at({from, run.first + i});
        auto runs_for = profiles.at(key).runs_for;
        used[key] += runs_for.count();
        running_.push_back(
          {from,
           run.first + i,
           fencing_token{value(run.first_token) + i},
           key,
           clock_.now().shard + runs_for});
      }
    ready_ -= count;
    carry_out(
      router_.granted(shards_[from]->id, count, granted.more, granted.runs.back().priority));
  }

  /// The task that ends next ends.
  void finish() {
    ASSERT_FALSE(running_.empty());
    auto next = std::min_element(
      running_.begin(), running_.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
    auto ended = *next;
    running_.erase(next);
    clock_.advance(std::max(duration{0}, ended.end - clock_.now().shard));
    core::lease_report report;
    report.seq = ended.seq;
    report.token = ended.token;
    decide(ended.shard, core::report{fair_worker, {report}});
    carry_out(router_.add_credits(1));
    settle();
  }

  std::uint32_t slots_;
  base::manual_clock clock_;
  std::shared_ptr<coordinator::shared_board> board_;
  std::vector<std::unique_ptr<core::shard_state>> shards_;
  coordinator::claim_router router_;
  std::deque<std::pair<std::size_t, core::effect>> effects_;
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::map<std::pair<std::size_t, sequence>, std::string> key_of_;
  std::vector<fair_task> running_;
  std::size_t ready_ = 0;
  bool is_started_ = false;
};

/// Adds 3,000 tasks of each key on one shard or on each of them, with random run times and weights.
/// Returns the longest run time, in milliseconds.
std::int64_t add_random_keys(
  shards_run& shards, std::minstd_rand& random, const std::vector<std::string>& keys) {
  std::int64_t largest = 1;
  for (const auto& key : keys) {
    auto& profile = shards.profiles[key];
    profile.runs_for = duration{5 + static_cast<int>(random() % 300)};
    profile.weight = static_cast<std::uint16_t>(1 + random() % 3);
    largest = std::max<std::int64_t>(largest, profile.runs_for.count());
    shards.used[key] = 0;
    if (random() % 2 == 0)
      shards.add_everywhere(key, 3000);
    else
      shards.add(random() % shards.count(), key, 3000);
  }
  return largest;
}

} // namespace

TEST(FairShardsModel, KeyOnOneShardGetsAsMuchAsAFloodOnAllAndNoSlotIdles) {
  shards_run shards(8, 16);
  shards.profiles = {{"flood", {}}, {"small", {}}};
  shards.add_everywhere("flood", 1000);
  shards.add(5, "small", 1000);

  shards.run(1500);

  EXPECT_LE(shards.spread(), 2500);
  shards.check();
}

TEST(FairShardsModel, WeightsOfKeysOnDifferentShardsShareTheRunTime) {
  shards_run shards(4, 4);
  shards.profiles = {
    {"a", {duration{10}, 1}}, {"b", {duration{40}, 3}}, {"c", {duration{20}, 2}}};
  shards.add(0, "a", 2000);
  shards.add_everywhere("b", 2000);
  shards.add(2, "c", 2000);

  shards.run(2000);

  EXPECT_LE(shards.spread(), 2500);
}

TEST(FairShardsModel, TasksWithoutKeysAreOneKeyOfAllShards) {
  shards_run shards(4, 4);
  shards.profiles = {{"", {}}, {"a", {}}};
  shards.add_everywhere("", 1000);
  shards.add(1, "a", 1000);

  shards.run(1500);

  EXPECT_LE(shards.spread(), 3000);
}

TEST(FairShardsModel, CustomersOfATenantOnDifferentShardsTakeTurns) {
  shards_run shards(4, 2);
  shards.profiles = {{"a/x", {}}, {"a/y", {}}};
  shards.add(0, "a/x", 2000);
  shards.add(3, "a/y", 2000);

  shards.run(1500);

  EXPECT_LE(shards.spread(), 1500);
  shards.check();
}

TEST(FairShardsModel, CustomersBesideOtherTenantsTakeTurnsAndTenantsToo) {
  shards_run shards(4, 4);
  shards.profiles = {
    {"a/x", {duration{10}, 1}},
    {"a/y", {duration{30}, 2}},
    {"b", {duration{20}}},
    {"c/z", {duration{10}}}};
  shards.add(0, "a/x", 4000);
  shards.add(0, "b", 4000);
  shards.add(3, "a/y", 4000);
  shards.add(3, "c/z", 4000);

  shards.run(3000);

  EXPECT_LE(shards.spread("a/"), 2500);
  EXPECT_LE(shards.spread_of_groups(), 2500);
  shards.check();
}

TEST(FairShardsModel, CustomerOnOneShardGetsAsMuchAsAFloodOfAnotherOnAll) {
  shards_run shards(8, 8);
  shards.profiles = {{"a/flood", {}}, {"a/small", {}}};
  shards.add_everywhere("a/flood", 1000);
  shards.add(5, "a/small", 1000);

  shards.run(1500);

  EXPECT_LE(shards.spread(), 2500);
  shards.check();
}

TEST(FairShardsModel, CustomerWhoseTasksEndLeavesTheSlotsToTheOthers) {
  shards_run shards(4, 4);
  shards.profiles = {{"a/x", {}}, {"a/y", {}}, {"a/z", {}}};
  shards.add(0, "a/x", 500);
  shards.add(1, "a/y", 20);
  shards.add(2, "a/z", 300);

  shards.run(820);

  EXPECT_EQ(shards.used["a/x"], 5000);
  EXPECT_EQ(shards.used["a/y"], 200);
  EXPECT_EQ(shards.used["a/z"], 3000);
  shards.check();
}

/// A customer whose few short tasks are ready again and again on other shards than those of another
/// customer with long tasks.
struct few_short_tasks : shards_run {
  few_short_tasks(std::size_t shards, std::uint32_t slots, duration long_time)
    : shards_run(shards, slots), others_(shards - 1) {
    profiles = {{"a/long", {long_time}}, {"a/short", {duration{10}}}, {"b", {duration{1000}}}};
    add(0, "a/long", 10'000);
    add_everywhere("b", 10'000);
  }

  void run_between(int tasks, int times) {
    for (int i = 0; i < times; ++i) {
      add(1 + static_cast<std::size_t>(i) % others_, "a/short", 1);
      run(tasks);
    }
  }

private:
  std::size_t others_;
};

TEST(FairShardsModel, FewShortTasksOfACustomerDoNotCostItsTenantItsShare) {
  few_short_tasks one(3, 1, duration{10'000});
  one.run_between(4, 500);
  EXPECT_LE(one.spread_of_groups(), 50'000);

  few_short_tasks two(5, 3, duration{5000});
  two.run_between(5, 2000);
  EXPECT_LE(two.spread_of_groups(), 50'000);

  few_short_tasks three(2, 1, duration{1000});
  three.run_between(2, 1000);
  EXPECT_LE(three.spread_of_groups(), 20'000);
  EXPECT_GE(three.used["a/short"], 9000);
}

TEST(FairShardsModel, CustomersOnRandomShardsGetTheSameAndNoSlotIdles) {
  auto first = test::choose_seed() % 1'000'000;
  for (auto seed = first; seed < first + 20; ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    std::minstd_rand random(static_cast<std::uint32_t>(seed));
    const std::size_t count = 2 + random() % 7;
    const std::uint32_t slots = 1 + static_cast<std::uint32_t>(random() % 8);
    shards_run shards(count, slots);
    auto largest = add_random_keys(shards, random, {"a/x", "a/y", "a/z", "b", "c/x", "c/y"});

    shards.run(3000);

    ASSERT_FALSE(testing::Test::HasFailure());
    const auto apart = (4 + slots) * largest + 2 * core::rival_age_margin.count();
    ASSERT_LE(shards.spread("a/"), apart);
    ASSERT_LE(shards.spread("c/"), apart);
    ASSERT_LE(shards.spread_of_groups(), apart);
  }
}

TEST(FairShardsModel, KeysOnRandomShardsGetTheSameAndNoSlotIdles) {
  auto first = test::choose_seed() % 1'000'000;
  for (auto seed = first; seed < first + 10; ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    std::minstd_rand random(static_cast<std::uint32_t>(seed));
    const std::size_t count = 2 + random() % 7;
    const std::uint32_t slots = 1 + static_cast<std::uint32_t>(random() % 8);
    shards_run shards(count, slots);
    auto largest = add_random_keys(shards, random, {"a", "b", "c"});

    shards.run(600);

    ASSERT_FALSE(testing::Test::HasFailure());
    ASSERT_LE(
      shards.spread(), (4 + slots) * largest + 2 * core::rival_age_margin.count());
  }
}

} // namespace codeq::model
