// SPDX-License-Identifier: Apache-2.0
#include "etcd/gateway_json.hpp"

#include "base/text_encoding.hpp"
#include "etcd/etcd_limits.hpp"

#include <gtest/gtest.h>

namespace codeq::etcd {
namespace {

using namespace std::chrono_literals;

const std::string head = R"("header":{"cluster_id":"9","member_id":"3","revision":"5"})";

gateway_answer good(const std::string& body) {
  return {200, "{" + head + (body.empty() ? "" : ",") + body + "}"};
}

std::string kv(const std::string& key, const std::string& value) {
  return R"({"key":")" + base::to_base64(key) + R"(","mod_revision":"4","value":")"
         + base::to_base64(value) + "\"}";
}

gateway_answer failed_branch(const std::string& kvs) {
  return good(R"("responses":[{"response_range":{"kvs":[)" + kvs + "]}}]");
}

const swap a_to_b{"k", "a", "b", 0};

TEST(EtcdRequest, SwapComparesTheValueAndNothingElse) {
  EXPECT_EQ(
    to_request(a_to_b).body,
    R"({"compare":[{"key":"aw==","result":"EQUAL","target":"VALUE","value":"YQ=="}],)"
    R"("success":[{"request_put":{"key":"aw==","value":"Yg=="}}],)"
    R"("failure":[{"request_range":{"key":"aw=="}}]})");
  EXPECT_EQ(to_request(a_to_b).target, "/v3/kv/txn");
}

TEST(EtcdRequest, SwapOfAnAbsentKeyComparesThatItIsAbsent) {
  EXPECT_EQ(
    to_request(swap{"k", std::nullopt, "b", 12}).body,
    R"({"compare":[{"key":"aw==","result":"EQUAL","target":"CREATE","create_revision":"0"}],)"
    R"("success":[{"request_put":{"key":"aw==","value":"Yg==","lease":"12"}}],)"
    R"("failure":[{"request_range":{"key":"aw=="}}]})");
}

TEST(EtcdRequest, NoSwapOnlyReads) {
  for (const auto& next : {std::optional<std::string>("x"), std::optional<std::string>()})
    for (const auto& expected : {std::optional<std::string>("x"), std::optional<std::string>()}) {
      const auto body = to_request(swap{"k", expected, next, 0}).body;
      const auto writes = body.find("request_put") != std::string::npos
                          || body.find("request_delete_range") != std::string::npos;
      EXPECT_TRUE(writes) << body;
    }
}

TEST(EtcdRequest, OthersAreSpelledAsTheGatewayWants) {
  const auto range = range_of_prefix("a/");
  EXPECT_EQ(range.end, "a0");
  EXPECT_EQ(to_request(range, "a/").body, R"({"key":"YS8=","range_end":"YTA=","limit":"256"})");
  EXPECT_EQ(
    to_request({"a/", "", 7}, "a/").body,
    R"({"key":"YS8=","min_mod_revision":"7","limit":"256"})");
  EXPECT_EQ(
    to_request({"a/", "a0", 0, 3}, "a/").body,
    R"({"key":"YS8=","range_end":"YTA=","limit":"3"})");
  EXPECT_EQ(grant_request(4500ms).body, R"({"TTL":"5"})");
  EXPECT_EQ(keep_alive_request(3).body, R"({"ID":"3"})");
  EXPECT_EQ(revoke_request(3).target, "/v3/lease/revoke");
  EXPECT_EQ(
    watch_request(range, 8).body,
    R"({"create_request":{"key":"YS8=","range_end":"YTA=","start_revision":"8","fragment":true}})");
}

TEST(EtcdDecision, SucceededIsApplied) {
  const auto made = std::get<decision>(read_decision(good(R"("succeeded":true)"), a_to_b));
  EXPECT_TRUE(made.is_applied);
  EXPECT_EQ(made.current, "b");
  EXPECT_EQ(made.at, (header{9, 5}));
}

TEST(EtcdDecision, AnotherValueIsNotApplied) {
  const auto made = std::get<decision>(read_decision(failed_branch(kv("k", "c")), a_to_b));
  EXPECT_FALSE(made.is_applied);
  EXPECT_EQ(made.current, "c");
}

TEST(EtcdDecision, EqualValueWasAppliedByACopy) {
  const auto made = std::get<decision>(read_decision(failed_branch(kv("k", "b")), a_to_b));
  EXPECT_TRUE(made.is_applied);
  const swap removal{"k", "a", std::nullopt, 0};
  EXPECT_TRUE(std::get<decision>(read_decision(failed_branch(""), removal)).is_applied);
}

TEST(EtcdDecision, AbsentKeyIsNoEmptyValue) {
  const auto made = std::get<decision>(read_decision(failed_branch(""), a_to_b));
  EXPECT_FALSE(made.is_applied);
  EXPECT_EQ(made.current, std::nullopt);
}

TEST(EtcdDecision, FailedComparisonWithTheExpectedValueDecidesNothing) {
  EXPECT_TRUE(std::holds_alternative<gateway_refusal>(
    read_decision(failed_branch(kv("k", "a")), a_to_b)));
}

TEST(EtcdDecision, MalformedAnswersDecideNothing) {
  const std::string bodies[] = {
    "",
    "[]",
    "{}",
    R"({"succeeded":true})",
    R"({"header":{"cluster_id":"x","revision":"5"},"succeeded":true})",
    R"({"header":{"cluster_id":"9","revision":"-5"},"succeeded":true})",
    "{" + head + "}",
    "{" + head + R"(,"responses":[]})",
    "{" + head + R"(,"responses":[1]})",
    "{" + head + R"(,"responses":[{"response_put":{}}]})",
    failed_branch(R"({"key":"%%%%"})").body,
    failed_branch("7").body,
    failed_branch(kv("k", "c") + "," + kv("k", "d")).body,
    std::string(40, '[') + std::string(40, ']'),
  };
  for (const auto& body : bodies) {
    const auto reading = read_decision({200, body}, a_to_b);
    ASSERT_TRUE(std::holds_alternative<gateway_refusal>(reading)) << body;
    EXPECT_FALSE(std::get<gateway_refusal>(reading).is_final);
  }
}

TEST(EtcdDecision, DamagedAnswerIsRefusedOrWellFormed) {
  const auto good_body = failed_branch(kv("k", "c")).body;
  for (std::size_t at = 0; at < good_body.size(); ++at)
    for (int c = 0; c < 256; c += 5) {
      auto body = good_body;
      body[at] = static_cast<char>(c);
      const auto reading = read_decision({200, body}, a_to_b);
      if (const auto* made = std::get_if<decision>(&reading)) {
        EXPECT_EQ(made->is_applied, made->current == "b") << body;
      }
    }
}

TEST(EtcdRefusal, IsFinalWhenNoOtherMemberWouldAnswerDifferently) {
  const std::pair<int, bool> cases[] = {{3, true}, {5, true}, {7, true}, {16, true}, {12, true},
                                        {14, false}, {8, false}, {4, false}, {2, false}};
  for (const auto& [code, is_final] : cases) {
    const gateway_answer answer{
      503, R"({"error":"etcdserver: no leader","code":)" + std::to_string(code) + "}"};
    const auto refusal = std::get<gateway_refusal>(read_decision(answer, a_to_b));
    EXPECT_EQ(refusal.is_final, is_final) << code;
    EXPECT_EQ(refusal.words, "HTTP 503, etcdserver: no leader");
  }
  const auto refusal = std::get<gateway_refusal>(read_decision({502, "<html>\n"}, a_to_b));
  EXPECT_FALSE(refusal.is_final);
  EXPECT_EQ(refusal.words, "HTTP 502, <html> ");
}

TEST(EtcdRefusal, LongTextIsCut) {
  const auto refusal =
    std::get<gateway_refusal>(read_range({500, std::string(10'000, 'x')}));
  EXPECT_LE(refusal.words.size(), limits::quoted_bytes_max + 20);
}

TEST(EtcdRange, ListsKeysWithTheirValues) {
  const auto list = kv("a", std::string("\0\xff", 2));

  const auto read = std::get<range_answer>(
    read_range(good("\"kvs\":[" + list + R"(],"count":"3","more":true)")));

  ASSERT_EQ(read.found.size(), 1u);
  EXPECT_EQ(read.found[0], (entry{"a", std::string("\0\xff", 2), 4}));
  EXPECT_EQ(read.count, 3u);
  EXPECT_TRUE(read.has_more);
}

TEST(EtcdRange, WithoutKeysIsEmpty) {
  const auto read = std::get<range_answer>(read_range(good("")));
  EXPECT_TRUE(read.found.empty());
  EXPECT_EQ(read.count, 0u);
}

TEST(EtcdLease, HasAnIdAndATime) {
  const auto granted =
    std::get<lease_answer>(read_grant(good(R"("ID":"7587854","TTL":"5")")));
  EXPECT_EQ(granted.id, 7587854u);
  EXPECT_EQ(granted.remaining, 5s);
  EXPECT_TRUE(std::holds_alternative<gateway_refusal>(read_grant(good(""))));
}

TEST(EtcdLease, ThatIsOverHasNoTime) {
  const auto body = "{\"result\":{" + head + R"(,"ID":"7"}})";
  EXPECT_EQ(std::get<lease_answer>(read_keep_alive({200, body})).remaining, 0s);
}

TEST(EtcdLease, ThatIsGoneCountsAsRevoked) {
  const gateway_answer gone{
    404, R"({"error":"etcdserver: requested lease not found","code":5})"};
  EXPECT_TRUE(std::holds_alternative<lease_answer>(read_revoke(gone)));
  EXPECT_TRUE(std::holds_alternative<gateway_refusal>(read_revoke({503, "{}"})));
}

TEST(EtcdWatchLine, TellsChanges) {
  const auto line = read_watch_line(
    "{\"result\":{" + head + ",\"events\":[{\"kv\":" + kv("a", "1")
    + R"(},{"type":"DELETE","kv":{"key":"Yg==","mod_revision":"5"}}]}})");
  ASSERT_TRUE(line) << to_string(line.error());
  ASSERT_EQ(line->changes.size(), 2u);
  EXPECT_EQ(line->changes[0], (entry{"a", "1", 4}));
  EXPECT_EQ(line->changes[1], (entry{"b", std::nullopt, 5}));
}

TEST(EtcdWatchLine, TellsItsBeginningAndEnd) {
  EXPECT_TRUE(read_watch_line("{\"result\":{" + head + R"(,"created":true}})")->is_created);
  const auto end = read_watch_line(
    R"({"result":{"header":{"cluster_id":"9"},"canceled":true,"compact_revision":"6"}})");
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_canceled);
  EXPECT_EQ(end->compacted, 6u);
}

TEST(EtcdWatchLine, MalformedIsAnError) {
  const std::string lines[] = {
    "",
    "{",
    "{}",
    R"({"error":{"message":"no leader"}})",
    R"({"result":{}})",
    "{\"result\":{" + head + R"(,"events":7}})",
    "{\"result\":{" + head + R"(,"events":[7]}})",
    "{\"result\":{" + head + R"(,"events":[{"kv":{"key":7}}]}})",
  };
  for (const auto& line : lines)
    EXPECT_FALSE(read_watch_line(line)) << line;
}

TEST(EtcdSwap, KeysAndValuesAreBounded) {
  EXPECT_TRUE(check(a_to_b));
  const std::string large(limits::value_bytes_max + 1, 'x');
  EXPECT_EQ(
    check(swap{"k", std::nullopt, large, 0}).error().context,
    "etcd key k: the value has 16385 bytes, at most 16384");
  EXPECT_EQ(check(swap{"k", large, std::nullopt, 0}).error().code, errc::too_large);
  EXPECT_EQ(check(swap{"", "a", "b", 0}).error().code, errc::invalid_argument);
  EXPECT_FALSE(check(swap{std::string(limits::key_bytes_max + 1, 'k'), "a", "b", 0}));
}

} // namespace
} // namespace codeq::etcd
