// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "encoding/limit_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/frame.hpp"
#include "protocol/limit_convert.hpp"
#include "protocol/task_header.hpp"
#include "task.capnp.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace codeq::protocol {
namespace {

using namespace std::chrono_literals;

const asked_at by{7, {shard_id{0}, 1}};

result<limit_question>
ask(const std::function<void(schema::LimitRequest::Builder)>& what, asked_at where = by) {
  auto request = limit_request::build([&](schema::LimitRequest::Builder root) {
    root.setNumber(3);
    root.setTenant("t");
    root.setName("api");
    what(root);
  });
  return to_command(request, where);
}

std::string refusal(const std::function<void(schema::LimitRequest::Builder)>& what) {
  auto asked = ask(what);
  return asked ? "fine" : to_string(asked.error());
}

TEST(LimitConvert, DefinitionsAreReadAndBounded) {
  auto set = ask([](auto root) {
    encoding::write_rule(root.initSet(), {.concurrency = 0, .rate = start_rate{5, 1s, 2}});
  });
  ASSERT_TRUE(set);
  const auto& command = std::get<core::set_limit>(*set);
  EXPECT_EQ(command.limit, (limit_address{"t", "api"}));
  EXPECT_EQ(
    *command.definition, (limit_definition{.concurrency = 0, .rate = start_rate{5, 1s, 2}}));
  EXPECT_FALSE(command.is_dry_run);

  EXPECT_NE(refusal([](auto root) { root.initSet(); }).find("neither"), std::string::npos);
  EXPECT_NE(
    refusal([](auto root) {
      encoding::write_rule(root.initSet(), {.concurrency = 1'000'001});
    }).find("concurrency"),
    std::string::npos);
  EXPECT_NE(
    refusal([](auto root) {
      encoding::write_rule(root.initDryRun(), {.rate = start_rate{1, 0ms, 1}});
    }).find("period"),
    std::string::npos);
}

TEST(LimitConvert, BurstThatComesBackTooLateIsRefused) {
  const auto with_burst = [](std::uint32_t burst) {
    return refusal([burst](auto root) {
      encoding::write_rule(
        root.initSet(), {.rate = start_rate{1, limits::limit_rate_period_max, burst}});
    });
  };
  EXPECT_EQ(with_burst(322), "fine");
  EXPECT_NE(
    with_burst(323).find("the rate's burst is 323; it must be 1..322, since it has to come back "
                         "within 864000000000 ms"),
    std::string::npos);
}

TEST(LimitConvert, DeleteShowListAndKeysAreRead) {
  EXPECT_FALSE(std::get<core::set_limit>(*ask([](auto root) { root.setDelete(); })).definition);
  EXPECT_EQ(std::get<core::list_limits>(*ask([](auto root) { root.setShow(); })).limit.name, "api");
  auto list = ask([](auto root) {
    auto page = root.initList();
    page.setLimit(10);
    page.setFromStart(true);
  });
  EXPECT_TRUE(std::get<core::list_limits>(*list).limit.name.empty());
  auto keys = ask([](auto root) {
    auto page = root.initKeys();
    page.setLimit(10);
    page.setBusy(true);
  });
  EXPECT_TRUE(std::get<core::list_limit_keys>(*keys).only_busy);
  EXPECT_NE(refusal([](auto root) { root.initKeys().setLimit(1001); }).find("limit"),
            std::string::npos);
}

TEST(LimitConvert, KeyIsClosedOnlyOnItsOwnShard) {
  auto owner = core::shard_of_limit_key("t", {"api", "k", 1}, 4);
  auto close = [](auto root) {
    auto to = root.initClose();
    to.setKey({reinterpret_cast<const kj::byte*>("k"), 1});
    to.setForMs(1000);
  };
  auto asked = ask(close, {7, {owner, 4}});
  ASSERT_TRUE(asked);
  EXPECT_EQ(std::get<core::close_limit_key>(*asked).closed_for, 1s);
  auto other = static_cast<shard_id>((value(owner) + 1) % 4);
  EXPECT_FALSE(ask(close, {7, {other, 4}}));
  EXPECT_FALSE(ask([](auto root) { root.initClose().setForMs(0); }));
}

TEST(LimitConvert, RepliesSayWhatTheShardHas) {
  core::limits_answered answer{1, 3};
  answer.limits.push_back({{"t", "api"}, {.concurrency = 2}, 1, 5, 3, 1});
  answer.keys.push_back({"k", 1, 4, timestamp{5s}, timestamp{6s}});
  answer.is_out_of_keys = true;
  auto read = make_limit_reply(answer).read([](auto root) -> result<std::string> {
    auto limit = root.getLimits()[0];
    auto key = root.getKeys()[0];
    return std::to_string(root.getNumber()) + ' ' + std::string(limit.getName().cStr()) + ' '
           + std::to_string(limit.getLeased()) + ' ' + std::to_string(limit.getHeld()) + ' '
           + std::to_string(limit.getKeys()) + ' ' + std::to_string(limit.getKeysAbove()) + ' '
           + std::to_string(key.getHeld()) + ' ' + std::to_string(key.getNextStartMs()) + ' '
           + std::to_string(key.getClosedUntilMs()) + (root.getOutOfKeys() ? " full" : "");
  });
  EXPECT_EQ(*read, "3 api 1 5 3 1 4 5000 6000 full");
}

TEST(LimitConvert, LimitsOfATaskAreBounded) {
  EXPECT_TRUE(check_limits({{"a", "k", 1}, {"b", {}, 1000}}));
  EXPECT_FALSE(
    check_limits({{"a", {}, 1}, {"b", {}, 1}, {"c", {}, 1}, {"d", {}, 1}, {"e", {}, 1}}));
  EXPECT_FALSE(check_limits({{"a", {}, 1}, {"a", "k", 1}}));
  EXPECT_FALSE(check_limits({{"", {}, 1}}));
  EXPECT_FALSE(check_limits({{"a", std::string(257, 'k'), 1}}));
  EXPECT_FALSE(check_limits({{"a", {}, 0}}));
  EXPECT_FALSE(check_limits({{"a", {}, 1001}}));
}

TEST(LimitConvert, LimitsOfAQueueAreBounded) {
  EXPECT_TRUE(check_queue_limits({{"a"}, {"b", "k", 2}, {"c", "", 1, std::string(256, 'h')}}));
  EXPECT_FALSE(check_queue_limits({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}));
  EXPECT_FALSE(check_queue_limits({{"a"}, {"a"}}));
  EXPECT_FALSE(check_queue_limits({{"a", "", 0}}));
  EXPECT_FALSE(check_queue_limits({{"a", "", 1, std::string(257, 'h')}}));
  auto both = check_queue_limits({{"a", "k", 1, "h"}});
  ASSERT_FALSE(both);
  EXPECT_EQ(
    both.error().context,
    "limit \"a\" has both the key \"k\" and the header \"h\"; give one of them");
}

TEST(LimitConvert, KeyOfALimitIsReadFromAHeader) {
  auto body = frame<schema::TaskBody>::build([](schema::TaskBody::Builder root) {
                auto headers = root.initHeaders(2);
                headers[0].setName("customer");
                headers[0].setValue("acct_42");
                headers[1].setName("other");
                headers[1].setValue("x");
              }).body();

  EXPECT_EQ(header_of(body, "customer"), "acct_42");
  EXPECT_EQ(header_of(body, "other"), "x");
  EXPECT_EQ(header_of(body, "custom"), "");
}

TEST(LimitRouting, TaskGoesToTheShardOfItsFirstLimitKey) {
  queue_address queue{"t", "q"};
  std::vector<task_limit> uses{{"api", "k", 1}};
  auto owner = core::shard_of_limit_key("t", uses.front(), 16);
  EXPECT_EQ(core::shard_of_task(queue, {}, uses, 16), owner);
  EXPECT_EQ(core::shard_of_task(queue, "g", uses, 16), core::shard_of_name(queue, "g", 16));
  EXPECT_FALSE(core::shard_of_task(queue, {}, {}, 16));
}

} // namespace
} // namespace codeq::protocol
