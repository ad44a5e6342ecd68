// SPDX-License-Identifier: Apache-2.0
#include "worker/handlers/batch_handler.hpp"
#include "worker/host/handler_set.hpp"
#include "worker/process/child_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace codeq::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

outcome done(const task&) {
  return outcome::completed();
}

handler_registry two_handlers() {
  handler_registry made;
  made.handle("f", done, {.slots = 2, .weight = 3});
  made.handle_batch("b", 4, [](std::span<const task> tasks) {
    return std::vector<outcome>(tasks.size(), outcome::completed());
  });
  return made;
}

handler_set load(handler_registry own = two_handlers()) {
  return handler_set::load({std::move(own), {}, {}, "/proc/self/exe"}).value();
}

std::string refusal_of(const handler_wishes& wishes) {
  auto chosen = load().choose(wishes);
  return chosen ? "" : chosen.error().context;
}

TEST(HandlerSet, HandlersAreServedAsTheySayUnlessAnOperatorSaysOtherwise) {
  auto plain = load().choose({}).value();
  auto changed = load().choose({{{"f", {.slots = 1, .weight = 9}}}, {}}).value();

  EXPECT_EQ(plain.front().options.slots, 2u);
  EXPECT_EQ(changed.front().options.slots, 1u);
  EXPECT_EQ(changed.front().options.weight, 9u);
}

TEST(HandlerSet, OnlyTheQueuesAskedForAreServed) {
  auto chosen = load().choose({{}, {"b"}}).value();

  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen.front().queue, "b");
}

TEST(HandlerSet, WrongWishNamesItsQueueAndLimit) {
  EXPECT_THAT(refusal_of({{{"x", {}}}, {}}), HasSubstr("queue `x` has no handler"));
  EXPECT_THAT(
    refusal_of({{}, {"x"}}), HasSubstr("queue `x` has no handler here; there are handlers of f, "));
  EXPECT_THAT(
    refusal_of({{{"f", {.weight = 0}}}, {}}), HasSubstr("weight is 0; it must be 1..1000"));
  EXPECT_THAT(
    refusal_of({{{"f", {.slots = 5000}}}, {}}), HasSubstr("slots is 5000; it must be 0..4096"));
  EXPECT_THAT(
    refusal_of({{{"b", {.run_in = isolation::process}}}, {}}), HasSubstr("functions only"));
}

handler_registry of_patterns() {
  handler_registry made;
  made.handle("*", done, {.weight = 1});
  made.handle("print-*", done, {.weight = 2});
  made.handle("print-a4", done, {.weight = 3});
  return made;
}

/// Each chosen queue with the weight of its handler.
std::string chosen(const handler_wishes& wishes) {
  auto all = load(of_patterns()).choose(wishes);
  if (!all)
    return all.error().context;
  std::string text;
  for (const auto& each : *all)
    text += (text.empty() ? "" : " ") + each.queue + "=" + std::to_string(each.options.weight);
  return text;
}

TEST(HandlerSet, NameDecidesBeforePatternsAndLongerPatternsBeforeShorterOnes) {
  EXPECT_EQ(chosen({}), "*=1 print-*=2 print-a4=3");
  EXPECT_EQ(chosen({{}, {"mail", "print-a3", "print-a4"}}), "print-a4=3 mail=1 print-a3=2");
  EXPECT_EQ(chosen({{}, {"print-*"}}), "print-*=2 print-a4=3");
  EXPECT_EQ(chosen({{}, {"print-a*", "*"}}), "*=1 print-*=2 print-a4=3 print-a*=2");
}

TEST(HandlerSet, OptionsOfAQueueThatAPatternHandlesAreItsOwn) {
  handler_wishes wishes{{{"mail", {.weight = 7}}, {"print-*", {.weight = 8}}}, {}};

  EXPECT_EQ(chosen(wishes), "*=1 print-*=8 print-a4=3 mail=7");
}

TEST(HandlerSet, WrongPatternIsRefused) {
  EXPECT_THAT(chosen({{}, {"a*b"}}), HasSubstr("`a*b` is no queue or pattern"));
  handler_registry many;
  for (std::size_t i = 0; i <= limits::queue_patterns_per_worker_max; ++i)
    many.handle("q" + std::to_string(i) + "-*", done);
  EXPECT_THAT(
    load(many).choose({}).error().context, HasSubstr("65 patterns of queues are handled"));
  EXPECT_THAT(refusal_of({{}, {"x*"}}), HasSubstr("queue `x*` has no handler here"));
}

TEST(HandlerSet, IsolatedHandlerIsTheOneThatDecidesForTheQueue) {
  auto set = load(of_patterns());

  EXPECT_EQ(set.handler_of("print-a3").value().queue, "print-*");
  EXPECT_EQ(set.handler_of("print-*").value().queue, "print-*");
  EXPECT_EQ(set.handler_of("mail").value().queue, "*");
}

TEST(HandlerSet, TwoHandlersOfAQueueAreRefusedWithTheirSources) {
  const std::string good = CODEQ_TEST_LIBRARIES "/good_handlers.so";
  const std::string same = CODEQ_TEST_LIBRARIES "/../tests/good_handlers.so";
  auto refusal = [](handler_sources from) {
    return handler_set::load(std::move(from)).value().choose({}).error().context;
  };

  EXPECT_EQ(
    refusal({{}, {good, same}, {}, {}}),
    "queue `by-function` has two handlers, from handler library " + good + " and handler library "
      + same + "; it must have one");
  EXPECT_EQ(
    refusal({{}, {good, good}, {}, {}}),
    "queue `by-function` has two handlers, both from handler library " + good
      + "; it must have one");
  EXPECT_EQ(
    refusal({two_handlers(), {}, {"f=cat -n"}, {}}),
    "queue `f` has two handlers, from this process and program cat; it must have one");
}

TEST(HandlerSet, KindsAreNamed) {
  auto set = load();
  auto chosen = set.choose({}).value();

  EXPECT_EQ(set.kind_of(chosen[0]), "function");
  EXPECT_EQ(set.kind_of(chosen[1]), "batch");
}

TEST(BatchHandler, ExceptionFailsEveryTask) {
  std::vector<task> tasks(2);

  auto answers = call_batch(
    [](std::span<const task>) -> std::vector<outcome> { throw std::runtime_error("no"); }, tasks);

  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].text(), "exception: no");
}

TEST(BatchHandler, WrongNumberOfOutcomesFailsEveryTask) {
  std::vector<task> tasks(2);

  auto answers = call_batch(
    [](std::span<const task>) { return std::vector<outcome>{outcome::completed()}; }, tasks);

  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].what(), disposition::failed);
  EXPECT_THAT(answers[0].text(), HasSubstr("returned 1 outcome for 2 tasks"));
}

TEST(ChildMessages, AttemptTravelsWhole) {
  task attempt;
  attempt.id = {shard_id{3}, 77};
  attempt.tenant = "t";
  attempt.queue = "q";
  attempt.key = std::string("k\0y", 3);
  attempt.group = "g";
  attempt.priority = 9;
  attempt.attempt = 2;
  attempt.max_attempts = 5;
  attempt.token = fencing_token{1ull << 62};
  attempt.lease = duration{10'000};
  attempt.enqueued_at = timestamp{duration{1'700'000'000'000}};
  attempt.payload = bytes(std::string("a\0b", 3));
  attempt.headers = {{"traceparent", "00"}};

  auto sent = make_attempt(attempt, 1);
  task got;
  ASSERT_TRUE(sent.read([&](schema::ToChild::Reader root) -> result<void> {
    got = read_attempt(root.getAttempt());
    return {};
  }));

  EXPECT_EQ(got.id, attempt.id);
  EXPECT_EQ(got.tenant + got.queue + got.key + got.group, "tq" + attempt.key + "g");
  EXPECT_EQ(got.priority, 9);
  EXPECT_EQ(got.attempt, 2u);
  EXPECT_EQ(got.max_attempts, 5u);
  EXPECT_EQ(got.token, attempt.token);
  EXPECT_EQ(got.lease, attempt.lease);
  EXPECT_EQ(got.enqueued_at, attempt.enqueued_at);
  EXPECT_EQ(got.payload, attempt.payload);
  EXPECT_EQ(got.headers, attempt.headers);
}

TEST(ChildMessages, BytesThatComeInPiecesAreMessagesOnceTheyAreWhole) {
  auto written = with_length(make_child_cancel(1).body());
  message_buffer buffer;

  buffer.append(std::string_view(written).substr(0, 5));
  EXPECT_FALSE(buffer.next().value());
  buffer.append(std::string_view(written).substr(5));

  EXPECT_EQ(**buffer.next(), make_child_cancel(1).body());
  EXPECT_FALSE(buffer.next().value());
}

TEST(ChildMessages, TooLongAMessageIsRefused) {
  message_buffer buffer;

  buffer.append("\xff\xff\xff\xff");

  EXPECT_EQ(buffer.next().error().code, errc::protocol_error);
}

} // namespace
} // namespace codeq::worker
