// SPDX-License-Identifier: Apache-2.0
#include "codeq/json_codec.hpp"
#include "codeq/testing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <tuple>

namespace {

struct order {
  std::string id;
  int count = 0;
};
BOOST_DESCRIBE_STRUCT(order, (), (id, count))

struct receipt {
  int total = 0;
};
BOOST_DESCRIBE_STRUCT(receipt, (), (total))

/// Has a codec of its own, which throws.
struct pair_of_words {
  std::string first;
  std::string second;
};

} // namespace

template <>
struct codeq::codec<pair_of_words> {
  static std::string encode(const pair_of_words& value) { return value.first + " " + value.second; }

  static codeq::result<pair_of_words> decode(std::string_view bytes) {
    auto space = bytes.find(' ');
    if (space == std::string_view::npos)
      throw std::runtime_error("field `second` is missing");
    return pair_of_words{std::string(bytes.substr(0, space)), std::string(bytes.substr(space + 1))};
  }
};

namespace codeq::testing {
namespace {

using ::testing::HasSubstr;
using kind = disposition;

class TypedHandler : public ::testing::Test {
protected:
  /// Runs the handler that the test registered for queue `q`.
  outcome run(const std::string& payload) {
    return run_once(handlers, {.queue = "q", .payload = payload}).outcome;
  }

  handler_registry handlers;
};

TEST_F(TypedHandler, GetsTheDecodedPayloadAndItsResultIsEncoded) {
  handlers.handle<order, receipt>("q", [](const order& given) { return receipt{given.count * 2}; });

  auto ended = run(R"({"id": "a", "count": 3})");

  EXPECT_EQ(ended.what(), kind::completed);
  EXPECT_EQ(ended.text(), R"({"total":6})");
}

TEST_F(TypedHandler, PayloadThatCannotBeReadIsAPermanentFailureThatNamesTheField) {
  bool is_called = false;
  handlers.handle<order>("q", [&](const order&) { is_called = true; });

  auto ended = run(R"({"id": "a", "count": "three"})");

  EXPECT_EQ(ended.what(), kind::failed_permanently);
  EXPECT_EQ(ended.text(), "payload: field `count` is a string; it must be an integer");
  EXPECT_FALSE(is_called);
}

TEST_F(TypedHandler, ExceptionOfACodecIsAPermanentFailureToo) {
  handlers.handle<pair_of_words>("q", [](pair_of_words) {});

  auto ended = run("one");

  EXPECT_EQ(ended.what(), kind::failed_permanently);
  EXPECT_EQ(ended.text(), "payload: field `second` is missing");
}

TEST_F(TypedHandler, CodecMayBeOnesOwn) {
  handlers.handle<pair_of_words, pair_of_words>("q", [](const pair_of_words& given) {
    return pair_of_words{given.second, given.first};
  });

  EXPECT_EQ(run("one two").text(), "two one");
}

TEST_F(TypedHandler, MayTakeTheTask) {
  handlers.handle<std::string, std::string>(
    "q", [](std::string text, const task& attempt) { return attempt.queue + ":" + text; });

  EXPECT_EQ(run("x").text(), "q:x");
}

TEST_F(TypedHandler, MayReturnAnyOutcome) {
  handlers.handle<order, receipt>("q", [](const order& given) -> typed_outcome<receipt> {
    if (given.count == 0)
      return outcome::failed("none left");
    return receipt{given.count};
  });

  EXPECT_EQ(run(R"({"id": "a", "count": 0})").text(), "none left");
  EXPECT_EQ(run(R"({"id": "a", "count": 1})").text(), R"({"total":1})");
}

TEST_F(TypedHandler, ReceiptMayHaveFollowUps) {
  handlers.handle<order, receipt>("q", [](const order& given) -> typed_outcome<receipt> {
    return typed_outcome<receipt>(receipt{given.count}).then({.queue = "next", .payload = "x"});
  });

  auto ended = run(R"({"id": "a", "count": 1})");

  EXPECT_EQ(ended.text(), R"({"total":1})");
  EXPECT_EQ(ended.follow_ups().size(), 1u);
}

TEST_F(TypedHandler, WithoutAResultTypeCompletesWithoutAResult) {
  handlers.handle<order>("q", [](const order&) {});

  auto ended = run(R"({"id": "a", "count": 1})");

  EXPECT_EQ(ended.what(), kind::completed);
  EXPECT_EQ(ended.text(), "");
}

TEST_F(TypedHandler, ExceptionOfTheFunctionIsRetried) {
  handlers.handle<order>("q", [](const order&) { throw std::runtime_error("no connection"); });

  auto ended = run(R"({"id": "a", "count": 1})");

  EXPECT_EQ(ended.what(), kind::failed);
  EXPECT_EQ(ended.text(), "exception: no connection");
}

TEST_F(TypedHandler, PayloadAndResultAreReadByTheProducerWithTheSameCodec) {
  handlers.handle<order, receipt>("q", [](const order& given) { return receipt{given.count}; });
  testbed bed(handlers);

  auto task = bed.enqueue({.queue = "q", .payload = encode(order{"a", 7})}).value().id;

  EXPECT_EQ(decode<receipt>(bed.status(task).value().result).value().total, 7);
}

TEST(RunOnceRegistered, HandlerSeesEveryFieldOfTheTask) {
  handler_registry handlers;
  std::vector<task> seen;
  handlers.handle("q", [&](const task& attempt) {
    seen.push_back(attempt);
    return outcome::completed();
  });
  task_spec spec{.tenant = "t", .queue = "q", .payload = "p", .priority = 3};
  spec.headers = {{"name", "value"}};
  spec.group = "g";
  spec.key = "k";
  auto now = timestamp(duration(7));

  static_cast<void>(run_once(
    handlers,
    spec,
    {.attempt = 2, .token = fencing_token{9}, .checkpoint = "c", .enqueued_at = now}));

  ASSERT_EQ(seen.size(), 1u);
  const auto& given = seen.front();
  EXPECT_EQ(
    std::tie(given.tenant, given.queue, given.key, given.group, given.priority, given.attempt),
    std::tuple("t", "q", "k", "g", 3, 2u));
  EXPECT_EQ(given.payload, "p");
  EXPECT_EQ(given.headers, spec.headers);
  EXPECT_EQ(given.checkpoint, "c");
  EXPECT_EQ(given.token, fencing_token{9});
  EXPECT_EQ(given.enqueued_at, now);
  EXPECT_EQ(given.lease_remaining(), given.lease);
}

TEST(RunOnce, OutcomeThatAWorkerRefusesIsItsFailure) {
  auto after = [](const outcome& answer) {
    return run_once([answer](const task&) { return answer; }, {.queue = "q", .payload = {}})
      .outcome;
  };

  auto large = after(outcome::completed(std::string(limits::result_bytes_max + 1, 'x')));
  EXPECT_EQ(large.what(), disposition::failed_permanently);
  EXPECT_THAT(large.text(), HasSubstr("the result has 1048577 bytes"));
  auto early = after(outcome::nack(std::chrono::seconds(-5), "later"));
  EXPECT_EQ(early.what(), disposition::failed);
  EXPECT_THAT(early.text(), HasSubstr("nack with a delay of -5000 ms"));
  auto followed = after(outcome::completed().then({.queue = "no such queue!", .payload = {}}));
  EXPECT_EQ(followed.what(), disposition::failed);
  EXPECT_THAT(followed.text(), HasSubstr("its follow-ups were refused: follow-up 0"));
}

TEST(RunOnce, OutcomeWithinItsLimitsIsThatOfTheHandler) {
  auto ran = run_once(
    [](const task&) {
      return outcome::completed("r").cost("tokens", 5000).then({.queue = "next", .payload = "x"});
    },
    {.queue = "q", .payload = {}});

  EXPECT_EQ(ran.outcome.what(), disposition::completed);
  EXPECT_EQ(ran.outcome.text(), "r");
  EXPECT_EQ(ran.outcome.costs(), (std::vector<task_limit>{{"tokens", {}, 5000}}));
  ASSERT_EQ(ran.outcome.follow_ups().size(), 1u);
  EXPECT_EQ(ran.outcome.follow_ups().front().queue, "next");
}

TEST(RunOnceRegistered, QueueWithoutAFunctionIsAnException) {
  handler_registry handlers;
  handlers.handle_batch("q", 2, [](std::span<const task>) { return std::vector<outcome>(); });
  auto run = [&](const char* queue) {
    static_cast<void>(run_once(handlers, {.queue = queue, .payload = {}}));
  };

  EXPECT_THAT(
    [&] { run("q"); },
    ::testing::ThrowsMessage<std::invalid_argument>(
      HasSubstr("queue `q` is not handled by a function, its kind is batch; use a testbed")));
  EXPECT_THAT(
    [&] { run("other"); },
    ::testing::ThrowsMessage<std::invalid_argument>(
      HasSubstr("queue `other` has no handler here")));
}

TEST(RunOnceRegistered, HandlerOfTheLongestPatternIsCalled) {
  handler_registry handlers;
  handlers.handle("*", [](const task&) { return outcome::completed("any"); });
  handlers.handle("print-*", [](const task& given) { return outcome::completed(given.queue); });

  EXPECT_EQ(run_once(handlers, {.queue = "print-a4", .payload = {}}).outcome.text(), "print-a4");
}

/// The error of the receipt of a task that ended so.
std::string refusal_of(const ended_task& ended) {
  auto paid = result_of<receipt>(ended);
  return paid ? "" : codeq::to_string(paid.error());
}

TEST(ResultOf, IsTheValueThatACompletedTaskReturned) {
  auto paid = result_of<receipt>(ended_task{.id = {}, .result = encode(receipt{7})});

  ASSERT_TRUE(paid) << codeq::to_string(paid.error());
  EXPECT_EQ(paid->total, 7);
  EXPECT_EQ(*result_of<std::string>(ended_task{.id = {}, .result = "text"}), "text");
  EXPECT_TRUE(result_of<void>(ended_task{.id = {}, .result = "anything"}));
}

TEST(ResultOf, SaysHowATaskWithoutAResultEnded) {
  using enum task_state;
  EXPECT_EQ(
    refusal_of({.id = {}, .state = dead, .error_text = "field `prices` is empty"}),
    "not_completed: the task is dead: field `prices` is empty");
  EXPECT_EQ(
    refusal_of({.id = {}, .state = cancelled}), "not_completed: the task was cancelled");
  EXPECT_EQ(
    result_of<void>(ended_task{.id = {}, .state = dead}).error().code, errc::not_completed);
  EXPECT_FALSE(is_retryable(errc::not_completed));
}

TEST(ResultOf, RefusesAResultThatCannotBeRead) {
  EXPECT_EQ(
    refusal_of({.id = {}, .result = "{}"}), "invalid_argument: result: field `total` is missing");
}

TEST(ResultOf, PassesTheErrorOfAnAwaitOn) {
  auto late = result_of<receipt>(result<ended_task>(error{errc::timeout, "not in time"}));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error(), (error{errc::timeout, "not in time"}));

  auto paid = result_of<receipt>(
    result<ended_task>(ended_task{.id = {}, .result = encode(receipt{3})}));
  ASSERT_TRUE(paid) << codeq::to_string(paid.error());
  EXPECT_EQ(paid->total, 3);
}

} // namespace
} // namespace codeq::testing
