// SPDX-License-Identifier: Apache-2.0
#include "http/json/json_reader.hpp"
#include "http/json/task_input.hpp"
#include "http/json/task_json.hpp"

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

std::string value_of(std::string_view bytes) {
  base::json_writer json;
  write_value(json, bytes);
  return json.take();
}

TEST(TaskJson, BytesOfAnyKindMakeValidJson) {
  EXPECT_EQ("null", value_of(""));
  EXPECT_EQ(R"({"a": 1.0})", value_of(R"({"a": 1.0})"));
  EXPECT_EQ(R"("plain \"text\"")", value_of("plain \"text\""));
  EXPECT_EQ(R"({"base64":"/w=="})", value_of("\xff"));
}

TEST(TaskJson, APayloadThatIsNoTextOrIsGoneSaysSo) {
  task_detail task;
  task.status.queue = "q";
  task.payload = "\xff";
  base::json_writer binary;
  write_task(binary, task, {});
  task.payload.reset();
  base::json_writer gone;
  write_task(gone, task, {});

  EXPECT_NE(std::string::npos, binary.take().find(R"("payload":null,"payloadBase64":"/w==")"));
  EXPECT_NE(std::string::npos, gone.take().find(R"("payload":null,"payloadExpired":true)"));
}

TEST(TaskJson, AWorkerHasTheNameOfItsSubject) {
  auto name = worker_name_of("acme", "w.1");

  EXPECT_EQ("w.1", subject_of(name));
  EXPECT_EQ("node-7", subject_of("node-7"));
  EXPECT_FALSE(is_valid_name(name));
}

result<task_spec> read(std::string_view text) {
  auto object = json_object::parse(text);
  return read_task(*object, "acme");
}

TEST(TaskInput, EveryFieldIsTaken) {
  auto task = read(
    R"({"command":"q","payload":{"a": 1},"priority":-3,"maxAttempts":3,"idempotencyKey":"k",)"
    R"("runAt":"2026-05-20T10:00:00Z","group":"g","onDuplicate":"defer","allowPromotion":true,)"
    R"("replacePayload":true,"retry":{"kind":"linear","baseMs":5,"capMs":9},"leaseSeconds":7,)"
    R"("runTimeoutMs":8,"progressTimeoutMs":9,"retentionSeconds":3600,)"
    R"("deadRetentionSeconds":7200,"onDead":"block","headers":{"traceparent":"00-1"}})");

  ASSERT_TRUE(task) << task.error().context;
  EXPECT_EQ("acme", task->tenant);
  EXPECT_EQ("q", task->queue);
  EXPECT_EQ(R"({"a": 1})", task->payload);
  EXPECT_EQ(0, task->priority);
  EXPECT_EQ(3u, task->max_attempts);
  EXPECT_EQ("k", task->key);
  EXPECT_EQ("g", task->group);
  EXPECT_TRUE(task->not_before);
  EXPECT_EQ(on_duplicate::defer, task->duplicate);
  EXPECT_TRUE(task->allow_promotion);
  EXPECT_TRUE(task->replace_payload);
  EXPECT_EQ((retry_policy{retry_kind::linear, duration{5}, duration{9}}), task->retry);
  EXPECT_EQ(std::chrono::seconds(7), task->lease);
  EXPECT_EQ(duration{8}, task->run_timeout);
  EXPECT_EQ(duration{9}, task->progress_timeout);
  EXPECT_EQ(std::chrono::hours(1), task->retention);
  EXPECT_EQ(std::chrono::hours(2), task->dead_retention);
  EXPECT_EQ(on_dead::block, task->when_dead);
  EXPECT_EQ("00-1", task->headers["traceparent"]);
}

TEST(TaskInput, WhatIsLeftOutIsTheQueuesToDecide) {
  auto task = read(R"({"command":"q","payload":null,"maxAttempts":0})");

  ASSERT_TRUE(task);
  EXPECT_EQ("null", task->payload);
  EXPECT_FALSE(task->max_attempts);
  EXPECT_FALSE(task->lease);
  EXPECT_FALSE(task->retry);
}

TEST(TaskInput, NumbersThatAreFarTooLargeStayTooLarge) {
  auto task = read(R"({"command":"q","payload":1,"leaseSeconds":9223372036854775807})");

  ASSERT_TRUE(task);
  EXPECT_GT(*task->lease, limits::lease_max);
}

TEST(TaskInput, AnUnknownChoiceNamesWhatThereIs) {
  auto task = read(R"({"command":"q","payload":1,"onDuplicate":"ignore"})");

  ASSERT_FALSE(task);
  EXPECT_EQ(
    "onDuplicate is ignore; it must be one of existing, reject, defer, promote",
    task.error().context);
}

} // namespace
} // namespace codeq::http
