// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/checks/invariants.hpp"
#include "core/queues/queue_rules.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/survivors.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// Tasks with fairness keys in one queue, which a worker takes one after the other.
class Fairness : public shard_fixture {
protected:
  Fairness() { attach("w", {"q"}); }

  /// Enqueues tasks of a key in a turn of their own; each is numbered.
  void add(const std::string& key, std::size_t count, enqueue_options options = {}) {
    options.fairness.key = key;
    enqueue("q", count, options);
    for (; count > 0; --count)
      key_of_[++last_] = key;
  }

  void add_weighted(const std::string& key, std::size_t count, std::uint16_t weight) {
    add(key, count, {.fairness = {{}, weight}});
  }

  /// Takes a task; returns its number.
  int take() {
    auto said = claim("w", 1);
    auto at = said.find("got ");
    if (at == std::string::npos) {
      revoke("w", 1);
      return 0;
    }
    auto number = std::stoi(said.substr(at + 4));
    token_of_[number] = std::stoi(said.substr(said.find("/t", at) + 2));
    taken_.push_back(number);
    return number;
  }

  core::task_lease lease_of(int number) { return held(number, token_of_.at(number)); }

  /// Takes tasks one at a time, each of which runs as long as its key's do. Returns their keys.
  std::string run(int count) {
    std::string keys;
    for (int i = 0; i < count; ++i) {
      auto number = take();
      if (number == 0)
        break;
      const auto& key = key_of_.at(number);
      keys += key.empty() ? "-" : key;
      advance(runs_.contains(key) ? runs_.at(key) : 1ms);
      complete("w", lease_of(number));
    }
    return keys;
  }

  [[nodiscard]] static auto count(const std::string& text, char c) {
    return std::count(text.begin(), text.end(), c);
  }

  /// Null when no task had a key.
  core::queue_fairness* fair() { return state().find_queue({"default", "q"})->fair.get(); }

  std::map<int, std::string> key_of_;
  std::map<int, int> token_of_;
  std::vector<int> taken_;
  std::map<std::string, duration> runs_;
  int last_ = 0;
};

TEST_F(Fairness, KeysTakeTurnsAndNoSlotIdles) {
  add("a", 4);
  add("b", 2);

  EXPECT_EQ(run(9), "ababaa");
  EXPECT_EQ(taken_, (std::vector<int>{1, 5, 2, 6, 3, 4}));
}

TEST_F(Fairness, QueueWithoutKeysHasNoOrderOfThem) {
  add("", 3);

  EXPECT_EQ(fair(), nullptr);
  EXPECT_EQ(run(3), "---");
}

TEST_F(Fairness, TasksOfBeforeTheFirstKeyHaveTheEmptyOne) {
  add("", 2);
  run(1);
  add("a", 2);
  add("", 1);

  EXPECT_EQ(run(4), "-a-a");
}

TEST_F(Fairness, HigherPriorityComesFirstWhateverTheKey) {
  add("a", 2, {.priority = 1});
  add("b", 2);
  add("b", 1, {.priority = 1});

  EXPECT_EQ(run(5), "ababb");
}

TEST_F(Fairness, KeyWhoseTasksRunTenTimesLongerGetsATenthOfTheStarts) {
  runs_ = {{"a", 1000ms}, {"b", 100ms}};
  add("a", 100);
  add("b", 100);
  run(10);

  auto keys = run(55);

  EXPECT_NEAR(static_cast<double>(count(keys, 'a')), 5, 1);
}

TEST_F(Fairness, WeightsShareTheRunTime) {
  add_weighted("a", 40, 3);
  add("b", 40);

  auto keys = run(40);

  EXPECT_EQ(count(keys, 'a'), 30);
}

TEST_F(Fairness, WeightOfANewTaskIsTheWeightOfItsKey) {
  add("a", 40);
  add("b", 40);
  run(10);
  add_weighted("b", 1, 4);

  auto keys = run(40);

  EXPECT_NEAR(static_cast<double>(count(keys, 'b')), 32, 2);
}

TEST_F(Fairness, WeightOfTheSettingsHoldsAtOnceInPlaceOfThatOfTasks) {
  add("a", 100);
  add("b", 100);
  run(10);

  configure("q", {.fairness_weights = {{"b", 4}}});

  EXPECT_NEAR(static_cast<double>(count(run(40), 'b')), 32, 2);
  add_weighted("b", 1, 1);
  EXPECT_NEAR(static_cast<double>(count(run(20), 'b')), 16, 2);
}

TEST_F(Fairness, WeightOfTheSettingsStaysOverARestartUntilItIsTakenAway) {
  configure("q", {.fairness_weights = {{"b", 4}}});
  add_weighted("b", 3, 2);
  auto weight = [&] { return fair()->keys().own_weight(*fair()->keys().find("b")); };
  EXPECT_EQ(weight(), 4u);
  restart();
  EXPECT_EQ(weight(), 4u);

  configure("q", {});

  EXPECT_EQ(weight(), 4u) << "until a task gives another one";
  add_weighted("b", 1, 3);
  EXPECT_EQ(weight(), 3u);
}

TEST_F(Fairness, WeightOfAFirstPartThatIsTakenAwayNoLongerHolds) {
  add("t/x", 60);
  add("u", 60);
  configure("q", {.fairness_weights = {{"t", 5}, {"u", 1}}});
  EXPECT_NEAR(static_cast<double>(count(run(24), 'u')), 4, 1);

  configure("q", {.fairness_weights = {{"u", 1}}});

  const auto& keys = fair()->keys();
  EXPECT_EQ(keys.weights_of(*keys.find("t/x")).group, 1u);
  run(12);
  EXPECT_NEAR(static_cast<double>(count(run(20), 'u')), 10, 1);
}

TEST_F(Fairness, WeightsOfTheSettingsHoldForKeysThatComeLater) {
  configure("q", {.fairness_weights = {{"t", 3}, {"t/x", 2}}});
  add("t/x", 1);
  add("t/y", 1);

  const auto& keys = fair()->keys();
  EXPECT_EQ(keys.weights_of(*keys.find("t/x")).key, 2u);
  EXPECT_EQ(keys.weights_of(*keys.find("t/x")).group, 3u);
  EXPECT_EQ(keys.weights_of(*keys.find("t/y")).key, 1u);
  EXPECT_EQ(keys.weights_of(*keys.find("t/y")).group, 3u);
}

TEST_F(Fairness, ChangeOfAWeightLeavesOtherKeysAndSettingsAlone) {
  configure("q", {.max_depth = 9, .fairness_weights = {{"a", 2}, {"b", 4}}});

  weigh("q", {{"b", 0}, {"c", 5}});
  weigh("q", {{"c", 5}});

  const auto& config = state().find_queue({"default", "q"})->settings.config;
  const std::map<std::string, std::uint32_t> weights{{"a", 2}, {"c", 5}};
  EXPECT_EQ(
    config,
    (queue_config{.max_depth = 9, .fairness_weights = weights, .max_depth_part = 9}));
}

TEST_F(Fairness, ChangeOfOtherSettingsKeepsTheWeightsThatItDoesNotChange) {
  weigh("q", {{"a", 2}, {"b", 4}});
  core::configure_queue change{1, 1, {"default", "q"}, {.fairness_weights = {{"stale", 3}}}};
  change.config.max_depth = 9;
  change.weights = weight_changes{{"b", 0}, {"c", 5}};

  decide(change);

  const auto& config = state().find_queue({"default", "q"})->settings.config;
  const std::map<std::string, std::uint32_t> weights{{"a", 2}, {"c", 5}};
  EXPECT_EQ(
    config,
    (queue_config{.max_depth = 9, .fairness_weights = weights, .max_depth_part = 9}));
}

TEST_F(Fairness, NumberOfWeightsIsLimitedAfterTheChange) {
  weight_changes most;
  for (std::size_t i = 0; i < limits::fairness_weights_max; ++i)
    most["key" + std::to_string(i)] = 2;
  weigh("q", most);
  auto before = core::durable_text(state());

  EXPECT_EQ(weigh("q", {{"further", 2}}), "o: refused invalid_argument");
  EXPECT_EQ(core::durable_text(state()), before);

  weigh("q", {{"further", 2}, {"key0", 0}});
  const auto& weights = state().find_queue({"default", "q"})->settings.config.fairness_weights;
  EXPECT_TRUE(weights.contains("further"));
  EXPECT_EQ(weights.size(), limits::fairness_weights_max);
}

TEST(FairnessWeights, RefusalOfTooManyNamesFieldValueAndLimit) {
  weight_changes weights;
  for (std::size_t i = 0; i <= limits::fairness_weights_max; ++i)
    weights["key" + std::to_string(i)] = 2;

  auto refused = core::check_weights(weights);

  ASSERT_FALSE(refused);
  EXPECT_EQ(
    refused.error().context,
    "the number of fairness_weights would be 101; it must be 0..100; take the weight of another "
    "key away first");
}

TEST_F(Fairness, FirstPartOfTheKeyIsServedFirst) {
  for (int i = 0; i < 4; ++i)
    add("t/" + std::string(1, static_cast<char>('0' + i)), 10);
  add("u", 10);

  auto keys = run(16);

  EXPECT_EQ(count(keys, 'u'), 8);
  for (char c = '0'; c < '4'; ++c)
    EXPECT_EQ(count(keys, c), 2);
}

TEST_F(Fairness, KeyThatComesBackHasNoCreditSavedUp) {
  add("a", 100);
  add("b", 1);
  run(50);

  add("b", 20);

  EXPECT_EQ(count(run(20), 'b'), 10);
}

TEST_F(Fairness, EndOfALeaseSettlesTheRunTime) {
  runs_ = {{"a", 100ms}, {"b", 100ms}};
  add("a", 50);
  add("b", 50);
  run(8);
  // One task of `b` uses the time of ten.
  for (bool is_long = false; !is_long;) {
    auto number = take();
    is_long = key_of_.at(number) == "b";
    advance(is_long ? 1000ms : 100ms);
    complete("w", lease_of(number));
  }

  auto keys = run(6);

  EXPECT_GE(count(keys, 'a'), 4);
}

TEST_F(Fairness, AttemptThatNeverBeganCostsNothing) {
  runs_ = {{"a", 100ms}, {"b", 100ms}};
  add("a", 20);
  add("b", 20);
  run(8);
  for (int i = 0; i < 3; ++i) {
    auto number = take();
    advance(5s);
    abandon("w", lease_of(number));
  }

  auto keys = run(10);

  EXPECT_EQ(count(keys, 'a'), 5);
}

TEST_F(Fairness, RetryKeepsTheKeyAndThePlaceInIt) {
  task_settings settings;
  settings.retry = {retry_kind::fixed, 5s, 5s};
  add("a", 3, {.settings = settings});
  add("b", 3);
  take();
  fail("w", lease_of(1));
  EXPECT_EQ(run(2), "ba");
  advance(5s);

  EXPECT_EQ(run(9), "baba");
  EXPECT_EQ(taken_, (std::vector<int>{1, 4, 2, 5, 1, 6, 3}));
}

TEST_F(Fairness, RestartKeepsKeysAndWeights) {
  add_weighted("a", 30, 2);
  add("b", 30);
  add("c", 1, {.delay = 1h});
  run(3);

  restart();
  attach("w", {"q"});
  token_of_.clear();
  std::string keys;
  for (int i = 0; i < 12; ++i) {
    auto said = claim("w", 1);
    keys += key_of_.at(std::stoi(said.substr(said.find("got ") + 4)));
  }

  EXPECT_EQ(count(keys, 'a'), 8);
  EXPECT_EQ(fair()->keys().active(), 3u);
}

TEST_F(Fairness, CopyOfASurvivorKeepsItsKey) {
  add("a", 8);
  for (int i = 0; i < 8; ++i)
    take();
  for (int i = 1; i < 8; ++i)
    complete("w", lease_of(i));
  fail_permanently("w", lease_of(8));
  take_snapshot();
  for (const auto& left : core::take_sparse(state()))
    bring({left.segment, {{left.tasks.at(0), {bytes("body"), {4}}}}});
  take_snapshot();
  restart();
  attach("w", {"q"});

  redrive(8);

  EXPECT_EQ(core::find_segment(state().segments, task(8))->fairness_key(), "a");
  EXPECT_TRUE(core::find_segment(state().segments, task(8))->copied);
  EXPECT_EQ(fair()->keys().active(), 1u);
}

TEST_F(Fairness, GatedDeferredAndDeadTasksHaveNoTurns) {
  add("a", 2, {.group = "g"});
  add("b", 1, {.delay = 5s});
  add("c", 1);
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(take(), 4);
  EXPECT_EQ(take(), 0);

  fail_permanently("w", lease_of(1));
  advance(5s);

  EXPECT_EQ(run(3), "ab");
  EXPECT_EQ(fair()->keys().active(), 1u);
}

TEST_F(Fairness, PausedQueueGrantsNothing) {
  add("a", 2);
  add("b", 2);
  pause("q");
  EXPECT_EQ(take(), 0);

  unpause("q");

  EXPECT_EQ(run(4), "abab");
}

TEST_F(Fairness, CancelledAndPurgedTasksLeaveTheirKey) {
  add("a", 2);
  add("b", 1);
  cancel(1);
  cancel(2);

  EXPECT_EQ(fair()->keys().active(), 1u);
  EXPECT_EQ(run(2), "b");
}

TEST_F(Fairness, TasksOfOneRequestAreGrantedByKey) {
  std::vector<enqueue_options> tasks;
  for (int i = 0; i < 12; ++i)
    tasks.push_back({.fairness = {i % 4 == 3 ? "b" : "a"}});
  enqueue_all("q", tasks);

  auto said = claim("w", 4);

  std::map<std::string, int> granted;
  state().segments.for_each([&](const core::segment& s) {
    for (auto i = s.first; i < s.first + s.count; ++i)
      granted[std::string(s.fairness_key())] += s.view(i).state == task_state::leased ? 1 : 0;
  });
  EXPECT_EQ(granted["a"], 2) << said;
  EXPECT_EQ(granted["b"], 2) << said;
}

TEST_F(Fairness, ListShowsBacklogShareWeightAndWait) {
  runs_ = {{"a", 200ms}, {"t/x", 100ms}};
  add_weighted("a", 10, 3);
  add("t/x", 10);
  add("t/y", 5);
  run(8);

  auto page = fair()->list({.limit = 10}, {2});

  ASSERT_EQ(page.keys.size(), 3u);
  EXPECT_EQ(page.active_keys, 3u);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(page.keys[0].key, "a");
  EXPECT_EQ(page.keys[0].weight, 3u);
  EXPECT_EQ(page.keys[0].share_ppm, 750'000u);
  EXPECT_EQ(page.keys[1].share_ppm, 125'000u);
  EXPECT_EQ(page.keys[0].expected_run, 200ms);
  // The other group has weight 1, and a task is expected to run 200 ms at most, in two slots.
  EXPECT_EQ(page.keys[0].wait, 200ms);
  // Without a free slot, after what runs now.
  EXPECT_EQ(fair()->list({.limit = 1}, {2, true}).keys[0].wait, 400ms);
  EXPECT_EQ(fair()->list({.limit = 1}, {2, false, true}).keys[0].wait, duration::max());
  EXPECT_EQ(page.keys[0].ready + page.keys[1].ready + page.keys[2].ready, 17u);
}

TEST_F(Fairness, WaitCoversTheRoundOfALongTaskWhoseKeyLeft) {
  runs_ = {{"a", 4s}, {"b", 40ms}, {"c", 40ms}};
  for (const auto* key : {"a", "b", "c"})
    add(key, 1);
  EXPECT_EQ(run(3), "abc");
  add("a", 1);
  add("b", 200);
  add("c", 1);
  ASSERT_EQ(key_of_.at(take()), "a");

  auto wait = fair()->list({.limit = 3}, {1}).keys.at(2).wait;

  auto of_b = static_cast<int>(run(150).find('c'));
  EXPECT_GE(of_b, 50) << "the round is still one of tasks of 4 s";
  EXPECT_GE(wait, of_b * 40ms);
  EXPECT_LE(wait, 8s);
}

TEST_F(Fairness, WaitOfAKeyInDebtIsARoundLonger) {
  runs_ = {{"a", 100ms}, {"b", 100ms}};
  add("a", 10);
  add("b", 10);
  run(9);
  auto list_b = [&] { return fair()->list({.limit = 2}, {1}).keys.at(1); };
  EXPECT_EQ(list_b().wait, 2 * list_b().expected_run);

  ASSERT_EQ(key_of_.at(take()), "b");
  advance(1000ms);
  complete("w", lease_of(taken_.back()));

  EXPECT_EQ(list_b().wait, 4 * list_b().expected_run);
}

TEST_F(Fairness, ExplainedWaitIsTheListedOneOrLittleMore) {
  runs_ = {{"a", 200ms}, {"b", 100ms}};
  add("a", 10);
  add("b", 10);
  run(8);
  std::map<std::string, duration> listed;
  for (const auto& share : fair()->list({.limit = 2}, {1, true}).keys)
    listed[share.key] = share.wait;

  int waiting = 0;
  state().segments.for_each([&](const core::segment& s) {
    auto turn = fair()->wait_of(s, 1);
    if (!turn)
      return;
    ++waiting;
    EXPECT_GE(turn->wait, listed.at(turn->key));
    EXPECT_LE(turn->wait, listed.at(turn->key) * 9 / 8);
  });
  EXPECT_GT(waiting, 0) << "one of the keys is not next";
}

TEST_F(Fairness, ListHasPages) {
  for (const auto* key : {"c", "", "a", "b"})
    add(key, 1);

  auto first = fair()->list({.limit = 2}, {0});
  auto second = fair()->list({.after = "a", .limit = 2, .from_start = false}, {0});

  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.keys[0].key + "," + first.keys[1].key, ",a");
  EXPECT_FALSE(second.more);
  EXPECT_EQ(second.keys[0].key + "," + second.keys[1].key, "b,c");
}

} // namespace
} // namespace codeq::test
