// SPDX-License-Identifier: Apache-2.0
#include "http/wakeups/subscription_list.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace codeq::http {
namespace {

using namespace std::chrono_literals;

constexpr monotonic_time start{1h};

subscription make(const std::string& id, delivery_mode mode = delivery_mode::fanout) {
  subscription s;
  s.id = id;
  s.tenant = "acme";
  s.subject = "w";
  s.url = "https://" + id + ".example/";
  s.mode = mode;
  s.group = mode == delivery_mode::fanout ? "" : "g";
  s.min_interval = 5s;
  s.ttl = 60s;
  s.expires_at = timestamp{60s};
  return s;
}

/// The wake-ups as `id:queue`, separated by spaces. The subscription `refused` may not be woken.
std::string due(
  subscription_list& list,
  const ready_queues& ready,
  duration after,
  const std::string& refused = {}) {
  const auto may_wake = [&](const subscription& s, const std::string&) { return s.id != refused; };
  std::string text;
  for (const auto& one : list.take_due(ready, start + after, may_wake))
    text += (text.empty() ? "" : " ") + one.to.id + ":" + one.queue;
  return text;
}

TEST(SubscriptionList, ARecordIsReadAsItWasWritten) {
  auto s = make("a", delivery_mode::hash);
  s.queues = {"mail", "print"};

  auto found = read_subscription(to_record(s));

  ASSERT_TRUE(found);
  EXPECT_EQ(s.id, found->id);
  EXPECT_EQ(s.subject, found->subject);
  EXPECT_EQ(s.url, found->url);
  EXPECT_EQ(s.queues, found->queues);
  EXPECT_EQ(s.mode, found->mode);
  EXPECT_EQ(s.group, found->group);
  EXPECT_EQ(s.min_interval, found->min_interval);
  EXPECT_EQ(s.ttl, found->ttl);
  EXPECT_EQ(s.expires_at, found->expires_at);
  EXPECT_FALSE(read_subscription("{}"));
  EXPECT_FALSE(read_subscription("x"));
}

TEST(SubscriptionList, TheIntervalCountsFromTheLastCall) {
  subscription_list list;
  list.put(make("a"), {});
  ready_queues ready{{"acme", {{"q", 1}}}};

  EXPECT_EQ("a:q", due(list, ready, 0s));
  EXPECT_EQ("", due(list, ready, 4999ms));
  EXPECT_EQ("a:q", due(list, ready, 5s));
  EXPECT_EQ("", due(list, {{"acme", {}}}, 20s));
  EXPECT_EQ("", due(list, {{"other", {{"q", 1}}}}, 20s));
  EXPECT_EQ("a:q", due(list, ready, 21s));
}

TEST(SubscriptionList, ARenewalKeepsTheTurn) {
  subscription_list list;
  list.put(make("a"), {});
  ready_queues ready{{"acme", {{"q", 1}}}};
  due(list, ready, 0s);

  list.put(make("a"), {});

  EXPECT_EQ("", due(list, ready, 1s));
}

TEST(SubscriptionList, QueuesTakeTurns) {
  subscription_list list;
  auto s = make("a");
  s.queues = {"x", "z"};
  list.put(s, {});
  ready_queues ready{{"acme", {{"x", 1}, {"y", 1}, {"z", 1}}}};

  EXPECT_EQ("a:x", due(list, ready, 0s));
  EXPECT_EQ("a:z", due(list, ready, 5s));
  EXPECT_EQ("a:x", due(list, ready, 10s));
}

TEST(SubscriptionList, AGroupIsWokenAsOneAndItsMembersTakeTurns) {
  subscription_list list;
  for (const char* id : {"a", "b", "c"})
    list.put(make(id, delivery_mode::group), {});
  ready_queues ready{{"acme", {{"q", 1}}}};

  EXPECT_EQ("a:q", due(list, ready, 0s));
  EXPECT_EQ("", due(list, ready, 1s));
  EXPECT_EQ("b:q", due(list, ready, 5s));
  list.remove("c");
  EXPECT_EQ("a:q", due(list, ready, 10s));
}

TEST(SubscriptionList, AMemberThatMayNotBeWokenTakesThePlaceOfNoOther) {
  ready_queues ready{{"acme", {{"q", 1}}}};
  for (auto mode : {delivery_mode::group, delivery_mode::hash}) {
    subscription_list list;
    for (const char* id : {"a", "b"})
      list.put(make(id, mode), {});

    EXPECT_EQ("b:q", due(list, ready, 0s, "a"));
    EXPECT_EQ("a:q", due(list, ready, 5s, "b"));
  }
}

TEST(SubscriptionList, AQueueKeepsItsMemberWhenOthersLeave) {
  subscription_list list;
  for (const char* id : {"a", "b", "c", "d"})
    list.put(make(id, delivery_mode::hash), {});
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> after;
  for (int i = 0; i < 100; ++i) {
    auto queue = "q" + std::to_string(i);
    before[queue] = due(list, {{"acme", {{queue, 1}}}}, i * 10s);
  }
  list.remove("c");
  for (int i = 0; i < 100; ++i) {
    auto queue = "q" + std::to_string(i);
    after[queue] = due(list, {{"acme", {{queue, 1}}}}, 2000s + i * 10s);
  }

  for (const auto& [queue, member] : before) {
    EXPECT_FALSE(member.empty());
    if (member.front() == 'c')
      EXPECT_NE('c', after[queue].front());
    else
      EXPECT_EQ(member, after[queue]);
  }
}

TEST(SubscriptionList, ExpiredOnesAreNamed) {
  subscription_list list;
  list.put(make("a"), {});

  EXPECT_TRUE(list.expired(timestamp{59999ms}).empty());
  EXPECT_EQ(std::vector<std::string>{"a"}, list.expired(timestamp{60s}));
  list.remove("a");
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(nullptr, list.find("a"));
}

} // namespace
} // namespace codeq::http
