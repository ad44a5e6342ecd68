// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "protocol/convert.hpp"
#include "protocol/task_convert.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace codeq::protocol {
namespace {

using namespace std::chrono_literals;

constexpr shard_place here{shard_id{3}, 8};
constexpr timestamp now{1'000'000ms};

task_spec task_for(const std::string& queue) {
  task_spec task;
  task.queue = queue;
  return task;
}

using change = std::function<void(schema::ResultRequest::Report::Builder)>;

/// A plain completion, then one with these follow-ups, modified by `spoil`.
result_request completions(
  const std::vector<task_spec>& follow_ups, const change& spoil = [](auto) {}) {
  auto encoded = encoded_tasks::encode(follow_ups);
  EXPECT_TRUE(encoded);
  return result_request::build(
    [&](schema::ResultRequest::Builder root) {
      root.initReports(2)[0].setSeq(10);
      auto second = root.getReports()[1];
      second.setSeq(11);
      encoded->write_follow_ups(second.initFollowUps());
      spoil(second);
      root.initTexts().initEnds(2);
    },
    encoded->request_bytes() / 8 + 100);
}

core::lease_report second_of(const result_request& message) {
  auto command = to_command(message, 1, now, here);
  EXPECT_TRUE(command);
  EXPECT_TRUE(command->reports.at(0).allowed);
  return command->reports.at(1);
}

TEST(ReportConvert, FollowUpsWithoutANameStayHere) {
  auto deferred = task_for("b");
  deferred.delay = 5s;

  auto report = second_of(completions({task_for("a"), task_for("a"), deferred}));

  ASSERT_EQ(report.follow_ups.size(), 2u);
  EXPECT_EQ(report.follow_ups[0].shard, here.shard);
  EXPECT_EQ(report.follow_ups[0].run.tasks.count(), 2u);
  EXPECT_EQ(report.follow_ups[1].run.queue.queue, "b");
  EXPECT_EQ(report.follow_ups[1].run.not_before, now + 5s);
}

TEST(ReportConvert, FollowUpsOfAGroupGoToItsShard) {
  auto grouped = task_for("a");
  for (int i = 0; i < 20; ++i) {
    grouped.group = "g" + std::to_string(i);

    auto report = second_of(completions({grouped}));

    ASSERT_EQ(report.follow_ups.size(), 1u);
    EXPECT_EQ(
      report.follow_ups[0].shard,
      core::shard_of_name({"default", "a"}, grouped.group, here.shard_count));
    EXPECT_EQ(report.follow_ups[0].run.group, grouped.group);
  }
}

TEST(ReportConvert, InvalidFollowUpRefusesItsReportAlone) {
  auto report = second_of(completions({task_for("a"), task_for("b")}, [](auto second) {
    second.getFollowUps().getRuns()[1].setPriority(10);
  }));

  EXPECT_EQ(report.allowed.error().code, errc::invalid_argument);
  EXPECT_EQ(report.allowed.error().context, "follow-up 1: priority is 10; it must be 0..9");
  EXPECT_TRUE(report.follow_ups.empty());
}

TEST(ReportConvert, TooManyFollowUpsAreRefused) {
  std::vector<task_spec> tasks(limits::follow_ups_max, task_for("a"));
  EXPECT_TRUE(second_of(completions(tasks)).allowed);
  tasks.push_back(task_for("a"));

  auto report = second_of(completions(tasks));

  EXPECT_EQ(report.allowed.error().code, errc::too_large);
  EXPECT_EQ(
    report.allowed.error().context, "the number of follow-ups is 65; it must be at most 64");
}

TEST(ReportConvert, TooLargeFollowUpsAreRefused) {
  auto large = task_for("a");
  large.payload = std::string(limits::payload_bytes_max, 'x');

  auto report = second_of(completions(std::vector<task_spec>(8, large)));

  EXPECT_EQ(report.allowed.error().code, errc::too_large);
}

TEST(ReportConvert, FollowUpsOfAFailureAreNotLookedAt) {
  auto report = second_of(completions({task_for("a")}, [](auto second) {
    second.setDisposition(schema::Disposition::FAILED);
    second.getFollowUps().getRuns()[0].setPriority(10);
  }));

  EXPECT_TRUE(report.allowed);
  EXPECT_TRUE(report.follow_ups.empty());
}

TEST(ReportConvert, FollowUpsThatDoNotFitTheirBodiesAreAProtocolError) {
  auto message = completions(
    {task_for("a")}, [](auto second) { second.getFollowUps().getRuns()[0].setCount(2); });

  auto command = to_command(message, 1, now, here);

  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().code, errc::protocol_error);
}

TEST(ReportConvert, ResultOverItsLimitIsRefusedAlone) {
  auto size = static_cast<capnp::uint>(limits::result_bytes_max + 1);
  auto message = result_request::build(
    [&](schema::ResultRequest::Builder root) {
      root.initReports(2);
      root.initTexts().initBytes(size);
      root.getTexts().initEnds(2).set(1, size);
    },
    size / 8 + 100);

  EXPECT_EQ(second_of(message).allowed.error().code, errc::too_large);
}

TEST(ReportConvert, CostOfALimitThatIsNamedTwiceIsRefused) {
  const auto report_with = [](const char* other) {
    return second_of(completions({task_for("a")}, [&](auto second) {
      auto costs = second.initCosts(2);
      costs[0].setName("x");
      costs[0].setCost(0);
      costs[1].setName(other);
      costs[1].setCost(0);
    }));
  };
  EXPECT_TRUE(report_with("y").allowed);

  auto report = report_with("x");

  ASSERT_FALSE(report.allowed);
  EXPECT_EQ(report.allowed.error().code, errc::invalid_argument);
  EXPECT_EQ(report.allowed.error().context, "the cost of \"x\" is named twice; name it once");
}

TEST(ReportConvert, ProducersMayNotPassForShards) {
  auto task = task_for("a");
  auto request = encoded_tasks::encode({&task, 1})->to_request({{0, 2}, 1, 1, shard_id{}});

  auto command = to_command(request, 1, now, here);

  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().code, errc::protocol_error);
}

} // namespace
} // namespace codeq::protocol
