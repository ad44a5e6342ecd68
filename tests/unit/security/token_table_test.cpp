// SPDX-License-Identifier: Apache-2.0
#include "security/access_limits.hpp"
#include "security/token.hpp"
#include "security/token_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace codeq::security {

namespace {

std::string sha_of(const std::string& token) {
  return "sha256=" + to_text(digest_of(token));
}

std::string refusal(const std::string& text) {
  auto table = parse_tokens(text);
  return table ? "" : table.error().context;
}

/// Why a line with a valid digest and these further fields is refused.
std::string refusal_of(const std::string& fields) {
  return refusal(sha_of("t") + " " + fields);
}

} // namespace

TEST(TokenTable, BearerOfEachRoleIsKnown) {
  auto table = parse_tokens(
    "# who may come in\n\n" + sha_of("one") + " subject=ada tenant=shop role=producer\n"
    + sha_of("two") + " subject=w1 tenant=shop role=worker queues=mail,print\r\n" + sha_of("three")
    + " subject=ops tenant=* role=admin rate-admin=5 rate-producer=100:1000");

  ASSERT_TRUE(table) << table.error().context;
  auto ada = table->authenticate("one");
  auto w1 = table->authenticate("two");
  auto ops = table->authenticate("three");
  ASSERT_TRUE(ada && w1 && ops);
  EXPECT_EQ(ada->subject, "ada");
  EXPECT_EQ(ada->tenant, "shop");
  EXPECT_TRUE(ada->may_produce());
  EXPECT_FALSE(ada->may_operate());
  EXPECT_EQ(w1->queues, (std::vector<std::string>{"mail", "print"}));
  EXPECT_TRUE(ops->may_operate());
  EXPECT_EQ(ops->rate_of(rate_scope::admin), (rate{5, 5}));
  EXPECT_EQ(ops->rate_of(rate_scope::producer), (rate{100, 1000}));
  EXPECT_EQ(ops->rate_of(rate_scope::claim), rate{});
}

TEST(TokenTable, OtherBearersAreNobody) {
  auto table = parse_tokens(sha_of("one") + " subject=ada tenant=shop role=producer");

  ASSERT_TRUE(table);
  for (const std::string& bearer :
       {std::string(),
        std::string("two"),
        std::string("one "),
        to_text(digest_of("one")),
        std::string(limits::bearer_bytes_max + 1, 'x')})
    EXPECT_EQ(table->authenticate(bearer), nullptr) << bearer;
}

TEST(TokenTable, FindsThePrincipalsOfASubject) {
  auto table = parse_tokens(
    sha_of("one") + " subject=ada tenant=shop role=producer\n" + sha_of("two")
    + " subject=bob tenant=shop role=producer\n" + sha_of("three")
    + " subject=ada tenant=mill role=worker queues=*");
  ASSERT_TRUE(table);

  std::set<std::string> tenants;
  for (const auto& who : table->find_subject("ada"))
    tenants.insert(who->tenant);

  EXPECT_EQ(tenants, (std::set<std::string>{"mill", "shop"}));
  EXPECT_TRUE(table->find_subject("eve").empty());
}

TEST(TokenTable, WorkerMayClaimItsQueuesOfItsTenantOnly) {
  principal who;
  who.tenant = "shop";
  who.role = role::worker;
  who.queues = {"mail", "print"};

  EXPECT_TRUE(who.may_claim({"shop", "print"}));
  EXPECT_FALSE(who.may_claim({"shop", "pay"}));
  EXPECT_FALSE(who.may_claim({"other", "print"}));
  who.queues = {"*"};
  EXPECT_TRUE(who.may_claim({"shop", "pay"}));
  EXPECT_FALSE(who.may_claim({"other", "pay"}));
  who.role = role::admin;
  EXPECT_FALSE(who.may_claim({"shop", "pay"}));
}

TEST(TokenTable, RolesAllowWhatTheySay) {
  auto of = [](role what) {
    principal who;
    who.tenant = "shop";
    who.role = what;
    who.queues = {"mail"};
    return who;
  };
  auto reader = of(role::reader);
  EXPECT_TRUE(reader.may_read() && reader.may_inspect());
  EXPECT_FALSE(reader.may_produce() || reader.may_operate() || reader.may_work());
  auto both = of(role::producer_worker);
  EXPECT_TRUE(both.may_produce() && both.may_work() && both.may_claim({"shop", "mail"}));
  EXPECT_FALSE(both.may_operate() || both.may_inspect());
  EXPECT_FALSE(both.may_use({"shop", "print"})) << "its queues limit all that it does";
  auto metrics = of(role::metrics);
  EXPECT_FALSE(metrics.may_read() || metrics.may_work() || metrics.may_inspect());
}

TEST(TokenTable, ScopesAndExpiryAreReadAsTheyAreWritten) {
  auto line = sha_of("t") + " subject=w tenant=shop role=producer-worker queues=mail"
              + " scopes=codeq:claim,codeq:result expires=2026-05-20T10:00:00.000Z";

  auto table = parse_tokens(line);

  ASSERT_TRUE(table) << table.error().context;
  const auto& who = *table->principals().front();
  EXPECT_EQ(to_line(who), line);
  EXPECT_TRUE(who.scopes.has(scope::claim));
  EXPECT_FALSE(who.scopes.has(scope::nack));
  EXPECT_FALSE(who.is_expired(*who.expires - duration(1)));
  EXPECT_TRUE(who.is_expired(*who.expires));
}

TEST(TokenTable, BadFilesAreRefusedWithLineAndField) {
  auto good = sha_of("t") + " subject=ada tenant=shop role=producer";
  EXPECT_EQ(refusal(good + "\n\n" + good), "line 3: sha256 is the same as on an earlier line");
  EXPECT_EQ(refusal("sha256=12 subject=ada"), "line 1: sha256 must be 64 digits of 0-9 and a-f");
  EXPECT_EQ(refusal("subject=a tenant=b role=admin"), "line 1: sha256 is missing");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=boss"),
    "line 1: role must be producer, worker, producer-worker, admin, reader or metrics");
  EXPECT_EQ(refusal_of("subject=a tenant=b role=admin role=admin"), "line 1: role is there twice");
  EXPECT_EQ(
    refusal_of("subject=a tenant=* role=producer"),
    "line 1: tenant must be 1 to 128 letters, digits, `.`, `_` or `-`, or, of an admin or reader, "
    "`*`");
  EXPECT_EQ(
    refusal_of("subject= tenant=b role=producer"),
    "line 1: subject must be 1 to 128 letters, digits, `.`, `_` or `-`");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=worker"),
    "line 1: queues is missing; a worker's token names queues or has `*`");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=producer queues=c"), "line 1: queues is for workers only");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=admin scopes=codeq:claim"),
    "line 1: scopes is for workers only");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=worker queues=c scopes=claim"),
    "line 1: scopes must be names with commas between them, of codeq:claim,codeq:heartbeat,"
    "codeq:abandon,codeq:nack,codeq:result,codeq:subscribe");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=admin expires=tomorrow"),
    "line 1: expires must be a time like 2026-05-20T10:00:00Z");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=metrics"),
    "line 1: tenant of a metrics token must be `*`, since metrics are of the whole process");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=worker queues=c,*"),
    "line 1: queues must be names of 1 to 128 letters, digits, `.`, `_` or `-` with commas "
    "between them, or `*`");
  EXPECT_EQ(
    refusal_of("subject=a tenant=b role=admin rate-admin=0"),
    "line 1: rate-admin must be PER_SECOND or PER_SECOND:BURST, each 1..10000000");
}

TEST(TokenTable, RefusalsDoNotQuoteWhatMayBeAToken) {
  std::string token = "codeq_0123456789abcdef0123456789abcdef";

  for (const auto& text : {token, token + "=1", "sha256=" + token, "subject=" + token + "/"})
    EXPECT_EQ(refusal(text).find("0123456789abcdef"), std::string::npos) << refusal(text);
}

TEST(TokenTable, LineOfAPrincipalIsReadAsItWas) {
  principal who;
  who.token = digest_of("t");
  who.subject = "w1";
  who.tenant = "shop";
  who.role = role::worker;
  who.queues = {"mail", "print"};
  who.rates[static_cast<std::size_t>(rate_scope::claim)] = {7, 9};

  auto table = parse_tokens(to_line(who));

  ASSERT_TRUE(table) << table.error().context;
  EXPECT_EQ(*table->principals().front(), who);
}

TEST(TokenTable, TooManyTokensAreRefused) {
  std::string text;
  for (std::size_t i = 0; i <= limits::tokens_max; ++i)
    text += sha_of(std::to_string(i)) + " subject=a tenant=b role=admin\n";

  EXPECT_EQ(refusal(text), "line 10001: there may be 10000 tokens");
}

TEST(Token, TwoTokensDiffer) {
  auto one = make_token();
  auto two = make_token();

  ASSERT_TRUE(one && two);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(one->size(), 70u);
  EXPECT_TRUE(is_same(digest_of(*one), digest_of(*one)));
  EXPECT_FALSE(is_same(digest_of(*one), digest_of(*two)));
}

TEST(Token, DigestIsSha256) {
  EXPECT_EQ(
    to_text(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

} // namespace codeq::security
