// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator_types.hpp"

#include <gtest/gtest.h>

namespace codeq {

namespace {

using namespace std::chrono_literals;

task_explanation why(task_reason reason) {
  task_explanation e;
  e.reason = reason;
  e.task.attempt = 2;
  e.task.max_attempts = 5;
  e.task.worker = "w1";
  e.error_text = "disk on fire";
  e.until = timestamp{duration{1'769'860'800'250}};
  e.blocker = {shard_id{1}, 7};
  e.blocker_state = task_state::leased;
  e.lease_left = 7200ms;
  e.workers = 2;
  e.queue.max_leased = 4;
  return e;
}

} // namespace

TEST(Explanation, IsOneSentenceForEachReason) {
  using enum task_reason;
  auto blocker = to_string(task_id{shard_id{1}, 7});

  EXPECT_EQ(to_sentence(why(deferred)), "deferred until 2026-01-31 12:00:00.250 UTC");
  EXPECT_EQ(
    to_sentence(why(retry_waiting)),
    "retry 3 of 5 at 2026-01-31 12:00:00.250 UTC; the last attempt failed because: disk on fire");
  auto silent = why(retry_waiting);
  silent.error_text.clear();
  EXPECT_EQ(to_sentence(silent), "retry 3 of 5 at 2026-01-31 12:00:00.250 UTC");
  EXPECT_EQ(to_sentence(why(gated)), "waits behind " + blocker + " (leased) of its group");
  EXPECT_EQ(
    to_sentence(why(blocked)),
    "blocked by " + blocker + " (leased) of its group; redrive or purge that one");
  EXPECT_EQ(to_sentence(why(queue_paused)), "queue paused");
  auto failing = why(queue_paused);
  failing.pause_reason = "breaker, 63 % of 120 attempts failed in 1m";
  EXPECT_EQ(
    to_sentence(failing), "queue paused: breaker, 63 % of 120 attempts failed in 1m");
  auto unserved = why(no_worker);
  unserved.task.tenant = "default";
  unserved.task.queue = "shuot";
  EXPECT_EQ(
    to_sentence(unserved),
    "no connected worker claims from queue `shuot` of tenant default; a worker over HTTP counts "
    "while it waits in a claim");
  EXPECT_EQ(
    to_sentence(why(queue_at_max_leased)),
    "the queue has as many leases as it may (max_leased is 4)");
  EXPECT_EQ(to_sentence(why(no_free_slots)), "no free slots at its 2 workers");
  EXPECT_EQ(to_sentence(why(next)), "handed out next");
  EXPECT_EQ(
    to_sentence(why(leased)),
    "leased by w1, attempt 2 of 5; lease ends in 7.2 s without a heartbeat");
  auto waiting = why(leased);
  waiting.waits_at_worker = true;
  EXPECT_EQ(
    to_sentence(waiting),
    "waits for a free slot at w1, attempt 2 of 5; lease ends in 7.2 s without a heartbeat");
  auto cancelling = why(leased);
  cancelling.task.cancel_requested = true;
  EXPECT_EQ(
    to_sentence(cancelling),
    "leased by w1, attempt 2 of 5; lease ends in 7.2 s without a heartbeat; a cancel was "
    "requested, and its handler may still complete");
  EXPECT_EQ(to_sentence(why(completed)), "completed");
  EXPECT_EQ(to_sentence(why(dead)), "dead after attempt 2 of 5 because: disk on fire");
  EXPECT_EQ(to_sentence(why(cancelled)), "cancelled");
}

TEST(Explanation, CountsWorkersInWords) {
  auto busy = why(task_reason::no_free_slots);

  busy.workers = 1;
  EXPECT_EQ(to_sentence(busy), "no free slots at its 1 worker");
  busy.workers = 0;
  EXPECT_EQ(to_sentence(busy), "no free slots at its workers");
}

TEST(Explanation, LimitSaysUntilWhenItsKeyIsClosed) {
  auto held = why(task_reason::limited);
  held.limit = "stripe";
  held.limit_key = "acct_42";
  held.limit_before = 3;
  const std::string start = "held back by limit stripe, key \"acct_42\", behind 3 others; ";
  const std::string next = "the next start is possible at 2026-01-31 12:00:00.250 UTC";
  EXPECT_EQ(to_sentence(held), start + next);

  held.limit_closed_until = held.until;
  const std::string closed = "; the key is closed until 2026-01-31 12:00:00.250 UTC";
  EXPECT_EQ(to_sentence(held), start + next + closed);
  held.until = timestamp{};
  EXPECT_EQ(
    to_sentence(held),
    start + "a lease has to end first, or the concurrency to be raised" + closed);
  held.limit_before = 1000;
  EXPECT_NE(to_sentence(held).find(", behind at least 1000 others; "), std::string::npos);
}

TEST(Explanation, LimitSaysThatItsTenantUsesTooManyKeys) {
  auto held = why(task_reason::limited);
  held.limit = "stripe";
  held.limit_key = "acct_42";
  held.until = timestamp{};
  held.is_out_of_limit_keys = true;

  EXPECT_EQ(
    to_sentence(held),
    "held back by limit stripe, key \"acct_42\", behind 0 others; tenant " + held.task.tenant
      + " uses as many limit keys as it may on the shard of this one (limit_keys_max is 200000), "
        "so that another one has to become unused first");
}

TEST(Explanation, FairnessNamesTheKeyTheTurnsBeforeItAndTheBound) {
  auto turn = why(task_reason::fairness);
  turn.fairness_key = "customer-1\n";
  turn.fairness_before = 3;
  turn.fairness_wait = 4901ms;

  EXPECT_EQ(
    to_sentence(turn),
    "waits for the turn of its fairness key \"customer-1.\", behind 3 others; a task of the key "
    "starts within 5.0 s");
  turn.fairness_key = {};
  turn.fairness_before = 1;
  turn.fairness_wait = 1ms;
  EXPECT_EQ(
    to_sentence(turn),
    "waits for the turn of the empty fairness key, behind 1 other; a task of the key starts within "
    "0.1 s");
  turn.fairness_wait = duration::max();
  EXPECT_EQ(to_sentence(turn), "waits for the turn of the empty fairness key, behind 1 other");
  turn.fairness_before = 1000;
  EXPECT_EQ(
    to_sentence(turn),
    "waits for the turn of the empty fairness key, behind at least 1000 others");
}

TEST(Explanation, NumbersOfALaterVersionHaveAName) {
  EXPECT_EQ(to_string(static_cast<task_reason>(15)), "unknown");
  EXPECT_EQ(to_string(static_cast<task_event::kind>(18)), "unknown");
  EXPECT_EQ(to_string(static_cast<task_event::author>(4)), "unknown");
  EXPECT_EQ(to_sentence(why(static_cast<task_reason>(15))), "unknown");
}

TEST(TimeText, IsUtcWithMilliseconds) {
  EXPECT_EQ(to_string(timestamp{}), "1970-01-01 00:00:00.000 UTC");
  EXPECT_EQ(to_string(timestamp{duration{1'769'860'800'250}}), "2026-01-31 12:00:00.250 UTC");
}

} // namespace codeq
