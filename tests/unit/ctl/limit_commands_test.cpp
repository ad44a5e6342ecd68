// SPDX-License-Identifier: Apache-2.0
#include "ctl/command_line.hpp"
#include "ctl/limit_options.hpp"
#include "unit/config/program_input.hpp"
#include "unit/ctl/recorded_api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace codeq::ctl {
namespace {

using codeq::test::program_input;
using codeq::test::recorded_api;
using codeq::test::refusal;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// Output of a command line whose requests `api` answers.
std::string shown(recorded_api& api, const program_input& input, int status = exit_done) {
  auto parsed = parse_command_line(input.line());
  auto* given = std::get_if<invocation>(&parsed);
  if (given == nullptr)
    return "refused: " + refusal(parsed);
  context with{api, given->json, false};
  testing::internal::CaptureStdout();
  EXPECT_EQ(status, given->run(with));
  return testing::internal::GetCapturedStdout();
}

std::string asked(const program_input& input) {
  recorded_api api;
  shown(api, input);
  return api.asked;
}

std::string refused(const program_input& input) {
  return refusal(parse_command_line(input.line()));
}

limit_info some_limit() {
  limit_info info;
  info.limit = {"t", "stripe"};
  info.definition.concurrency = 10;
  info.definition.rate = start_rate{100, 1s, 20};
  info.leased = 3;
  info.held = 40;
  info.keys = 2;
  return info;
}

TEST(LimitCommands, LimitsBoundTheForecastOfAQueue) {
  recorded_api api;
  queue_explanation why{{"t", "q"}, true};
  why.waiting = {{task_reason::limited, 30}};
  why.starts_per_minute = 16;
  why.last_start = 5min;
  why.limits_need = 5min;
  api.explained = why;
  EXPECT_THAT(
    shown(api, {{"explain", "--queue", "q"}}),
    HasSubstr("by max-leased and the limits the last one that waits for no time starts in 5m or "
              "later\n"));

  api.explained->last_start.reset();
  api.explained->limits_need = duration::max();
  EXPECT_THAT(
    shown(api, {{"explain", "--queue", "q"}}),
    HasSubstr("a limit whose concurrency is 0 lets some of them not start\n"));
}

TEST(LimitCommands, EachVerbAsksForItsChange) {
  EXPECT_EQ(asked({{"limit", "show", "l"}}), "show_limit /l\n");
  EXPECT_EQ(asked({{"limit", "delete", "l", "--tenant", "t"}}), "delete_limit t/l\n");
  EXPECT_EQ(asked({{"limit", "list"}}), "list_limits \n");
  EXPECT_EQ(asked({{"limit", "keys", "l"}}), "limit_keys /l at most 100\n");
  EXPECT_EQ(
    asked({{"limit", "keys", "l", "--after", "", "--limit", "7", "--busy"}}),
    "limit_keys /l after '' at most 7 busy\n");
  EXPECT_EQ(asked({{"limit", "close", "l", "k/1", "--for", "30s"}}), "close /l 'k/1' 30000 ms\n");
  EXPECT_EQ(asked({{"limit", "close", "l", "--for", "1h"}}), "close /l '' 3600000 ms\n");
  EXPECT_EQ(asked({{"limit", "open", "l", "k"}}), "open /l 'k'\n");
}

TEST(LimitCommands, SetTakesConcurrencyRateAndBurst) {
  recorded_api api;
  shown(
    api,
    {{"limit", "set", "l", "--concurrency", "10", "--rate", "100/1s", "--burst", "20"}});
  EXPECT_EQ(api.asked, "set_limit /l\n");
  EXPECT_EQ(api.defined.concurrency, 10u);
  EXPECT_EQ(api.defined.rate, (start_rate{100, 1s, 20}));

  recorded_api other;
  shown(other, {{"limit", "set", "l", "--rate", "5/1m", "--dry-run"}});
  EXPECT_EQ(other.asked, "preview_limit /l\n");
  EXPECT_FALSE(other.defined.concurrency);
  EXPECT_EQ(other.defined.rate, (start_rate{5, 1min, 1}));
}

TEST(LimitCommands, WhatLimitsNothingOrMakesNoSenseIsRefused) {
  EXPECT_EQ(
    refused({{"limit", "set", "l"}}),
    "codeqctl: limit set: neither --concurrency nor --rate is given; give one or both");
  EXPECT_EQ(
    refused({{"limit", "set", "l", "--concurrency", "1", "--burst", "2"}}),
    "codeqctl: limit set: --burst needs --rate");
  EXPECT_EQ(
    refused({{"limit", "set", "l", "--rate", "100"}}),
    "codeqctl: --rate: `100` is not COUNT/PERIOD, such as 100/1s or 5/1m");
  EXPECT_EQ(
    refused({{"limit", "set", "l", "--rate", "0/1s"}}),
    "codeqctl: --rate: `0` is not a whole number from 1 to 1000000");
  EXPECT_EQ(
    refused({{"limit", "set", "l", "--rate", "1/32d"}}),
    "codeqctl: --rate: `32d` is outside 1ms to 31d");
  EXPECT_EQ(
    refused({{"limit", "set", "l", "--concurrency", "1000001"}}),
    "codeqctl: --concurrency: `1000001` is not a whole number from 0 to 1000000");
  EXPECT_NE(refused({{"limit", "close", "l", "k"}}), "");
  EXPECT_NE(refused({{"limit", "set", "a b", "--concurrency", "1"}}), "");
}

TEST(LimitCommands, LimitsOfATaskAreReadFromTheirText) {
  auto read = [](const char* text) { return parse_task_limit(text).value(); };
  EXPECT_EQ(read("smtp"), (task_limit{"smtp", {}, 1}));
  EXPECT_EQ(read("stripe:acct_42"), (task_limit{"stripe", "acct_42", 1}));
  EXPECT_EQ(read("stripe:acct_42:7"), (task_limit{"stripe", "acct_42", 7}));
  EXPECT_EQ(read("stripe::7"), (task_limit{"stripe", {}, 7}));
  EXPECT_EQ(read("stripe:a:b:7"), (task_limit{"stripe", "a:b", 7}));

  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--limit", "stripe:a:b"}}),
    "codeqctl: --limit: the cost of `stripe:a:b`: `b` is not a whole number from 1 to 1000");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--limit", "s:1", "--limit", "s:2"}}),
    "codeqctl: --limit: limit `s` is given twice");
  EXPECT_EQ(
    refused(
      {{"enqueue", "q", "x", "--limit", "a", "--limit", "b", "--limit", "c", "--limit", "d",
        "--limit", "e"}}),
    "codeqctl: --limit: more than 4 limits are given");
}

TEST(LimitCommands, LimitsOfAQueueReplaceThoseThatItHas) {
  auto changed = [](const std::vector<const char*>& options) {
    recorded_api api;
    std::vector<const char*> words{"queue", "set", "q"};
    words.insert(words.end(), options.begin(), options.end());
    shown(api, program_input(words));
    queue_config before;
    before.limits = {{"old"}};
    return api.changes.applied_to(before).limits;
  };

  EXPECT_EQ(
    changed({"--limit", "a", "--limit", "b:k:2", "--limit", "c:header=customer"}),
    (std::vector<queue_limit>{{"a"}, {"b", "k", 2}, {"c", "", 1, "customer"}}));
  EXPECT_EQ(changed({"--no-limits"}), std::vector<queue_limit>{});
  EXPECT_EQ(changed({"--max-depth", "3"}), (std::vector<queue_limit>{{"old"}}));
  EXPECT_THAT(
    refused({{"queue", "set", "q", "--no-limits", "--limit", "a"}}),
    HasSubstr("exclude each other"));
  EXPECT_THAT(
    refused({{"queue", "set", "q", "--limit", "a", "--limit", "a:k"}}),
    HasSubstr("limit `a` is given twice"));
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--limit", "a:header=:2"}}),
    "codeqctl: --limit: `a:header=:2` has no name of a header, such as in `a:header=customer`");
  EXPECT_EQ(
    limits_text({{"a"}, {"b", "k", 2}, {"c", "", 1, "customer"}}),
    "a, b:k:2, c:header=customer");
}

TEST(LimitCommands, AHeaderWithoutANameIsNoKey) {
  EXPECT_EQ(
    refused({{"queue", "set", "q", "--limit", "smtp:header"}}),
    "codeqctl: --limit: `smtp:header` has no name of a header, such as in `smtp:header=customer`; "
    "for the key `header` give a cost: `smtp:header:1`");
  EXPECT_EQ(
    refused({{"enqueue", "q", "x", "--limit", "smtp:header"}}),
    "codeqctl: --limit: `smtp:header` is not NAME[:KEY[:COST]] with the key of the task, such as "
    "`smtp:customer-7`; keys from headers are set by `codeqctl queue set --limit`; for the key "
    "`header` give a cost: `smtp:header:1`");
  EXPECT_THAT(
    refused({{"enqueue", "q", "x", "--limit", "smtp:header=customer"}}),
    HasSubstr("for the key `header=customer` give a cost: `smtp:header=customer:1`"));

  recorded_api api;
  shown(api, {{"queue", "set", "q", "--limit", "smtp:header:1"}});
  EXPECT_EQ(
    api.changes.applied_to({}).limits, (std::vector<queue_limit>{{"smtp", "header", 1}}));
  shown(api, {{"enqueue", "q", "x", "--limit", "smtp:header=customer:1"}});
  EXPECT_EQ(api.task.limits, (std::vector<task_limit>{{"smtp", "header=customer", 1}}));
}

TEST(LimitCommands, ALimitIsShownWithItsUse) {
  recorded_api api;
  api.found_limit = some_limit();

  EXPECT_EQ(
    shown(api, {{"--json", "limit", "show", "stripe"}}),
    R"({"tenant":"t","name":"stripe","concurrency":10,"rate":{"count":100,"period_ms":1000,)"
    R"("burst":20},"leased":3,"held":40,"keys":2,"keys_above":0,"uniform":true})"
    "\n");
  auto text = shown(api, {{"limit", "show", "stripe"}});
  EXPECT_THAT(text, HasSubstr("100/1s, burst 20"));
  EXPECT_THAT(text, testing::Not(HasSubstr("more leases")));
  EXPECT_THAT(shown(api, {{"limit", "list"}}), HasSubstr("stripe"));

  api.found_limit->keys_above = 1;
  api.found_limit->is_uniform = false;
  text = shown(api, {{"limit", "set", "stripe", "--concurrency", "1"}});
  EXPECT_THAT(text, HasSubstr("1 of the keys have more leases than that"));
  EXPECT_THAT(text, HasSubstr("The shards differ"));
}

TEST(LimitCommands, ADryRunSaysWhatWouldBeHeldBack) {
  recorded_api api;
  api.found_limit = some_limit();
  api.found_limit->forecast = limit_forecast{12, 3, true};

  auto text = shown(api, {{"limit", "set", "stripe", "--concurrency", "1", "--dry-run"}});
  EXPECT_THAT(
    text,
    HasSubstr(
      "Nothing was changed. The limit would hold back 12 waiting tasks of 3 keys at once."));
  EXPECT_THAT(
    shown(api, {{"--json", "limit", "set", "stripe", "--concurrency", "1", "--dry-run"}}),
    HasSubstr(R"("would_hold":{"tasks":12,"keys":3,"whole":true})"));

  api.found_limit->forecast->is_whole = false;
  text = shown(api, {{"limit", "set", "stripe", "--concurrency", "1", "--dry-run"}});
  EXPECT_THAT(text, HasSubstr("hold back at least 12 waiting tasks"));
}

TEST(LimitCommands, ShardsThatHaveNotAnsweredAreNamed) {
  recorded_api api;
  api.found_limit = some_limit();
  api.found_limit->is_uniform = false;
  api.found_limit->missing = {shard_id{2}, shard_id{5}};

  const auto text = shown(api, {{"limit", "set", "stripe", "--concurrency", "1"}}, exit_failed);
  EXPECT_THAT(text, HasSubstr("No answer from shards 2, 5"));
  EXPECT_THAT(text, testing::Not(HasSubstr("The shards differ")));
  EXPECT_THAT(
    shown(api, {{"--json", "limit", "show", "stripe"}}, exit_partial),
    HasSubstr(R"("missing":[2,5])"));
}

TEST(LimitCommands, KeysAreShownWithTheirNextStart) {
  recorded_api api;
  limit_keys_page page;
  page.keys.push_back({"", 1, 0, timestamp{}, timestamp{}});
  page.keys.push_back({"a\nb", 2, 5, std::nullopt, timestamp{duration{4'000'000'000'000}}});
  page.keys.push_back({"c", 0, 3});
  page.more = true;
  api.found_keys = page;

  auto text = shown(api, {{"limit", "keys", "l"}});
  EXPECT_THAT(text, HasSubstr("(empty)"));
  EXPECT_THAT(text, HasSubstr("now"));
  EXPECT_THAT(text, HasSubstr("after a lease"));
  EXPECT_THAT(text, testing::ContainsRegex("c +0 +3 +if raised"));
  EXPECT_THAT(text, HasSubstr("more with --after"));
  auto json = shown(api, {{"--json", "limit", "keys", "l"}});
  EXPECT_THAT(
    json, testing::ContainsRegex(R"(\{"key":"","leased":1,"held":0,"next_start":"2[0-9]{3}-)"))
    << "now";
  EXPECT_THAT(
    json,
    HasSubstr(
      R"({"key":"a\nb","leased":2,"held":5,"closed_until":"2096-10-02T07:06:40.000Z"},)"
      R"({"key":"c","leased":0,"held":3}],"more":true})"));
}

TEST(LimitCommands, DeletedLimitSaysHowManyTasksGoOn) {
  recorded_api api;
  api.found_limit = some_limit();
  api.found_limit->held = 4;
  EXPECT_THAT(
    shown(api, {{"limit", "delete", "stripe"}}),
    HasSubstr("is deleted; 4 tasks that it held back go on without it\n"));
}

TEST(LimitCommands, AClosedKeyNamesTheShardsWhoseTasksAreNotCounted) {
  recorded_api api;
  api.closed_key = limit_key_info{"a", 1, 7};
  const program_input as_text{{"limit", "close", "l", "a", "--for", "1h"}};
  const program_input as_json{{"--json", "limit", "close", "l", "a", "--for", "1h"}};
  EXPECT_THAT(shown(api, as_text), testing::Not(HasSubstr("No answer")));
  EXPECT_EQ(shown(api, as_json).find("missing"), std::string::npos);

  api.closed_key->missing = {shard_id{2}};

  EXPECT_THAT(
    shown(api, as_text, exit_partial),
    HasSubstr("No answer from shard 2: their waiting tasks are left out.\n"));
  EXPECT_THAT(shown(api, as_json, exit_partial), HasSubstr(R"("held":7)"));
  EXPECT_THAT(shown(api, as_json, exit_partial), HasSubstr(R"("missing":[2])"));
}

TEST(LimitCommands, ClosedKeysAreShownWithTheirLimit) {
  recorded_api api;
  api.found_limit = some_limit();
  limit_keys_page page;
  page.keys.push_back({"opened", 1, 0, timestamp{}, timestamp{duration{1}}});
  page.keys.push_back({"acct_42", 0, 5, std::nullopt, timestamp{duration{4'000'000'000'000}}});
  api.found_keys = page;

  auto text = shown(api, {{"limit", "show", "stripe"}});
  EXPECT_THAT(text, HasSubstr("\nacct_42     2096-10-02 07:06:40.000 UTC\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("opened")));
  EXPECT_EQ(api.asked, "show_limit /stripe\nlimit_keys /stripe at most 1000\n");

  api.found_keys->keys.pop_back();
  EXPECT_THAT(
    shown(api, {{"limit", "show", "stripe"}}), testing::Not(HasSubstr("CLOSED KEY")));
}

TEST(LimitCommands, ExplainShowsUntilWhenAKeyIsClosed) {
  const timestamp until{duration{4'000'000'000'000}};
  recorded_api api;
  queue_explanation all{{"t", "q"}, true};
  all.limits.push_back({"stripe", {"", 0, 5}});
  all.keys.push_back({"stripe", {"acct_42", 1, 5, until, until}});
  all.keys.push_back({"stripe", {"acct_7", 1, 5}});
  api.explained = all;
  auto text = shown(api, {{"explain", "--queue", "q"}});
  EXPECT_THAT(text, HasSubstr("CLOSED UNTIL"));
  EXPECT_THAT(text, testing::ContainsRegex("acct_42 .* 2096-10-02 07:06:40.000 UTC\n"));
  EXPECT_THAT(text, testing::ContainsRegex("acct_7 .* after a lease +-"));

  task_explanation why;
  why.reason = task_reason::limited;
  why.limit = "stripe";
  why.limit_closed_until = until;
  api.why = why;
  const auto id = to_string(task_id{shard_id{3}, 77});
  EXPECT_THAT(
    shown(api, {{"explain", id.c_str(), "--json"}}),
    HasSubstr(R"("held_before":0,"closed_until":"2096-10-02T07:06:40.000Z")"));
  why.is_out_of_limit_keys = true;
  api.why = why;
  EXPECT_THAT(
    shown(api, {{"explain", id.c_str(), "--json"}}),
    HasSubstr(R"("held_before":0,"out_of_limit_keys":true,)"));
}

} // namespace
} // namespace codeq::ctl
