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
  EXPECT_THAT(refusal_of({{}, {"x"}}), HasSubstr("queue `x` has no handler"));
  EXPECT_THAT(
    refusal_of({{{"f", {.weight = 0}}}, {}}), HasSubstr("weight is 0; it must be 1..1000"));
  EXPECT_THAT(
    refusal_of({{{"f", {.slots = 5000}}}, {}}), HasSubstr("slots is 5000; it must be 0..4096"));
  EXPECT_THAT(
    refusal_of({{{"b", {.run_in = isolation::process}}}, {}}), HasSubstr("functions only"));
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
  EXPECT_THAT(answers[0].text(), HasSubstr("1 outcomes for 2 tasks"));
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
