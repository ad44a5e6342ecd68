// SPDX-License-Identifier: Apache-2.0
#include "worker/process/child_handler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <mutex>

#include <sys/wait.h>

namespace codeq::worker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class recording_runtime final : public attempt_runtime {
public:
  [[nodiscard]] duration lease_remaining() const override {
    ++asked;
    return 10s;
  }

  void progress(int, std::string note) override {
    std::lock_guard lock(mutex_);
    notes.push_back(std::move(note));
  }

  void extend(duration) override {}

  void log(std::string_view) override {}

  void save_checkpoint(std::string state, checkpoint_saved then) override {
    {
      std::lock_guard lock(mutex_);
      saved = std::move(state);
    }
    if (then)
      then(true);
  }

  mutable std::atomic<int> asked{0};
  std::vector<std::string> notes;
  std::string saved;

private:
  std::mutex mutex_;
};

/// Handlers of `child_program`, run in child processes of this test.
class ChildHandler : public testing::Test {
protected:
  void serve(const std::string& name) {
    child_command command{CODEQ_TEST_LIBRARIES "/child_program", name, {}};
    handler = make_child_handler(std::move(command), 1s);
  }

  task make_attempt(std::uint32_t attempt = 1) {
    task made;
    made.id = {shard_id{0}, 1};
    made.attempt = attempt;
    made.cancel = std::make_shared<cancellation>();
    made.runtime = runtime;
    return made;
  }

  outcome run(std::uint32_t attempt = 1) { return handler(make_attempt(attempt)); }

  /// Runs a handler that may never answer, and cancels it after `longest`.
  outcome run_for(duration longest) {
    auto attempt = make_attempt();
    auto ended = std::async(std::launch::async, [&] { return handler(attempt); });
    if (ended.wait_for(longest) != std::future_status::ready)
      attempt.cancel->request();
    return ended.get();
  }

  handler_function handler;
  std::shared_ptr<recording_runtime> runtime = std::make_shared<recording_runtime>();
};

TEST_F(ChildHandler, ChildIsKeptForTheNextAttempt) {
  serve("name_process");

  EXPECT_EQ(run().text(), run().text());
}

TEST_F(ChildHandler, ChildThatDiedIdleIsReplaced) {
  serve("name_process");
  auto first = run().text();
  auto pid = static_cast<pid_t>(std::stol(first));

  kill(pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  auto second = run();

  EXPECT_EQ(second.what(), disposition::completed) << second.text();
  EXPECT_NE(second.text(), first);
}

TEST_F(ChildHandler, ChildRunsNoAttemptOfAnotherThread) {
  serve("name_process");
  auto first = run().text();

  auto of_other = std::async(std::launch::async, [this] { return run().text(); }).get();

  EXPECT_NE(of_other, first) << "it would die with this thread";
  EXPECT_EQ(run().text(), first);
}

TEST_F(ChildHandler, LeaseIsToldAsOftenAsTimePasses) {
  serve("talk");
  auto start = std::chrono::steady_clock::now();

  run();

  auto seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  EXPECT_EQ(runtime->notes.size(), 500u);
  // Once with the attempt, then once a second.
  EXPECT_LE(runtime->asked, 1 + seconds.count());
}

TEST_F(ChildHandler, CrashIsSeenAlthoughAnHeirKeepsThePipesOpen) {
  for (const auto* name : {"crash_with_heir", "crash_with_program"}) {
    serve(name);

    auto ended = run_for(10s);

    EXPECT_EQ(ended.what(), disposition::failed);
    EXPECT_THAT(ended.text(), HasSubstr("was killed by signal 6")) << name;
  }
}

TEST_F(ChildHandler, WhatIsSaidForAnEarlierAttemptIsNotTheNextOnes) {
  serve("speak_late");

  run(1);
  run(2);

  EXPECT_THAT(runtime->notes, ElementsAre("in time", "in time"));
}

TEST_F(ChildHandler, CheckpointsPassBothWaysAndAreAnswered) {
  serve("count_to_three");
  auto attempt = make_attempt();
  outcome ended = outcome::abandon();

  for (std::uint32_t i = 1; i <= 3; ++i) {
    attempt = make_attempt(i);
    attempt.checkpoint = bytes(runtime->saved);
    ended = handler(attempt);
  }

  EXPECT_EQ(ended.what(), disposition::completed) << ended.text();
  EXPECT_EQ(ended.text(), "3");
}

TEST_F(ChildHandler, FailureNamesWhatItsOwnAttemptPrinted) {
  serve("print_and_crash_at_second");

  run(1);
  auto ended = run(2);

  EXPECT_THAT(ended.text(), HasSubstr("says attempt 2"));
  EXPECT_THAT(ended.text(), Not(HasSubstr("says attempt 1")));
}

TEST_F(ChildHandler, FollowUpsPass) {
  serve("add_follow_ups");

  auto ended = run();

  ASSERT_EQ(ended.what(), disposition::completed) << ended.text();
  ASSERT_EQ(ended.follow_ups().size(), 2u);
  const auto& plain = ended.follow_ups()[0];
  EXPECT_EQ(plain.tenant, "") << "that of its task";
  EXPECT_EQ(plain.queue, "next");
  EXPECT_EQ(plain.payload, std::string("a\0b", 3));
  EXPECT_FALSE(plain.not_before);
  EXPECT_FALSE(plain.max_attempts);
  EXPECT_FALSE(plain.retry);
  EXPECT_FALSE(plain.lease);
  EXPECT_FALSE(plain.run_timeout);
  EXPECT_FALSE(plain.progress_timeout);
  EXPECT_FALSE(plain.retention);
  EXPECT_FALSE(plain.dead_retention);
  EXPECT_FALSE(plain.when_dead);
}

TEST_F(ChildHandler, EveryFieldOfAFollowUpPasses) {
  serve("add_follow_ups");

  auto ended = run();

  ASSERT_EQ(ended.follow_ups().size(), 2u);
  // Does not compile when a field is added: add the field to the checks below, too.
  // clang-format off
  const auto& [
    only, tenant, queue, payload, priority, delay, not_before, allow_promotion, max_attempts, retry,
    lease, run_timeout, progress_timeout, retention, dead_retention, headers, group, when_dead, key,
    duplicate, replace_payload, fairness_key, fairness_weight, limits_of_task] =
    ended.follow_ups()[1];
  // clang-format on
  EXPECT_EQ(tenant, "t");
  EXPECT_EQ(queue, "other");
  EXPECT_EQ(payload, "");
  EXPECT_EQ(priority, 7);
  EXPECT_EQ(delay, 0ms);
  EXPECT_EQ(not_before, timestamp{duration{1'900'000'000'000}});
  EXPECT_TRUE(allow_promotion);
  EXPECT_EQ(max_attempts, 3u);
  EXPECT_EQ(retry, (retry_policy{retry_kind::linear, 5ms, 9s}));
  EXPECT_EQ(lease, 2s);
  EXPECT_EQ(run_timeout, 3s);
  EXPECT_EQ(progress_timeout, 4s);
  EXPECT_EQ(retention, 1h);
  EXPECT_EQ(dead_retention, 24h);
  EXPECT_EQ(headers, (std::map<std::string, std::string>{{"h", "v"}}));
  EXPECT_EQ(group, "g");
  EXPECT_EQ(when_dead, on_dead::block);
  EXPECT_EQ(key, "k");
  EXPECT_EQ(duplicate, on_duplicate::promote);
  EXPECT_TRUE(replace_payload);
  EXPECT_EQ(fairness_key, "tenant/customer");
  EXPECT_EQ(fairness_weight, 9u);
  EXPECT_EQ(
    limits_of_task,
    (std::vector<task_limit>{{"stripe", std::string("a\0b", 3), 7}, {"smtp", {}, 1}}));
}

TEST_F(ChildHandler, RefusalAndCostsPass) {
  serve("meet_a_limit");

  auto ended = run();

  EXPECT_EQ(ended.what(), disposition::limited);
  EXPECT_EQ(ended.delay(), 30s);
  EXPECT_EQ(ended.limit_name(), "stripe");
  EXPECT_EQ(ended.text(), "429");
  EXPECT_EQ(
    ended.costs(),
    (std::vector<task_limit>{{"stripe", {}, limits::limit_cost_settled_max}, {"smtp", {}, 0}}));
}

TEST_F(ChildHandler, MoreThanMayPassIsAFailureThatSaysSo) {
  serve("add_too_many");
  auto too_many = run();
  EXPECT_EQ(too_many.what(), disposition::failed);
  EXPECT_THAT(too_many.text(), HasSubstr("64"));

  serve("answer_too_much");
  auto too_much = run();
  EXPECT_EQ(too_much.what(), disposition::failed_permanently);
  EXPECT_THAT(too_much.text(), HasSubstr("over the limit of 1048576"));
}

} // namespace
} // namespace codeq::worker
