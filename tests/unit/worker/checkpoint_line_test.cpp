// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "worker/handlers/attempt_line.hpp"
#include "worker/handlers/checkpoint_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

namespace codeq::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class UnsavedCheckpoint : public testing::Test {
protected:
  void save(const std::string& state) {
    line.save(state, [this, state](bool saved) { heard.push_back(state + (saved ? "+" : "-")); });
  }

  /// The next checkpoint as "number data"; empty when there is none.
  std::string take() {
    auto taken = line.take();
    return taken ? std::to_string(taken->number) + " " + std::string(taken->data.view()) : "";
  }

  std::vector<std::string> heard;
  unsaved_checkpoint line;
};

TEST_F(UnsavedCheckpoint, OnlyTheLatestIsSentAndOnlyOnce) {
  save("a");
  save("b");

  EXPECT_EQ(take(), "2 b");
  EXPECT_EQ(take(), "");
  EXPECT_EQ(line.latest().number, 2u);
}

TEST_F(UnsavedCheckpoint, AnswerTellsAllThatItCovers) {
  save("a");
  save("b");
  save("c");

  line.saved(2);

  EXPECT_THAT(heard, ElementsAre("a+", "b+"));
  EXPECT_EQ(line.latest().number, 3u);
}

TEST_F(UnsavedCheckpoint, NewConnectionSendsWhatWasNotAnswered) {
  save("a");
  EXPECT_EQ(take(), "1 a");

  line.resend();
  EXPECT_EQ(take(), "1 a");
  line.saved(1);
  line.resend();

  EXPECT_EQ(take(), "");
  EXPECT_EQ(line.latest().number, 0u);
}

TEST_F(UnsavedCheckpoint, PostponedOneIsSentAgainAfterThePauseAndNothingBefore) {
  save("a");
  EXPECT_EQ(take(), "1 a");

  line.postpone(1);
  EXPECT_EQ(take(), "");
  save("b");
  EXPECT_EQ(take(), "") << "there is no room for it either";
  EXPECT_TRUE(line.resend_postponed());
  EXPECT_EQ(take(), "2 b");

  line.saved(2);
  EXPECT_FALSE(line.resend_postponed());
  EXPECT_THAT(heard, ElementsAre("a+", "b+"));
}

TEST_F(UnsavedCheckpoint, IsNotPostponedWhenALaterOneWasSent) {
  save("a");
  EXPECT_EQ(take(), "1 a");
  save("b");
  EXPECT_EQ(take(), "2 b");

  line.postpone(1);

  EXPECT_FALSE(line.resend_postponed());
  EXPECT_EQ(take(), "");
}

TEST_F(UnsavedCheckpoint, NewConnectionSendsAPostponedOneAtOnce) {
  save("a");
  EXPECT_EQ(take(), "1 a");
  line.postpone(1);

  line.resend();

  EXPECT_EQ(take(), "1 a");
}

TEST(AttemptLine, CheckpointIsProgressUnlessItRepeatsAPostponedOne) {
  attempt_line line({}, std::make_shared<wake_signal>([] {}));
  auto take = [&line] {
    auto said = line.take();
    return (said.checkpoint ? std::string(said.checkpoint->data.view()) : "")
           + (said.progressed ? " progressed" : "");
  };
  line.save_checkpoint("a", {});
  EXPECT_EQ(take(), "a progressed");

  line.unsaved().postpone(1);
  EXPECT_TRUE(line.unsaved().resend_postponed());
  EXPECT_EQ(take(), "a");
  line.unsaved().postpone(1);
  line.unsaved().resend();
  EXPECT_EQ(take(), "a progressed") << "the connection is new";
  line.unsaved().postpone(1);
  line.save_checkpoint("b", {});
  EXPECT_TRUE(line.unsaved().resend_postponed());
  EXPECT_EQ(take(), "b progressed");
}

TEST_F(UnsavedCheckpoint, EndTellsThatNobodyKnows) {
  save("a");
  line.saved(1);
  save("b");

  line.give_up();

  EXPECT_THAT(heard, ElementsAre("a+", "b-"));
}

TEST_F(UnsavedCheckpoint, WhoeverHearsMaySaveMore) {
  line.save("a", [this](bool) { line.save("b", {}); });

  line.saved(1);

  EXPECT_EQ(take(), "2 b");
  EXPECT_THAT(heard, IsEmpty());
}

TEST(TaskCheckpoint, TooLargeAStateIsAnErrorThatNamesBothSizes) {
  task attempt;

  attempt.save_checkpoint(std::string(limits::checkpoint_bytes_max, 'x'));

  try {
    attempt.save_checkpoint(std::string(limits::checkpoint_bytes_max + 1, 'x'));
    FAIL() << "too much was taken";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "save_checkpoint: state has 65537 bytes; the limit is 65536");
  }
}

} // namespace
} // namespace codeq::worker
