// SPDX-License-Identifier: Apache-2.0
#include "core/flow/held_tasks.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::core {
namespace {

/// Held tasks of cost 1, taken one after the other.
class held {
public:
  void add(sequence seq, const std::string& key = {}, std::uint8_t priority = 0) {
    EXPECT_TRUE(tasks.insert({priority, seq, key}, 1, terms(key)));
    keys[seq] = key;
  }

  void add_many(sequence first, int count, const std::string& key) {
    for (int i = 0; i < count; ++i)
      add(first + static_cast<sequence>(i), key);
  }

  sequence take() { return tasks.take_next(terms).seq; }

  std::vector<sequence> take_all() {
    std::vector<sequence> all;
    while (!tasks.empty())
      all.push_back(take());
    return all;
  }

  /// The keys of the next tasks.
  std::string run(int count) {
    std::string text;
    for (; count > 0 && !tasks.empty(); --count)
      text += keys.at(take());
    return text;
  }

  [[nodiscard]] std::size_t before(sequence seq) const {
    return tasks.before({0, seq, keys.at(seq)}, terms);
  }

  std::map<std::string, fair_terms, std::less<>> terms_by_key;
  terms_of_key terms = [this](std::string_view key) {
    auto known = terms_by_key.find(key);
    return known == terms_by_key.end() ? fair_terms{} : known->second;
  };
  held_tasks tasks;
  std::map<sequence, std::string> keys;
};

using numbers = std::vector<sequence>;

TEST(HeldTasks, WithoutKeysTheHighestPriorityComesFirstThenTheOldest) {
  held h;
  h.add(3);
  h.add(2, {}, 5);
  h.add(1);
  h.add(4, {}, 5);

  EXPECT_EQ(h.tasks.size(), 4u);
  EXPECT_EQ(h.take_all(), (numbers{2, 4, 1, 3}));
}

TEST(HeldTasks, KeysTakeTurnsAndEachIsInTheOrderOfEnqueue) {
  held h;
  h.add_many(1, 4, "a");
  h.add_many(5, 2, "b");

  EXPECT_EQ(h.take_all(), (numbers{1, 5, 2, 6, 3, 4}));
}

TEST(HeldTasks, HigherPriorityComesFirstWhateverTheKey) {
  held h;
  h.add_many(1, 2, "a");
  h.add(3, "a", 1);
  h.add(4, "b", 1);

  EXPECT_EQ(h.take_all(), (numbers{3, 4, 1, 2}));
}

TEST(HeldTasks, TasksOfBeforeTheFirstKeyHaveTheEmptyOne) {
  held h;
  h.add_many(1, 3, "");
  h.add(4, "a");
  h.add(5, "");

  EXPECT_TRUE(h.tasks.contains({0, 1, ""}));
  EXPECT_EQ(h.take_all(), (numbers{1, 4, 2, 3, 5}));
}

TEST(HeldTasks, KeyWhoseTasksRunTenTimesLongerGetsATenthOfTheStarts) {
  held h;
  h.terms_by_key["a"].cost = 1000;
  h.terms_by_key["b"].cost = 100;
  h.add_many(1, 100, "a");
  h.add_many(101, 100, "b");

  auto order = h.run(110);

  EXPECT_NEAR(static_cast<double>(std::count(order.begin(), order.end(), 'a')), 10, 1);
}

TEST(HeldTasks, WeightsHoldFromTheKeysNextTurnOn) {
  held h;
  h.terms_by_key["a"].weights.group = 3;
  h.add_many(1, 40, "a");
  h.add_many(41, 40, "b");
  EXPECT_EQ(h.run(10), "abaaabaaab") << "of a key that was alone it is 1 until its next turn";

  h.terms_by_key["a"].weights.group = 1;
  auto order = h.run(20);

  EXPECT_NEAR(static_cast<double>(std::count(order.begin(), order.end(), 'a')), 10, 2);
}

TEST(HeldTasks, FirstPartOfTheKeyIsServedFirst) {
  held h;
  h.add_many(1, 4, "a/x");
  h.add_many(11, 4, "a/y");
  h.add_many(21, 4, "b/z");

  EXPECT_EQ(h.take_all(), (numbers{1, 21, 11, 22, 2, 23, 12, 24, 3, 13, 4, 14}));
}

TEST(HeldTasks, RunTimesThatDifferFromTheExpectedOnesAreSettled) {
  held h;
  h.terms_by_key["a"].cost = 10;
  h.terms_by_key["b"].cost = 10;
  h.add_many(1, 40, "a");
  h.add_many(41, 40, "b");
  EXPECT_EQ(h.take(), 1u);
  // It ran for twenty times the expected time; a debt makes the key miss at most a round.
  h.tasks.settle(0, "a", -190);

  EXPECT_EQ(h.run(4), "bbab");
}

TEST(HeldTasks, TakenTaskSaysWhatItsKeyWasCharged) {
  held h;
  h.terms_by_key["a"].cost = 70;
  h.add(1);
  EXPECT_EQ(h.tasks.take_next(h.terms).charged, 0);

  h.add(2, "a");
  h.add(3, "b");
  EXPECT_EQ(h.tasks.take_next(h.terms).charged, 70);
}

TEST(HeldTasks, ErasedTaskIsGoneAndAnotherOneStays) {
  held h;
  h.add_many(1, 2, "a");
  h.add(3, "b");

  EXPECT_FALSE(h.tasks.erase({0, 3, "a"}));
  EXPECT_FALSE(h.tasks.erase({1, 1, "a"}));
  EXPECT_TRUE(h.tasks.erase({0, 1, "a"}));
  EXPECT_FALSE(h.tasks.contains({0, 1, "a"}));
  EXPECT_FALSE(h.tasks.insert({0, 2, "a"}, 1, {}));
  EXPECT_TRUE(h.tasks.erase({0, 3, "b"}));
  EXPECT_EQ(h.take_all(), (numbers{2}));
}

TEST(HeldTasks, NumberBeforeATaskIsThatOfTheTurnsUntilItsOwn) {
  held h;
  h.add_many(1, 100, "flood");
  h.add_many(101, 3, "small");
  EXPECT_NEAR(static_cast<double>(h.before(103)), 5, 1);
  EXPECT_EQ(h.before(100), 99u + 3u);

  h.terms_by_key["flood"].cost = 1000;
  h.terms_by_key["small"].cost = 100;
  EXPECT_EQ(h.before(103), 2u);
}

TEST(HeldTasks, TurnsGoOnWhenKeysOfThePastAreForgotten) {
  held h;
  constexpr sequence past = 5000;
  for (sequence seq = 1; seq <= past; ++seq)
    h.add(seq, "past-" + std::to_string(seq));
  h.add_many(past + 1, 2, "a");
  h.add_many(past + 3, 2, "b");

  for (sequence seq = 1; seq <= past; ++seq)
    EXPECT_TRUE(h.tasks.erase({0, seq, h.keys.at(seq)}));

  EXPECT_EQ(h.run(2).size(), 2u);
  EXPECT_EQ(h.tasks.size(), 2u);
  EXPECT_NE(h.keys.at(h.take()), h.keys.at(h.take()));
}

TEST(HeldTasks, NumberBeforeATaskIsCountedUpToALimit) {
  held h;
  h.add_many(1, 3000, "a");
  EXPECT_EQ(h.before(2000), 1000u);

  h.add(3001, "b");
  EXPECT_EQ(h.before(2000), 1000u);
  EXPECT_NEAR(static_cast<double>(h.before(3001)), 1, 1);
}

/// Tasks of six keys that come, go and are taken at random.
class random_turns {
public:
  explicit random_turns(std::uint64_t seed) : random_(seed) {}

  void step() {
    auto key = std::string(1, static_cast<char>('a' + below(6)));
    if (below(2) == 0)
      add(key);
    else if (below(5) == 0 && !waiting_[key].empty())
      erase_newest(key);
    else if (!held_.tasks.empty())
      take();
  }

private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void add(const std::string& key) {
    if (waiting_[key].empty())
      passed_[key] = 0;
    waiting_[key].insert(next_);
    held_.add(next_++, key);
  }

  void erase_newest(const std::string& key) {
    auto newest = *waiting_[key].rbegin();
    EXPECT_TRUE(held_.tasks.erase({0, newest, key}));
    waiting_[key].erase(newest);
  }

  void take() {
    auto seq = held_.take();
    const auto& key = held_.keys.at(seq);
    ASSERT_EQ(seq, *waiting_[key].begin());
    waiting_[key].erase(seq);
    passed_[key] = 0;
    for (const auto& [other, tasks] : waiting_) {
      if (other != key && !tasks.empty()) {
        EXPECT_LE(++passed_[other], 6) << other;
      }
    }
  }

  std::mt19937_64 random_;
  held held_;
  std::map<std::string, std::set<sequence>> waiting_;
  /// How many tasks of others were taken since the key's last turn.
  std::map<std::string, int> passed_;
  sequence next_ = 1;
};

/// However keys come and go, each task is taken once, the oldest of its key first, and no key waits
/// for longer than a round of the others.
TEST(HeldTasks, KeyWaitsForAtMostARound) {
  const auto seed = test::choose_seed();
  for (std::uint64_t round = 0; round < 50; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    random_turns use(seed + round);
    for (int step = 0; step < 2000; ++step)
      use.step();
  }
}

} // namespace
} // namespace codeq::core
