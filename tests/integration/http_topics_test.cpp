// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

/// The settings of a queue in codeQ's words.
class HttpTopics : public http_fixture {
protected:
  answer put(const std::string& body, const std::string& name = "mail") {
    return call("PUT", "/admin/topics/" + name, body);
  }

  answer remove(const std::string& name = "mail") {
    return call("DELETE", "/admin/topics/" + name + "?deletionPolicy=Delete");
  }

  answer settings() { return get("/admin/queues/mail/settings"); }

  /// The live tasks that the topics are stored as, as JSON.
  std::string records() {
    use_token("codeq.topics:root:pwa");
    auto tasks = get("/tasks?state=ready")["tasks"];
    use_token("acme:root:pwa");
    return tasks;
  }
};

TEST_F(HttpTopics, ATopicIsCreatedShownAndKeptOverARestart) {
  auto created =
    put(R"({"priorityTiers":[0,5,9],"maxAttempts":8,"retentionSeconds":3600,"maxConsumers":0})");

  EXPECT_EQ(201u, created.status) << created.body;
  EXPECT_EQ("acme.mail", created.text("topicId"));
  EXPECT_EQ("acme", created.text("tenantId"));
  EXPECT_EQ("mail", created.text("topicName"));
  EXPECT_EQ(
    R"({"priorityTiers":[0,5,9],"maxAttempts":8,"retentionSeconds":3600,"maxConsumers":0})",
    created["policy"]);
  EXPECT_EQ("1", created["version"]);
  EXPECT_EQ(created.text("createdAt"), created.text("updatedAt"));
  restart();
  EXPECT_EQ(created.body, get("/admin/topics/mail").body);
}

TEST_F(HttpTopics, ItIsTheRecordOfTheQueuesSettings) {
  call("PUT", "/admin/queues/mail/settings", R"({"leaseSeconds":33,"maxDepth":8})");
  EXPECT_EQ(404u, get("/admin/topics/mail").status);

  put(R"({"maxAttempts":8,"retentionSeconds":3600})");

  EXPECT_THAT(
    settings().body,
    testing::AllOf(
      HasSubstr("\"maxAttempts\":8"),
      HasSubstr("\"retentionSeconds\":3600"),
      HasSubstr("\"leaseSeconds\":33"),
      HasSubstr("\"maxDepth\":8")));
  EXPECT_EQ("8", get("/tasks/" + enqueue("mail"))["maxAttempts"]);
  call("PUT", "/admin/queues/mail/settings", R"({"maxAttempts":9})");
  EXPECT_THAT(get("/admin/topics/mail")["policy"], HasSubstr("\"maxAttempts\":9"));
}

TEST_F(HttpTopics, AChangeCountsAndTheSameAgainChangesNothing) {
  auto created = put(R"({"maxAttempts":8})");
  advance(5s);

  auto same = put(R"({"maxAttempts":8})");
  EXPECT_EQ(200u, same.status);
  EXPECT_EQ(created.body, same.body);
  auto updated = put(R"({"maxAttempts":8,"priorityTiers":[1]})");
  EXPECT_EQ(200u, updated.status);
  EXPECT_EQ("2", updated["version"]);
  EXPECT_EQ(created.text("createdAt"), updated.text("createdAt"));
  EXPECT_NE(created.text("updatedAt"), updated.text("updatedAt"));
  EXPECT_EQ("3", put("{}")["version"]);
  EXPECT_THAT(get("/admin/topics/mail")["policy"], HasSubstr("\"maxAttempts\":5"));
}

TEST_F(HttpTopics, ADeletedTopicIsGoneAndItsQueueHasTheDefaults) {
  auto id = enqueue("mail");
  put(R"({"maxAttempts":8,"retentionSeconds":3600})");
  EXPECT_THAT(records(), HasSubstr("mail"));

  auto gone = remove();

  EXPECT_EQ("[]", records());
  EXPECT_EQ(204u, gone.status);
  EXPECT_EQ("", gone.body);
  EXPECT_EQ("queue topic \"acme.mail\" not found", get("/admin/topics/mail").text("error"));
  EXPECT_THAT(settings().body, HasSubstr("\"maxAttempts\":5"));
  EXPECT_EQ(200u, get("/tasks/" + id).status);
  EXPECT_EQ(204u, remove().status);
  EXPECT_EQ(204u, remove("nobody").status);
  auto again = put("{}");
  EXPECT_EQ(201u, again.status);
  EXPECT_EQ("1", again["version"]);
  EXPECT_EQ(
    "deletionPolicy=Delete is required: 'deletionPolicy' is required",
    call("DELETE", "/admin/topics/mail").text("error"));
}

TEST_F(HttpTopics, ABadValueIsNamed) {
  struct {
    const char* body;
    const char* field;
    const char* rule;
  } cases[] = {
    {R"({"priorityTiers":[]})", "priorityTiers", "1 to 10 different whole numbers in 0..9"},
    {R"({"priorityTiers":[0,10]})", "priorityTiers", "in 0..9"},
    {R"({"priorityTiers":[1,1]})", "priorityTiers", "different"},
    {R"({"priorityTiers":[1.5]})", "priorityTiers", "whole"},
    {R"({"priorityTiers":7})", "priorityTiers", "'priorityTiers' is a number"},
    {R"({"priorityTiers":[0,1,2,3,4,5,6,7,8,9,9]})", "priorityTiers", "1 to 10"},
    {R"({"maxAttempts":0})", "maxAttempts", "'maxAttempts' is 0; it must be 1..100"},
    {R"({"maxAttempts":101})", "maxAttempts", "'maxAttempts' is 101; it must be 1..100"},
    {R"({"retentionSeconds":60})", "retentionSeconds", "one of 3600, 86400"},
    {R"({"retentionSeconds":0})", "retentionSeconds", "one of 3600, 86400"},
    {R"({"deadLetterTopicRef":"graves"})", "deadLetterTopicRef", "\"graves\"; it must be left out"},
    {R"({"maxConsumers":1})", "maxConsumers", "'maxConsumers' is 1; it must be 0"},
    {R"({"maxConsumers":-1})", "maxConsumers", "it must be 0"},
  };

  for (const auto& c : cases) {
    auto refused = put(c.body);

    EXPECT_EQ(422u, refused.status) << c.body;
    EXPECT_EQ(c.field, refused.text("field")) << c.body;
    EXPECT_THAT(refused.text("error"), testing::StartsWith(std::string("invalid ") + c.field));
    EXPECT_THAT(refused.text("error"), HasSubstr(c.rule));
  }
  for (const char* method : {"PUT", "GET", "DELETE"}) {
    auto target = std::string("/admin/topics/a%20b")
                  + (method == std::string("DELETE") ? "?deletionPolicy=Delete" : "");
    auto refused = call(method, target, method == std::string("PUT") ? "{}" : "");
    EXPECT_EQ(422u, refused.status) << method;
    EXPECT_EQ("topicName", refused.text("field"));
  }
  EXPECT_EQ(404u, get("/admin/topics/mail").status);
}

TEST_F(HttpTopics, WhatIsNoTopicIsRefusedInTheWordsOfCodeq) {
  EXPECT_EQ("invalid request body: it is not JSON: syntax error at byte 0", put("x").text("error"));
  EXPECT_EQ(
    "unknown field 'maxAttempt'; did you mean 'maxAttempts'?",
    put(R"({"maxAttempt":1})").text("error"));
  EXPECT_EQ(
    "invalid request body: 'maxAttempts' must be a whole number, not a string",
    put(R"({"maxAttempts":"1"})").text("error"));
}

TEST_F(HttpTopics, RequestsThatChangeATopicAtTheSameTimeDoSoOneByOne) {
  auto one = send_along("PUT", "/admin/topics/mail", R"({"maxAttempts":8})");
  auto other = send_along("PUT", "/admin/topics/mail", R"({"maxAttempts":9})");
  run();

  EXPECT_EQ(201u, (*one.answered)->status);
  EXPECT_EQ(200u, (*other.answered)->status);
  EXPECT_EQ("2", (**other.answered)["version"]);
}

TEST_F(HttpTopics, ATopicAndItsQueuesSettingsThatChangeAtTheSameTimeAreBothKept) {
  // The second request comes after each step of the first one.
  for (int steps = 0; steps < 40; ++steps) {
    auto attempts = std::to_string(10 + steps);
    auto depth = std::to_string(80 + 4 * steps);
    auto topic = send_along("PUT", "/admin/topics/mail", "{\"maxAttempts\":" + attempts + "}");
    for (int i = 0; i < steps; ++i)
      step();
    auto settings =
      send_along("PUT", "/admin/queues/mail/settings", "{\"maxDepth\":" + depth + "}");
    run();

    ASSERT_TRUE(topic.is_answered() && settings.is_answered());
    auto found = get("/admin/queues/mail/settings")["settings"];
    EXPECT_THAT(found, HasSubstr("\"maxAttempts\":" + attempts)) << steps;
    EXPECT_THAT(found, HasSubstr("\"maxDepth\":" + depth)) << steps;
  }
}

TEST_F(HttpTopics, EachTenantHasItsOwn) {
  put(R"({"maxAttempts":8})");

  use_token("umbrella:root:pwa");
  EXPECT_EQ(404u, get("/admin/topics/mail").status);
  EXPECT_EQ(204u, remove().status);
  EXPECT_EQ("umbrella.mail", put("{}").text("topicId"));

  use_token("acme:root:pwa");
  EXPECT_THAT(get("/admin/topics/mail")["policy"], HasSubstr("\"maxAttempts\":8"));
}

} // namespace
} // namespace codeq::test
