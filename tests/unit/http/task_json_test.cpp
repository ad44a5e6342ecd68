// SPDX-License-Identifier: Apache-2.0
#include "http/json/task_fields.hpp"
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

/// The members that show a stored result.
std::string shown(std::string_view stored) {
  base::json_writer json;
  json.begin_object();
  write_stored_result(json, stored, false);
  json.end_object();
  return json.take();
}

TEST(TaskJson, AResultComesBackAsItWasGivenWhateverItLooksLike) {
  const std::string given[] = {
    R"({"n": 1})",
    R"({"codeq:artifacts":1})",
    R"({"codeq:artifacts":[]})",
    R"({"codeq:artifacts":[],"result":2,"more":3})",
    R"({"codeq:artifacts":[1],"result":2})",
    R"({"codeq:artifacts":[1],"\u0072esult": 2})",
    R"({"codeq:artifacts":null,"result":{"codeq:artifacts":null,"result":2}})"};

  for (const auto& result : given) {
    EXPECT_EQ("{\"result\":" + result + "}", shown(stored_result(result)));
    EXPECT_EQ(
      "{\"result\":" + result + ",\"artifacts\":[3]}", shown(stored_result(result, "[3]")));
  }
}

TEST(TaskJson, AStoredResultWithArtifactsHasExactlyTheTwo) {
  EXPECT_EQ(
    R"({"result":2,"artifacts":[1]})", shown(R"({"codeq:artifacts":[1],"result":2})"));
  for (std::string other : {R"({"codeq:artifacts":1})", R"({"codeq:artifacts":[1],"n":2})"})
    EXPECT_EQ("{\"result\":" + other + "}", shown(other));
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
  EXPECT_TRUE(is_http_worker(name));
  EXPECT_FALSE(is_http_worker("acme/node-7"));
  EXPECT_FALSE(is_valid_name(name));
}

TEST(TaskJson, ATaskThatWaitsForItsTurnNamesItsKey) {
  task_explanation why;
  why.reason = task_reason::fairness;
  why.fairness_key = "customer-1";
  why.fairness_before = 3;
  why.fairness_wait = duration{4900};
  base::json_writer json;
  write_explanation(json, why);

  auto text = json.take();

  EXPECT_NE(std::string::npos, text.find(R"("reason":"fairness")")) << text;
  EXPECT_NE(
    std::string::npos,
    text.find(R"("fairnessKey":"customer-1","turnsBefore":3,"waitMs":4900})"))
    << text;
}

result<task_spec> read(std::string_view text) {
  auto fields = input::read(text, {task_fields});
  if (!fields)
    return fields.error();
  return make_task(*fields, "acme");
}

TEST(TaskInput, EveryFieldIsTaken) {
  auto task = read(
    R"({"command":"q","payload":{"a": 1},"priority":7,"maxAttempts":3,"idempotencyKey":"k",)"
    R"("runAt":"2026-05-20T10:00:00Z","group":"g","onDuplicate":"defer","allowPromotion":true,)"
    R"("replacePayload":true,"retry":{"kind":"linear","baseMs":5,"capMs":9},"leaseSeconds":7,)"
    R"("runTimeoutMs":8,"progressTimeoutMs":9,"retentionSeconds":3600,)"
    R"("deadRetentionSeconds":86400,"onDead":"block","headers":{"traceparent":"00-1"},)"
    R"("fairnessKey":"tenant/customer","fairnessWeight":12,)"
    R"("limits":[{"name":"stripe","key":"acct_42","cost":3},{"name":"smtp"}]})");

  ASSERT_TRUE(task) << task.error().context;
  EXPECT_EQ((std::vector<task_limit>{{"stripe", "acct_42", 3}, {"smtp", {}, 1}}), task->limits);
  EXPECT_EQ("tenant/customer", task->fairness_key);
  EXPECT_EQ(12u, task->fairness_weight);
  EXPECT_EQ("acme", task->tenant);
  EXPECT_EQ("q", task->queue);
  EXPECT_EQ(R"({"a": 1})", task->payload);
  EXPECT_EQ(7, task->priority);
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
  EXPECT_EQ(std::chrono::hours(24), task->dead_retention);
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

std::string why(const std::string& more) {
  auto task = read(R"({"command":"q","payload":1,)" + more + "}");
  return task ? "taken" : task.error().context;
}

TEST(TaskInput, NumbersOutOfRangeAreRefused) {
  EXPECT_EQ("'priority' is 12; it must be 0..9", why(R"("priority":12)"));
  EXPECT_EQ("'priority' is -1; it must be 0..9", why(R"("priority":-1)"));
  EXPECT_EQ(
    "'maxAttempts' is -1; it must be 1..1000, or 0 for the default", why(R"("maxAttempts":-1)"));
  EXPECT_EQ(
    "'leaseSeconds' is 9223372036854775807; it must be 1..43200, or 0 for the default",
    why(R"("leaseSeconds":9223372036854775807)"));
  EXPECT_EQ(R"('lease' is "13h"; it must be 1s..12h)", why(R"("lease":"13h")"));
  EXPECT_EQ(
    "'retentionSeconds' is 5; it must be one of 3600, 86400, 604800, 2592000, 31536000",
    why(R"("retentionSeconds":5)"));
}

TEST(TaskInput, LimitsAreChecked) {
  EXPECT_EQ("invalid body: 'limits[0].name' is required", why(R"("limits":[{"key":"k"}])"));
  EXPECT_EQ(
    "'limits[0].name' is \"a b\"; it must be 1 to 128 letters, digits, '.', '_' or '-'",
    why(R"("limits":[{"name":"a b"}])"));
  EXPECT_EQ(
    "'limits[0].cost' is 1001; it must be 1..1000", why(R"("limits":[{"name":"a","cost":1001}])"));
  EXPECT_EQ(
    "unknown field 'limits[0].keys'; did you mean 'limits[0].key'?",
    why(R"("limits":[{"name":"a","keys":"k"}])"));
  auto twice = check_task_limits({{"a", "1", 1}, {"b", {}, 1}, {"a", "2", 1}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(
    "'limits[2].name' is \"a\"; it must be another one than 'limits[0].name'",
    twice.error().context);
}

TEST(TaskInput, WhatClientsOfCodeqSendIsTaken) {
  EXPECT_EQ(9, read(R"({"command":"q","payload":1,"priority":10})")->priority);
  auto both =
    read(R"({"command":"q","payload":1,"runAt":"2026-05-20T10:00:00Z","delaySeconds":5})");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->not_before);
  EXPECT_EQ(duration{0}, both->delay);
  EXPECT_FALSE(read(R"({"command":"q","payload":1,"leaseSeconds":0})")->lease);
}

TEST(TaskInput, TheNamesOfTheOtherInterfacesAreTaken) {
  auto task = read(R"({"queue":"q","payload":1,"key":"k","delay":"90s","lease":"2m"})");

  ASSERT_TRUE(task) << task.error().context;
  EXPECT_EQ("q", task->queue);
  EXPECT_EQ("k", task->key);
  EXPECT_EQ(std::chrono::seconds(90), task->delay);
  EXPECT_EQ(std::chrono::minutes(2), task->lease);
  EXPECT_TRUE(read(R"({"queue":"q","payload":1,"notBefore":"2026-05-20T10:00:00Z"})")->not_before);
  const std::pair<const char*, const char*> pairs[] = {
    {R"("queue":"q")", "'command' and 'queue'"},
    {R"("key":"a","idempotencyKey":"a")", "'key' and 'idempotencyKey'"},
    {R"("delay":"1s","delaySeconds":1)", "'delay' and 'delaySeconds'"},
    {R"("delayMs":1,"delay":"1s")", "'delayMs' and 'delay'"},
    {R"("lease":"1s","leaseSeconds":1)", "'lease' and 'leaseSeconds'"},
    {R"("runAt":"2026-05-20T10:00:00Z","notBefore":"2026-05-20T10:00:00Z")",
     "'runAt' and 'notBefore'"},
  };
  for (const auto& [more, names] : pairs)
    EXPECT_EQ(std::string(names) + " are names of the same field; give one of them", why(more));
}

TEST(TaskInput, AKeyOfTheHeaderCountsUnlessTheBodyHasAnotherOne) {
  task_spec task;
  EXPECT_TRUE(use_key_of_header("", task));
  EXPECT_TRUE(use_key_of_header("k", task));
  EXPECT_EQ("k", task.key);
  EXPECT_TRUE(use_key_of_header("k", task));

  auto other = use_key_of_header("x", task);
  ASSERT_FALSE(other);
  EXPECT_EQ("'Idempotency-Key' is \"x\"; it must be \"k\" as in the body", other.error().context);
  EXPECT_EQ(
    "'Idempotency-Key' is 257 bytes; it must be at most 256",
    use_key_of_header(std::string(257, 'k'), task).error().context);
}

TEST(TaskInput, ATaskWithoutAKeyAsksForNoDuplicates) {
  task_spec task;
  task.duplicate = on_duplicate::defer;
  EXPECT_EQ(
    "'onDuplicate' is \"defer\"; it must be \"existing\" without 'idempotencyKey'",
    check_task(task, {}).error().context);
  task.key = "k";
  EXPECT_TRUE(check_task(task, {}));
  task.not_before = timestamp{std::chrono::hours(24 * 365 * 11)};
  EXPECT_EQ(
    "'runAt' is \"1980-12-29T00:00:00.000Z\"; it must be after 1970 and within ten years from now",
    check_task(task, {}).error().context);
}

TEST(TaskInput, AnUnknownChoiceNamesWhatThereIs) {
  auto task = read(R"({"command":"q","payload":1,"onDuplicate":"ignore"})");

  ASSERT_FALSE(task);
  EXPECT_EQ(
    "'onDuplicate' is \"ignore\"; it must be one of existing, reject, defer, promote, "
    "replace_ended",
    task.error().context);
}

} // namespace
} // namespace codeq::http
