// SPDX-License-Identifier: Apache-2.0
#include "integration/http_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;
using http::outgoing_answer;
using http::outgoing_request;

/// The gateway with a fake network: a delivery stays here until the test answers it.
class HttpWebhooks : public http_fixture {
protected:
  struct delivery {
    outgoing_request request;
    std::function<void(result<outgoing_answer>)> done;
  };

  HttpWebhooks() {
    options_.webhooks.send = [this](const std::string&, outgoing_request request, auto done) {
      sent_.push_back({std::move(request), std::move(done)});
    };
    options_.webhooks.wall_time = [] { return timestamp{1'700'000'000'000ms}; };
    restart();
  }

  std::string add(const std::string& more = {}) {
    return enqueue("q", R"(,"webhook":"https://hooks.example/x?y=1")" + more);
  }

  /// The deliveries since the last call.
  std::vector<delivery> take_sent() {
    run();
    return std::exchange(sent_, {});
  }

  void answer(const delivery& d, unsigned status) {
    d.done(outgoing_answer{status, {}});
    run();
  }

  void complete() {
    auto id = claim("q").text("id");
    EXPECT_EQ(200u, post("/tasks/" + id + "/result", done_).status);
  }

  std::string done_ = R"({"status":"COMPLETED","result":{"ok":true}})";
  std::vector<delivery> sent_;
};

TEST_F(HttpWebhooks, TheEndOfATaskIsToldOnce) {
  auto id = add();
  EXPECT_TRUE(take_sent().empty());

  complete();

  auto sent = take_sent();
  ASSERT_EQ(1u, sent.size());
  const auto& request = sent.front().request;
  EXPECT_EQ("POST", request.method);
  EXPECT_EQ("hooks.example", request.url.host);
  EXPECT_EQ("/x?y=1", request.url.target);
  EXPECT_TRUE(request.public_only);
  auto body = http::json_object::parse(request.body).value_or(http::json_object());
  EXPECT_EQ(id, body.text("taskId"));
  EXPECT_EQ("q", body.text("eventType"));
  EXPECT_EQ("COMPLETED", body.text("status"));
  EXPECT_EQ(R"({"ok":true})", body.raw("result"));
  EXPECT_EQ("null", body.raw("artifacts"));
  EXPECT_EQ("\"\"", body.raw("error"));
  EXPECT_FALSE(body.text("completedAt").empty());
  answer(sent.front(), 204);
  restart();
  advance(1h);
  EXPECT_TRUE(take_sent().empty());
}

TEST_F(HttpWebhooks, FailuresAndCancellationsAreToldToo) {
  auto failed = add();
  claim("q");
  post("/tasks/" + failed + "/result", R"({"status":"FAILED","error":"broken","permanent":true})");
  auto cancelled = add();
  post("/tasks/" + cancelled + "/cancel");

  auto sent = take_sent();

  ASSERT_EQ(2u, sent.size());
  EXPECT_THAT(sent[0].request.body, HasSubstr(R"("status":"FAILED")"));
  EXPECT_THAT(sent[0].request.body, HasSubstr(R"("error":"broken")"));
  EXPECT_THAT(sent[0].request.body, HasSubstr(R"("result":null)"));
  EXPECT_THAT(sent[1].request.body, HasSubstr(R"("error":"cancelled")"));
}

TEST_F(HttpWebhooks, ARetryOfTheTaskIsNoEnd) {
  auto id = add();
  claim("q");

  post("/tasks/" + id + "/nack", R"({"delaySeconds":1})");

  EXPECT_TRUE(take_sent().empty());
  advance(2s);
  complete();
  EXPECT_EQ(1u, take_sent().size());
}

TEST_F(HttpWebhooks, WhoDoesNotTakeItIsAskedAgainLaterAndLater) {
  add();
  complete();
  std::vector<duration> pauses;
  auto last = duration{0};
  for (auto now = duration{0}; pauses.size() < 6; now += 100ms, advance(100ms)) {
    for (const auto& one : take_sent()) {
      pauses.push_back(now - std::exchange(last, now));
      answer(one, 503);
    }
    ASSERT_LT(now, 5min);
  }

  // A pause is between half and all of 1, 2, 4, ... seconds, plus up to 100 ms until it is noticed.
  auto whole = 1000ms;
  for (std::size_t i = 1; i < pauses.size(); ++i, whole *= 2) {
    EXPECT_GE(pauses[i], whole / 2) << i;
    EXPECT_LE(pauses[i], whole + 100ms) << i;
  }
}

TEST_F(HttpWebhooks, WhatIsOpenIsFoundAgainAfterARestart) {
  auto ended = add();
  complete();
  auto lost = take_sent();
  ASSERT_EQ(1u, lost.size());
  auto waiting = add();

  restart();

  auto again = take_sent();
  ASSERT_EQ(1u, again.size());
  EXPECT_THAT(again.front().request.body, HasSubstr(ended));
  answer(again.front(), 200);
  complete();
  auto later = take_sent();
  ASSERT_EQ(1u, later.size());
  EXPECT_THAT(later.front().request.body, HasSubstr(waiting));
}

TEST_F(HttpWebhooks, ARepeatedEnqueueHasOneWebhook) {
  auto id = add(R"(,"idempotencyKey":"k")");
  EXPECT_EQ(id, add(R"(,"idempotencyKey":"k")"));

  complete();

  EXPECT_EQ(1u, take_sent().size());
}

TEST_F(HttpWebhooks, WhoNeverTakesItIsGivenUpAndListedAsDead) {
  add();
  complete();
  for (int i = 0; i < 200; ++i, advance(15min))
    for (const auto& one : take_sent())
      answer(one, 500);

  EXPECT_TRUE(take_sent().empty());
  restart();
  EXPECT_TRUE(take_sent().empty());
  use_token("codeq.webhooks:root:a");
  EXPECT_THAT(get("/admin/dead?queue=acme").body, HasSubstr("\"dead\""));
}

TEST_F(HttpWebhooks, DeliveriesAreSigned) {
  options_.webhooks.secret = "key";
  restart();
  add();
  complete();

  auto sent = take_sent();

  ASSERT_EQ(1u, sent.size());
  auto wanted =
    http::signature_fields("key", timestamp{1'700'000'000'000ms}, sent.front().request.body);
  EXPECT_EQ(wanted, sent.front().request.fields);
  EXPECT_EQ("X-CodeQ-Timestamp", wanted[1].first);
  EXPECT_EQ("1700000000", wanted[1].second);
}

TEST_F(HttpWebhooks, PrivateAddressesAreRefusedUnlessAllowed) {
  const char* urls[] = {
    "http://127.0.0.1/x",
    "http://10.1.2.3:8080",
    "http://[::1]/",
    "http://[fd00::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://169.254.169.254/latest",
    "ftp://hooks.example/",
    "http://user@hooks.example/",
    "hooks.example",
  };
  auto add_with = [&](const std::string& url) {
    return post("/tasks", R"({"command":"q","payload":1,"webhook":")" + url + "\"}");
  };
  for (const auto* url : urls) {
    auto refused = add_with(url);
    EXPECT_EQ(400u, refused.status) << url;
    EXPECT_THAT(
      refused.text("error"),
      testing::StartsWith("invalid webhook url: 'webhook' is \"" + std::string(url)));
  }
  options_.webhooks.allow_private = true;
  restart();

  EXPECT_EQ(202u, add_with(urls[0]).status);
  complete();
  auto sent = take_sent();
  ASSERT_EQ(1u, sent.size());
  EXPECT_FALSE(sent.front().request.public_only);
}

TEST_F(HttpWebhooks, AFewAreDeliveredAtOnceAndTheRestAfterThem) {
  constexpr std::size_t count = 40;
  for (std::size_t i = 0; i < count; ++i)
    add();
  for (std::size_t i = 0; i < count; ++i)
    complete();

  auto first = take_sent();

  EXPECT_EQ(16u, first.size());
  for (const auto& one : first)
    answer(one, 200);
  auto second = take_sent();
  EXPECT_EQ(16u, second.size());
  for (const auto& one : second)
    answer(one, 200);
  EXPECT_EQ(count - 32, take_sent().size());
}

TEST_F(HttpWebhooks, NobodyElseSeesWhatStandsForThem) {
  auto id = add();

  EXPECT_THAT(get("/admin/queues").body, Not(HasSubstr("webhooks")));
  EXPECT_EQ(id, post("/tasks/claim", "{}").text("id"));
  EXPECT_EQ(204u, post("/tasks/claim", "{}").status);
}

/// Workers that want to be called when tasks are ready; a call stays here until it is answered.
class HttpWakeups : public http_fixture {
protected:
  struct outgoing_call {
    outgoing_request request;
    std::function<void(result<outgoing_answer>)> done;
  };

  HttpWakeups() {
    options_.webhooks.send = [this](const std::string&, outgoing_request request, auto done) {
      sent_.push_back({std::move(request), std::move(done)});
    };
    options_.webhooks.wall_time = [] { return timestamp{1'700'000'000'000ms}; };
    restart();
  }

  std::string subscribe(const std::string& host, const std::string& more = {}) {
    auto made = post(
      "/workers/subscriptions", R"({"callbackUrl":"https://)" + host + R"(/wake")" + more + "}");
    EXPECT_EQ(200u, made.status) << made.body;
    return made.text("subscriptionId");
  }

  /// The hosts and queues that were called in that time, as `host queue`.
  std::vector<std::string> called(duration time) {
    std::vector<std::string> all;
    for (auto left = time; left > 0ms; left -= 1s) {
      advance(1s);
      for (const auto& one : std::exchange(sent_, {})) {
        bodies_.push_back(one.request.body);
        auto body = http::json_object::parse(one.request.body).value_or(http::json_object());
        all.push_back(one.request.url.host + " " + body.text("queue"));
        one.done(outgoing_answer{204, {}});
        run();
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  using calls = std::vector<std::string>;

  std::vector<outgoing_call> sent_;
  std::vector<std::string> bodies_;
};

TEST_F(HttpWakeups, SubscriptionsOfOneTenantLeavePlacesToOthersAlsoWhenManyComeAtOnce) {
  use_token("mallory:root:pwa");
  std::vector<pending> all;
  for (int i = 0; i < 3000; ++i)
    all.push_back(send_along(
      "POST",
      "/workers/subscriptions",
      R"({"callbackUrl":"https://m.example/wake","ttlSeconds":10})"));
  run();

  std::map<unsigned, int> statuses;
  for (const auto& one : all)
    ++statuses[(*one.answered)->status];
  EXPECT_EQ(statuses, (std::map<unsigned, int>{{200, 1000}, {503, 2000}}));
  EXPECT_THAT(
    (*all.back().answered)->text("error"),
    HasSubstr("tenant mallory has 1000 subscriptions; all tenants share 2000"));
  EXPECT_EQ(meter_->counts()["subscriptions_max"], 2000u);
  use_token("acme:root:pwa");
  subscribe("a.example");
  // Their records stay for a while after they expire.
  advance(22s);
  use_token("mallory:root:pwa");
  subscribe("m.example");
}

TEST_F(HttpWakeups, ASubscriberIsCalledWhenAQueueGetsReadyTasks) {
  subscribe("a.example", R"(,"eventTypes":["mail"])");
  enqueue("other");
  EXPECT_EQ(calls{}, called(3s));
  enqueue("mail");
  enqueue("mail");

  EXPECT_EQ(calls{"a.example mail"}, called(2s));

  EXPECT_THAT(
    bodies_.at(0), testing::StartsWith(R"({"queue":"mail","ready":2,"oldestReadyAgeMs":)"));
  auto age = http::json_object::parse(bodies_.at(0))->integer("oldestReadyAgeMs");
  EXPECT_GE(*age, 0);
  EXPECT_LE(*age, 2000);
}

TEST_F(HttpWakeups, ItIsCalledAtMostOncePerIntervalAsLongAsTasksAreReady) {
  subscribe("a.example", R"(,"queues":["mail"],"minIntervalSeconds":4)");
  auto id = enqueue("mail");

  EXPECT_EQ(3u, called(12s).size());
  claim("mail");
  EXPECT_EQ(calls{}, called(10s));
  post("/tasks/" + id + "/nack", R"({"delaySeconds":20})");
  EXPECT_EQ(calls{}, called(19s));
  EXPECT_EQ(calls{"a.example mail"}, called(3s));
}

TEST_F(HttpWakeups, SeveralReadyQueuesTakeTurns) {
  subscribe("a.example", R"(,"minIntervalSeconds":1)");
  for (const char* queue : {"x", "y", "z"})
    enqueue(queue);

  EXPECT_EQ((calls{"a.example x", "a.example y", "a.example z"}), called(3s));
}

TEST_F(HttpWakeups, EachSubscriberOfFanoutIsCalled) {
  subscribe("a.example");
  subscribe("b.example", R"(,"deliveryMode":"fanout")");
  enqueue("mail");

  EXPECT_EQ((calls{"a.example mail", "b.example mail"}), called(2s));
}

TEST_F(HttpWakeups, TheMembersOfAGroupTakeTurns) {
  for (const char* host : {"a.example", "b.example"})
    subscribe(host, R"(,"deliveryMode":"group","groupId":"g","minIntervalSeconds":1)");
  enqueue("mail");

  EXPECT_EQ(
    (calls{"a.example mail", "a.example mail", "b.example mail", "b.example mail"}), called(4s));
}

TEST_F(HttpWakeups, AHashChoosesOneMemberForEachQueue) {
  for (const char* host : {"a.example", "b.example", "c.example"})
    subscribe(host, R"(,"deliveryMode":"hash","groupId":"g","minIntervalSeconds":1)");
  for (int i = 0; i < 30; ++i)
    enqueue("q" + std::to_string(i));

  auto all = called(60s);

  std::map<std::string, std::set<std::string>> hosts;
  std::set<std::string> used;
  for (const auto& one : all) {
    auto space = one.find(' ');
    hosts[one.substr(space + 1)].insert(one.substr(0, space));
    used.insert(one.substr(0, space));
  }
  EXPECT_EQ(30u, hosts.size());
  EXPECT_EQ(3u, used.size());
  for (const auto& [queue, of_queue] : hosts)
    EXPECT_EQ(1u, of_queue.size()) << queue;
}

TEST_F(HttpWakeups, ASubscriptionEndsWithItsTimeUnlessItIsRenewed) {
  auto id = subscribe("a.example", R"(,"ttlSeconds":10,"minIntervalSeconds":1)");
  enqueue("mail");
  EXPECT_EQ(8u, called(8s).size());
  auto renewed = post("/workers/subscriptions/" + id + "/heartbeat", "");
  EXPECT_EQ(200u, renewed.status) << renewed.body;
  EXPECT_EQ(id, renewed.text("subscriptionId"));
  EXPECT_EQ(9u, called(9s).size());
  EXPECT_EQ(
    200u, post("/workers/subscriptions/" + id + "/heartbeat", R"({"ttlSeconds":20})").status);
  EXPECT_EQ(19u, called(19s).size());

  EXPECT_LE(called(10s).size(), 1u);
  EXPECT_THAT(
    post("/workers/subscriptions/" + id + "/heartbeat", "").text("error"),
    HasSubstr("not-found: the token has no subscription \"" + id + "\", or it has expired"));
}

TEST_F(HttpWakeups, TheRecordOfAnExpiredSubscriptionWaitsForARenewalOnItsWay) {
  auto id = subscribe("a.example", R"(,"ttlSeconds":10,"minIntervalSeconds":1)");
  auto records = [this] {
    use_token("codeq.subscriptions:root:pwa");
    auto tasks = get("/tasks?state=ready")["tasks"];
    use_token("acme:root:w");
    return tasks;
  };
  enqueue("mail");
  called(10s);

  EXPECT_TRUE(called(5s).empty());
  EXPECT_THAT(records(), HasSubstr(id));
  advance(10s);
  EXPECT_EQ("[]", records());
}

TEST_F(HttpWakeups, SubscriptionsSurviveARestartWithTheirRenewals) {
  auto id = subscribe("a.example", R"(,"ttlSeconds":20,"queues":["mail"],"minIntervalSeconds":1)");
  auto short_lived = subscribe("b.example", R"(,"ttlSeconds":10)");
  advance(8s);
  post("/workers/subscriptions/" + id + "/heartbeat", R"({"ttlSeconds":60})");
  advance(8s);
  restart();
  enqueue("mail");
  enqueue("other");

  EXPECT_EQ((calls{"a.example mail", "a.example mail"}), called(2s));

  EXPECT_EQ(200u, post("/workers/subscriptions/" + id + "/heartbeat", "").status);
  EXPECT_EQ(404u, post("/workers/subscriptions/" + short_lived + "/heartbeat", "").status);
}

TEST_F(HttpWakeups, NobodyIsCalledForAPausedQueue) {
  subscribe("a.example", R"(,"minIntervalSeconds":1)");
  enqueue("mail");
  enqueue("other");
  post("/admin/queues/mail/pause", "");
  EXPECT_EQ((calls{"a.example other", "a.example other"}), called(2s));

  post("/admin/queues/mail/resume", "");

  EXPECT_EQ((calls{"a.example mail", "a.example other"}), called(2s));
}

/// Subscriptions end with the tokens that made them.
class RevokedWakeups : public HttpWakeups {
protected:
  RevokedWakeups() {
    options_.callers_of = [this](const std::string& tenant, const std::string& subject) {
      std::vector<std::shared_ptr<const http::caller>> found;
      for (const auto& by : tokens_)
        if (by.tenant == tenant && by.subject == subject)
          found.push_back(std::make_shared<http::caller>(by));
      return found;
    };
    restart();
  }

  std::vector<http::caller> tokens_{
    {.subject = "root", .tenant = "acme", .is_admin = true},
    {.subject = "w", .tenant = "acme", .is_worker = true, .queues = {"mail", "other"}}};
};

TEST_F(RevokedWakeups, ASubscriptionEndsWithTheLastTokenOfItsSubscriber) {
  use_token("acme:w:w");
  auto id = subscribe("w.example", R"(,"minIntervalSeconds":1)");
  use_token("acme:root:pwa");
  subscribe("root.example", R"(,"minIntervalSeconds":1)");
  enqueue("mail");
  EXPECT_EQ((calls{"root.example mail", "w.example mail"}), called(1s));

  tokens_.pop_back();

  EXPECT_EQ(calls{"root.example mail"}, called(1s));
  use_token("codeq.subscriptions:root:pwa");
  EXPECT_THAT(get("/tasks?state=ready")["tasks"], Not(HasSubstr(id)));
}

TEST_F(RevokedWakeups, BesideJwtsASubscriptionEndsOnlyWithATokenOfTheFile) {
  options_.accepts_jwts = true;
  restart();
  use_token("acme:w:w");
  subscribe("w.example", R"(,"minIntervalSeconds":1)");
  use_token("acme:jwt:w");
  subscribe("jwt.example", R"(,"minIntervalSeconds":1)");
  use_token("acme:root:pwa");
  enqueue("mail");
  EXPECT_EQ((calls{"jwt.example mail", "w.example mail"}), called(1s));

  tokens_.pop_back();

  EXPECT_EQ((calls{"jwt.example mail", "jwt.example mail"}), called(2s));
}

TEST_F(RevokedWakeups, ASubscriberIsNotCalledForAQueueThatItsTokenNoLongerAllows) {
  use_token("acme:w:w");
  subscribe("w.example", R"(,"minIntervalSeconds":1)");
  use_token("acme:root:pwa");
  enqueue("mail");
  EXPECT_EQ(calls{"w.example mail"}, called(1s));

  tokens_.back().all_queues = false;
  tokens_.back().queues = {"other"};
  EXPECT_EQ(calls{}, called(2s));
  enqueue("other");

  EXPECT_THAT(called(2s), testing::Contains("w.example other"));
}

TEST_F(HttpWakeups, OnlyItsSubscriberRenewsIt) {
  auto id = subscribe("a.example");
  for (const char* token : {"acme:other:w", "umbrella:root:w"}) {
    use_token(token);
    EXPECT_EQ(404u, post("/workers/subscriptions/" + id + "/heartbeat", "").status) << token;
  }
  use_token("acme:root:w");
  EXPECT_EQ(200u, post("/workers/subscriptions/" + id + "/heartbeat", "").status);
}

TEST_F(HttpWakeups, ACallThatIsNotAnsweredHoldsUpNobodyElse) {
  subscribe("a.example", R"(,"minIntervalSeconds":1)");
  enqueue("mail");
  for (int i = 0; i < 200; ++i)
    advance(1s);
  // Half of the places, as long as no other tenant has any.
  EXPECT_EQ(64u, sent_.size());
  sent_.clear();
  use_token("umbrella:root:pwa");
  subscribe("b.example");
  enqueue("mail");

  EXPECT_EQ(calls{"b.example mail"}, called(3s));
}

TEST_F(HttpWakeups, WhatCannotBeSubscribedIsRefused) {
  auto why = [&](const std::string& body) {
    auto refused = post("/workers/subscriptions", body);
    EXPECT_EQ(400u, refused.status) << refused.body;
    return refused.text("error");
  };
  auto with = [&](const std::string& more) {
    return why(R"({"callbackUrl":"https://a.example/",)" + more + "}");
  };

  EXPECT_EQ("invalid body: it is not JSON: syntax error at byte 0", why("x"));
  EXPECT_EQ("invalid callback url: 'callbackUrl' is required", why("{}"));
  EXPECT_THAT(why(R"({"callbackUrl":"x"})"), testing::StartsWith("invalid callback url: "));
  EXPECT_THAT(
    why(R"({"callbackUrl":"http://10.0.0.1/"})"),
    HasSubstr("it must be a URL of a public address"));
  EXPECT_THAT(with(R"("deliveryMode":"all")"), testing::StartsWith("invalid deliveryMode: "));
  EXPECT_EQ(
    "groupId is required: 'groupId' is required unless 'deliveryMode' is \"fanout\"",
    with(R"("deliveryMode":"hash")"));
  EXPECT_THAT(with(R"("groupId":"g")"), HasSubstr("left out when 'deliveryMode' is \"fanout\""));
  EXPECT_EQ(
    "'ttlSeconds' is 9; it must be 10..86400, or 0 for the default", with(R"("ttlSeconds":9)"));
  EXPECT_EQ(
    "'minIntervalSeconds' is 3601; it must be 1..3600, or 0 for the default",
    with(R"("minIntervalSeconds":3601)"));
  use_token("acme:w:w:codeq:subscribe:mail");
  auto refused = post(
    "/workers/subscriptions", R"({"callbackUrl":"https://a.example/","eventTypes":["other"]})");
  EXPECT_EQ(403u, refused.status) << refused.body;
}

TEST_F(HttpWakeups, ATokenOfOneQueueIsCalledForThatAlone) {
  enqueue("other");
  enqueue("mail");
  use_token("acme:w:w:codeq:subscribe:mail");
  subscribe("a.example");

  EXPECT_EQ(calls{"a.example mail"}, called(4s));
}

} // namespace
} // namespace codeq::test
