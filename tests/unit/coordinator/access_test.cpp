// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/access.hpp"

#include "base/errors.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

security::principal worker_of(std::vector<std::string> queues) {
  security::principal who;
  who.subject = "w1";
  who.tenant = "shop";
  who.role = security::role::worker;
  who.queues = std::move(queues);
  return who;
}

/// The queues and prefixes that are left of the prefixes, or the refusal.
std::string narrowed(const security::principal& who, const std::vector<std::string>& given) {
  std::vector<queue_address> queues;
  std::vector<queue_address> prefixes;
  for (const auto& prefix : given)
    prefixes.push_back({"shop", prefix});
  if (auto ok = access::narrow(who, queues, prefixes); !ok)
    return ok.error().context;
  std::string text;
  for (const auto& queue : queues)
    text += queue.queue + " ";
  for (const auto& prefix : prefixes)
    text += prefix.queue + "* ";
  return text;
}

TEST(Access, RoleThatIsRefusedIsNamed) {
  security::principal who;
  who.tenant = "*";
  who.role = security::role::metrics;

  EXPECT_EQ(
    access::check(who, core::enqueue{}).error().context,
    "the role of the token is metrics; this takes a producer's or an admin's");
}

TEST(Access, RefusalsHaveTheWordsThatClientsAdviseBy) {
  const auto who = worker_of({"mail"});
  security::principal producer;
  producer.tenant = "shop";
  producer.role = security::role::producer;
  core::enqueue c;
  c.runs.emplace_back().queue = {"other", "mail"};

  EXPECT_TRUE(base::is_refused_with(
    access::check_claim(who, {"shop", "fax"}).error(), base::no_claim_words));
  EXPECT_TRUE(base::is_refused_with(
    access::check_inspector(who).error(), base::inspectors_only_words));
  EXPECT_TRUE(base::is_refused_with(
    access::check(producer, c).error(), base::other_tenant_words));
}

TEST(Access, PrefixIsLimitedToTheQueuesOfTheToken) {
  EXPECT_EQ(narrowed(worker_of({"*"}), {"print-", ""}), "print-* * ");
  EXPECT_EQ(
    narrowed(worker_of({"mail", "print-a4", "print-a3"}), {"print-"}), "print-a4 print-a3 ");
  EXPECT_EQ(narrowed(worker_of({"mail", "print-a4"}), {""}), "mail print-a4 ");
}

TEST(Access, PrefixOfWhichTheTokenAllowsNoQueueIsRefused) {
  EXPECT_EQ(
    narrowed(worker_of({"mail"}), {"print-"}),
    "the token of w1 does not allow to claim from any queue print-* of tenant shop");
  auto other = worker_of({"*"});
  other.tenant = "other";
  EXPECT_NE(narrowed(other, {""}).find("does not allow"), std::string::npos);
}

/// Why a completion with a follow-up for the queue is refused; empty when it is not.
std::string follow_up_refusal(const security::principal& who, const queue_address& queue) {
  core::report c;
  c.reports.emplace_back();
  c.reports.front().follow_ups.emplace_back();
  c.reports.front().follow_ups.front().run.queue = queue;
  access::refuse_foreign_follow_ups(who, c);
  const auto& allowed = c.reports.front().allowed;
  return allowed ? "" : allowed.error().context;
}

TEST(Access, FollowUpsOfAWorkerStayInItsTenant) {
  auto who = worker_of({"mail"});

  EXPECT_EQ(follow_up_refusal(who, {"shop", "print"}), "");
  EXPECT_EQ(
    follow_up_refusal(who, {"other", "print"}),
    "tenant of a follow-up is `other`; the worker's token is for shop");
}

TEST(Access, FollowUpsOfATokenThatEnqueuesStayInItsQueues) {
  auto who = worker_of({"mail"});
  who.role = security::role::producer_worker;

  EXPECT_EQ(follow_up_refusal(who, {"shop", "mail"}), "");
  EXPECT_EQ(
    follow_up_refusal(who, {"shop", "print"}),
    "queue of a follow-up is `print`; the token does not allow to use it");
}

/// Why a node with that role is refused; empty when it is not.
std::string role_refusal(const security::principal& who, schema::Role role) {
  protocol::node_introduction node;
  node.role = role;
  auto allowed = access::check(who, node);
  return allowed ? "" : allowed.error().context;
}

TEST(Access, CoordinatorsAndTheirGatewaysNeedAnAdminsTokenForAllTenants) {
  auto who = worker_of({"*"});
  for (auto role : security::all_roles) {
    who.role = role;
    who.tenant = "shop";
    EXPECT_NE(role_refusal(who, schema::Role::GATEWAY), "");
    EXPECT_NE(role_refusal(who, schema::Role::COORDINATOR), "");
    who.tenant = "*";
    auto is_refused = role != security::role::admin;
    EXPECT_EQ(is_refused, !role_refusal(who, schema::Role::GATEWAY).empty());
    EXPECT_EQ(is_refused, !role_refusal(who, schema::Role::COORDINATOR).empty());
  }
}

} // namespace
} // namespace codeq::coordinator
