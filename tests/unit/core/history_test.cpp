// SPDX-License-Identifier: Apache-2.0
#include "core/tables/history.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using kind = task_event::kind;
using author = task_event::author;

class History : public shard_fixture {
protected:
  /// One task with these options, leased to `w` as 1/t1.
  void lease_one(const enqueue_options& options = {}) {
    attach("w", {"q"});
    claim("w", 1);
    enqueue("q", 1, options);
  }

  /// The notes of the latest turn.
  std::vector<core::task_note> notes() {
    std::vector<core::task_note> found;
    for (const auto& e : events()) {
      if (const auto* ended = std::get_if<core::leases_ended>(&e))
        found.insert(found.end(), ended->notes.begin(), ended->notes.end());
      if (const auto* changed = std::get_if<core::tasks_changed>(&e))
        found.insert(found.end(), changed->notes.begin(), changed->notes.end());
    }
    return found;
  }

  /// The only note of the latest turn.
  core::task_note note() {
    auto found = notes();
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? core::task_note{} : found.front();
  }
};

TEST_F(History, TaskThatCompletesAtOnceHasNone) {
  lease_one();

  complete("w", held(1, 1), "done");

  EXPECT_TRUE(notes().empty());
  EXPECT_EQ(entry_of(1).notes, 0u);
}

TEST_F(History, FailureTellsOfTheAttemptAndOfWhatComesNext) {
  lease_one({.settings = {.retry = {retry_kind::fixed, 1min, 1min}}});
  auto granted = state().at;
  advance(2s);

  core::lease_report how;
  how.how = disposition::failed;
  how.text = bytes("no disk");
  report("w", held(1, 1), how);

  auto failed = note();
  EXPECT_EQ(failed.number, 0u);
  EXPECT_EQ(failed.segment, task(1));
  EXPECT_FALSE(failed.aside);
  EXPECT_EQ(failed.granted_at, granted);
  EXPECT_EQ(failed.event.at, granted + 2s);
  EXPECT_EQ(failed.event.what, kind::failed);
  EXPECT_EQ(failed.event.by, author::worker);
  EXPECT_EQ(failed.event.attempt, 1u);
  EXPECT_EQ(failed.event.token, held(1, 1).token);
  EXPECT_EQ(failed.event.worker, "w");
  EXPECT_EQ(failed.event.text, "no disk");
  EXPECT_EQ(failed.event.state, task_state::scheduled);
  EXPECT_EQ(failed.event.until, failed.event.at + 1min);
}

TEST_F(History, NeighboursThatFailAlikeShareTheirFirstNote) {
  attach("w", {"q"});
  claim("w", 20);
  enqueue("q", 20, {.settings = {.retry = {retry_kind::fixed, 1min, 1min}}});

  core::lease_report how;
  how.how = disposition::failed;
  how.text = bytes("no disk");
  together([&] {
    for (int i = 1; i <= 20; ++i)
      report("w", held(i, i), how);
  });

  auto found = notes();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].seq, task(1));
  EXPECT_EQ(found[0].tasks, core::shared_note_tasks_max);
  EXPECT_EQ(found[0].event.token, held(1, 1).token);
  EXPECT_EQ(found[1].seq, task(17));
  EXPECT_EQ(found[1].tasks, 4u);
  EXPECT_EQ(entry_of(20).notes, 1u);
}

TEST_F(History, CompletionAfterAFailureIsOnlyInItsRecordWithItsGrant) {
  lease_one();
  nack("w", held(1, 1), 0s);
  advance(1s);
  auto granted = state().at;
  claim("w", 1);

  complete("w", held(1, 2), "done");

  EXPECT_TRUE(notes().empty());
  EXPECT_EQ(entry_of(1).notes, 1u);
  const auto& record = std::get<core::leases_ended>(events().front());
  EXPECT_EQ(record.ends.front().grant, 1u);
  EXPECT_EQ(record.grants, (std::vector<core::ended_grant>{{granted, "w"}}));
}

TEST_F(History, LossIsTheCoordinatorsWord) {
  lease_one();
  advance(10s);

  expire(held(1, 1));

  EXPECT_EQ(note().event.what, kind::lost);
  EXPECT_EQ(note().event.by, author::coordinator);
  EXPECT_EQ(note().event.worker, "w");
  EXPECT_EQ(note().event.state, task_state::ready);
}

TEST_F(History, AttemptThatIsGivenBackIsNamedByItsNumber) {
  lease_one();

  abandon("w", held(1, 1));

  EXPECT_EQ(note().event.attempt, 1u);
  EXPECT_EQ(entry_of(1).attempt, 0u);
}

TEST_F(History, CancelledLeaseSaysWhatEndedIt) {
  lease_one();
  cancel(1);
  EXPECT_EQ(note().event.what, kind::cancel_requested);
  EXPECT_EQ(note().event.by, author::operator_user);
  EXPECT_EQ(note().event.token, held(1, 1).token);

  cancel(1);
  EXPECT_TRUE(notes().empty());
  fail("w", held(1, 1));

  EXPECT_EQ(note().event.what, kind::failed);
  EXPECT_EQ(note().event.state, task_state::cancelled);
}

TEST_F(History, CompletionOfALeaseThatWasToBeCancelledIsOnlyInItsRecord) {
  lease_one();
  cancel(1);

  complete("w", held(1, 1));

  EXPECT_TRUE(notes().empty());
  EXPECT_EQ(std::get<core::leases_ended>(events().front()).grants.size(), 1u);
}

TEST_F(History, ForceIsTheOperators) {
  enqueue("q", 3);
  attach("w", {"q"});
  claim("w", 1);

  force(1, force_kind::revoke);
  EXPECT_EQ(note().event.what, kind::revoked);
  EXPECT_EQ(note().event.by, author::operator_user);
  EXPECT_EQ(note().event.worker, "w");

  force(2, force_kind::fail, "by hand");
  EXPECT_EQ(note().event.what, kind::forced_to_fail);
  EXPECT_EQ(note().event.text, "by hand");
  EXPECT_EQ(note().event.token, fencing_token{});
  EXPECT_EQ(note().granted_at, timestamp{});

  force(3, force_kind::complete);
  EXPECT_EQ(note().event.what, kind::forced_to_complete);
}

TEST_F(History, FailureByForceOfACancelledLeaseIsStillOne) {
  lease_one();
  cancel(1);

  force(1, force_kind::fail);

  EXPECT_EQ(note().event.what, kind::forced_to_fail);
  EXPECT_EQ(note().event.state, task_state::cancelled);
}

TEST_F(History, RedrivenTaskGoesOnWithItsHistory) {
  lease_one();
  fail_permanently("w", held(1, 1));

  redrive(1);

  EXPECT_EQ(note().number, 1u);
  EXPECT_EQ(note().event.what, kind::redriven);
  EXPECT_EQ(note().event.state, task_state::ready);
  EXPECT_EQ(note().event.attempt, 0u);
}

TEST_F(History, PromotionAndDuplicatesSayWhoMovedTheTask) {
  enqueue("q", 1, {.delay = 1h, .allow_promotion = true, .key = "k"});

  enqueue(
    "q", 1, {.delay = 2h, .key = "k", .duplicate = on_duplicate::defer, .replace_payload = true});
  auto found = notes();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].event.what, kind::rescheduled);
  EXPECT_EQ(found[0].event.by, author::producer);
  EXPECT_EQ(found[0].event.until, found[0].event.at + 2h);
  EXPECT_EQ(found[1].event.what, kind::payload_replaced);
  EXPECT_TRUE(found[1].aside);

  promote(1);
  EXPECT_EQ(note().event.what, kind::rescheduled);
  EXPECT_EQ(note().event.by, author::operator_user);
  EXPECT_EQ(note().event.state, task_state::ready);
}

TEST_F(History, PurgeSaysHowMuchHasToGo) {
  lease_one();
  nack("w", held(1, 1), 0s);
  claim("w", 1);
  fail_permanently("w", held(1, 2));

  purge(1);

  EXPECT_TRUE(notes().empty());
  EXPECT_EQ(std::get<core::tasks_changed>(events().front()).changes.front().notes, 2u);
}

TEST_F(History, RestartCountsOn) {
  lease_one();
  nack("w", held(1, 1), 0s);
  take_snapshot();
  cancel(1);

  restart();

  EXPECT_EQ(entry_of(1).notes, 2u);
}

TEST_F(History, GrantKeepsItsTimeOverARestart) {
  lease_one();
  auto granted = state().at;
  restart();
  advance(20s);

  expire(held(1, 1));

  EXPECT_EQ(note().granted_at, granted);
}

TEST_F(History, QuestionIsAnsweredByTheStore) {
  lease_one();

  EXPECT_EQ(tell_history(1), "o: 1 is leased by w");
  EXPECT_EQ(tell_history(2), "o: 2 is not here");
  EXPECT_TRUE(events().empty());
}

TEST(HistoryText, IsCutWithAMark) {
  std::string longest(limits::history_text_bytes_max, 'x');

  EXPECT_EQ(core::cut_for_history(longest), longest);
  auto cut = core::cut_for_history(longest + "x");
  EXPECT_EQ(cut.size(), limits::history_text_bytes_max);
  EXPECT_TRUE(cut.ends_with("... [cut from 1025 bytes]"));
}

TEST(HistoryText, IsCutBetweenLetters) {
  // For every position of the mark, one of these shifts puts it inside a multi-byte character.
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'x');
    while (text.size() < 2000)
      text += "\xf0\x9f\x98\x80";

    auto kept = core::cut_for_history(text);
    kept.resize(kept.find("... [cut from"));

    EXPECT_EQ((kept.size() - shift) % 4, 0u);
  }
}

} // namespace
} // namespace codeq::test
