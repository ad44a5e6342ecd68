// SPDX-License-Identifier: Apache-2.0
#include "core/flow/permit_desk.hpp"

#include "core/commands/routing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// The desk of shard 0 of two, with a task that has its permit of key `k`, and one that has asked
/// for another.
class RecalledPermits : public testing::Test {
protected:
  RecalledPermits() {
    desk_.open(own, 2, session);
    wait(8, "k");
    wait(9, "k");
    hear(say().number);
    const auto asked = say();
    held_ = asked.wanted.at(0).number;
    asked_ = asked.wanted.at(1).number;
    EXPECT_EQ(hear(asked.number, {held_}), std::vector<sequence>{8});
  }

  void wait(sequence seq, const std::string& key) {
    desk_.wait({seq, 0, 0, "t", {{owner, {{"api", key, 1}}}}});
  }

  /// The message that the desk says now.
  ask_permits say() {
    auto letters = desk_.say(now_);
    EXPECT_EQ(letters.size(), 1u);
    return letters.empty() ? ask_permits{} : letters.front().what;
  }

  std::vector<sequence> hear(std::uint64_t heard, std::vector<permit_number> given = {}) {
    return desk_.hear({owner, session, heard, std::move(given)}, now_, has_rate);
  }

  /// The owner recalls the permits of a key.
  void recall(const std::string& key, std::uint64_t number) {
    give_permits said{owner, session};
    said.recalled = {{"t", "api", key}};
    said.recall = number;
    EXPECT_TRUE(desk_.hear(said, now_, has_rate).empty());
    desk_.return_unspent(now_);
  }

  static bool has_rate(const std::string&, const task_limit&) { return false; }

  static std::vector<permit_number> numbers_of(const std::vector<permit_return>& returned) {
    std::vector<permit_number> numbers;
    for (const auto& one : returned)
      numbers.push_back(one.number);
    return numbers;
  }

  static constexpr shard_id own{0};
  static constexpr shard_id owner{1};
  static constexpr std::uint32_t session = 5;
  permit_desk desk_;
  monotonic_time now_{1h};
  permit_number held_ = 0;
  permit_number asked_ = 0;
};

TEST_F(RecalledPermits, AreReturnedInTheSameTurnAndConfirmed) {
  recall("k", 77);

  EXPECT_FALSE(desk_.has_permit(8)) << "it asks again when a worker could take it";
  const auto said = say();
  EXPECT_EQ(numbers_of(said.returned), (std::vector<permit_number>{held_, asked_}));
  EXPECT_TRUE(said.returned.front().is_unspent);
  EXPECT_EQ(said.recall, 77u);
}

TEST_F(RecalledPermits, OneThatComesLateIsNotTaken) {
  recall("k", 77);
  const auto said = say();
  ASSERT_EQ(said.wanted.size(), 1u);
  EXPECT_NE(said.wanted.front().number, asked_) << "it is asked for anew";

  EXPECT_TRUE(hear(said.number, {asked_}).empty());

  EXPECT_FALSE(desk_.has_permit(9));
  const auto again = say();
  EXPECT_EQ(numbers_of(again.returned), std::vector<permit_number>{asked_});
}

TEST_F(RecalledPermits, OfSeveralKeysAreReturnedTogether) {
  std::string further = "l";
  while (shard_of_limit_key("t", {"api", further, 1}, 2) != owner)
    further += "l";
  wait(10, further);
  const auto asked = say();
  ASSERT_EQ(asked.wanted.size(), 1u);
  hear(asked.number);

  give_permits said{owner, session};
  said.recalled = {{"t", "api", "k"}, {"t", "api", further}, {"other", "api", "k"}};
  EXPECT_TRUE(desk_.hear(said, now_, has_rate).empty());
  desk_.return_unspent(now_);

  EXPECT_EQ(
    numbers_of(say().returned),
    (std::vector<permit_number>{held_, asked_, asked.wanted.front().number}));
}

TEST_F(RecalledPermits, OthersStay) {
  recall("other", 77);

  EXPECT_TRUE(desk_.has_permit(8));
  const auto said = say();
  EXPECT_TRUE(said.returned.empty());
  EXPECT_EQ(said.recall, 77u) << "it is followed all the same";
}

TEST_F(RecalledPermits, SpentOnesStay) {
  desk_.spend(8);
  recall("k", 77);

  EXPECT_EQ(numbers_of(say().returned), std::vector<permit_number>{asked_});
}

TEST_F(RecalledPermits, AnOlderRecallIsFollowedAndNotConfirmedInPlaceOfALaterOne) {
  recall("k", 77);
  recall("k", 76);

  EXPECT_EQ(say().recall, 77u);
}

TEST_F(RecalledPermits, OfAKeyThatAReportClosesAreReturnedInTheSameTurn) {
  desk_.close(owner, {"t", {"api", "k", 1}, 400ms}, now_);
  desk_.return_unspent(now_);

  EXPECT_FALSE(desk_.has_permit(8));
  const auto said = say();
  EXPECT_EQ(numbers_of(said.returned), (std::vector<permit_number>{held_, asked_}));
  ASSERT_EQ(said.wanted.size(), 1u);
  EXPECT_EQ(said.closed.size(), 1u) << "the owner hears it before it gives others";
  EXPECT_EQ(said.recall, 0u);
}

} // namespace
} // namespace codeq::core
