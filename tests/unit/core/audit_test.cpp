// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class Audit : public shard_fixture {
protected:
  /// A command of `ada`, from her address.
  void act(std::uint64_t operation, bool is_audited = true) {
    act_as(std::make_shared<const core::command_origin>(core::command_origin{
      now(), operation, "ada", "default", "192.0.2.1:5", is_audited}));
  }

  /// The entries that the latest turn wrote, in words: command, what it was about, tasks.
  [[nodiscard]] std::string written() const {
    std::string words;
    for (const auto& e : events()) {
      const auto* audited = std::get_if<core::commands_audited>(&e);
      if (!audited)
        continue;
      for (const auto& entry : audited->entries) {
        words += words.empty() ? "" : "; ";
        words += entry.by->subject + " " + std::string(to_string(entry.action)) + " "
                 + entry.tenant + "/" + entry.queue;
        if (entry.task != 0)
          words += " task " + std::to_string(entry.task - task(1) + 1);
        words += " " + std::to_string(entry.changed);
        words += entry.detail.empty() ? "" : ": " + entry.detail;
      }
    }
    return words;
  }

  /// The keys' positions of the entries that the latest turn wrote.
  [[nodiscard]] std::vector<core::log_position> positions() const {
    std::vector<core::log_position> found;
    for (const auto& e : events())
      if (const auto* audited = std::get_if<core::commands_audited>(&e))
        for (const auto& entry : audited->entries)
          found.push_back(entry.position);
    return found;
  }
};

TEST_F(Audit, EntersEachChangeOfATask) {
  enqueue("q", 6);
  act(1);
  cancel(1);
  EXPECT_EQ(written(), "ada cancel default/q task 1 1");
  act(2);
  force(2, force_kind::fail, "broken");
  EXPECT_EQ(written(), "ada force fail default/q task 2 1: broken");
  act(3);
  redrive(2);
  EXPECT_EQ(written(), "ada redrive default/q task 2 1");
  act(4);
  force(3, force_kind::complete);
  EXPECT_EQ(written(), "ada force complete default/q task 3 1");
  act(5);
  force(4, force_kind::fail);
  act(6);
  purge(4);
  EXPECT_EQ(written(), "ada purge default/q task 4 1");
}

TEST_F(Audit, EntersPromotionsAndRevokedLeases) {
  enqueue("q", 1, {.delay = 1h, .allow_promotion = true});
  act(1);
  promote(1);
  EXPECT_EQ(written(), "ada promote default/q task 1 1");

  attach("w", {"q"});
  claim("w", 1);
  act(2);
  force(1, force_kind::revoke);
  EXPECT_EQ(written(), "ada force revoke default/q task 1 1");
}

TEST_F(Audit, EntersWhatWasChangedOfAQueue) {
  queue_config config;
  config.max_depth = 100;
  config.defaults.lease = 30s;
  act(1);
  configure("q", config);
  EXPECT_EQ(
    written(),
    "ada queue set default/q 0: lease 10s -> 30s, max-depth 0 -> 100");
  act(2);
  pause("q");
  EXPECT_EQ(written(), "ada queue pause default/q 0");
  act(3);
  unpause("q");
  EXPECT_EQ(written(), "ada queue resume default/q 0");
}

TEST_F(Audit, EntersTimesAndRatesOfLimitsAsOptionsTakeThem) {
  act(1);
  set_limit("api", limit_definition{.rate = start_rate{5, 1min, 2}});
  EXPECT_EQ(written(), "ada limit set default/ 0: api: rate 5/1m, burst 2");
  act(2);
  set_limit("api", limit_definition{.concurrency = 3, .rate = start_rate{5, 1500ms, 2}});
  EXPECT_EQ(
    written(),
    "ada limit set default/ 0: api: rate 5/1m, burst 2 -> concurrency 3, rate 5/1500ms, burst 2");
  act(3);
  close_key("api", "k", 1h);
  EXPECT_EQ(written(), "ada limit close default/ 0: api: key \"k\" for 1h");
}

TEST_F(Audit, EntersTheOpeningOfAClosedKeyOnly) {
  set_limit("api", limit_definition{.concurrency = 1});
  act(1);
  close_key("api", "k", 0s);
  EXPECT_EQ(written(), "") << "it is open";

  close_key("api", "k", 1h);
  act(2);
  close_key("api", "k", 0s);
  EXPECT_EQ(written(), "ada limit open default/ 0: api: key \"k\"");

  close_key("api", "k", 10s);
  advance(10s);
  act(3);
  close_key("api", "k", 0s);
  EXPECT_EQ(written(), "") << "its time is over";
}

TEST_F(Audit, DoesNotEnterWhatChangesNothing) {
  enqueue("q", 1);
  act(1);
  cancel(1);
  act(2);
  cancel(1);
  EXPECT_EQ(written(), "");
  redrive(1);
  EXPECT_EQ(written(), "");
  purge(1);
  EXPECT_EQ(written(), "");
  pause("q");
  act(3);
  pause("q");
  EXPECT_EQ(written(), "");
  change_many(core::bulk_kind::purge_dead, {.filter = {}, .limit = 10});
  EXPECT_EQ(written(), "");
}

TEST_F(Audit, DoesNotEnterWhatProducersOrNobodyDid) {
  enqueue("q", 2);
  act(1, false);
  cancel(1);
  EXPECT_EQ(written(), "");
  act_as(nullptr);
  cancel(2);
  EXPECT_EQ(written(), "");
}

TEST_F(Audit, PartsOfOneCommandAreOneEntryWhoseCountGrows) {
  enqueue("q", 5);
  for (int number = 1; number <= 5; ++number)
    force(number, force_kind::fail);
  act(1);
  change_many(core::bulk_kind::redrive, {.filter = {}, .limit = 2});
  auto first = positions();
  EXPECT_EQ(written(), "ada dead redrive default/ 2");
  change_many(core::bulk_kind::redrive, {.filter = {}, .limit = 2});

  EXPECT_EQ(written(), "ada dead redrive default/ 4");
  EXPECT_EQ(positions(), first);
  act(2);
  change_many(core::bulk_kind::redrive, {.filter = {}, .limit = 2});
  EXPECT_EQ(written(), "ada dead redrive default/ 1");
  EXPECT_NE(positions(), first);
}

TEST_F(Audit, TasksOfOneCommandInOneTurnAreOneEntry) {
  enqueue("q", 2);
  act(1);

  together([&] {
    cancel(1);
    cancel(2);
  });

  EXPECT_EQ(written(), "ada cancel default/q 2");
}

TEST_F(Audit, ChangesOfListedTasksAreEnteredAndCountsAreNot) {
  enqueue("q", 3);
  for (int i = 1; i <= 3; ++i)
    force(i, force_kind::fail);
  auto listed = [this](core::bulk_kind what, std::vector<int> tasks) {
    core::change_many c{1, 1, what, {}};
    c.part.filter.queue = "q";
    for (auto number : tasks)
      c.tasks.push_back({task(number), {}});
    return decide(c);
  };

  act(1);
  listed(core::bulk_kind::count_redrive, {1, 2, 3});
  listed(core::bulk_kind::count_purge, {1, 2, 3});
  EXPECT_EQ(written(), "");
  listed(core::bulk_kind::redrive_listed, {1, 2});
  EXPECT_EQ(written(), "ada dead redrive default/q 2");
  act(2);
  listed(core::bulk_kind::purge_listed, {3});
  EXPECT_EQ(written(), "ada dead purge default/q 1");
}

TEST_F(Audit, PurgesOfAQueueAndOfATenantAreEntered) {
  enqueue("q", 1);
  act(1);

  change_many(core::bulk_kind::purge_all, {.filter = {.queue = "q"}, .limit = 10});

  EXPECT_EQ(written(), "ada queue purge default/q 1");
  act(2);
  enqueue("q", 3);
  change_many(core::bulk_kind::purge_all, {.filter = {}, .limit = 10});
  EXPECT_EQ(written(), "ada tenant purge default/ 3");
}

TEST_F(Audit, ForgottenCommandsGetAnotherEntryAndLoseNoCount) {
  enqueue("q", 2);
  act(1);
  cancel(1);
  auto first = positions();
  for (std::uint64_t i = 0; i < tuning::open_audits_max; ++i) {
    act(2 + i);
    if (i % 2 == 0)
      pause("q");
    else
      unpause("q");
  }
  EXPECT_EQ(state().open_audits.size(), tuning::open_audits_max);
  act(1);

  cancel(2);

  EXPECT_EQ(written(), "ada cancel default/q task 2 1");
  EXPECT_NE(positions(), first);
}

TEST_F(Audit, LongTextsAreCut) {
  enqueue("q", 1);
  act(1);

  force(1, force_kind::complete, std::string(100'000, 'x'));

  EXPECT_LE(written().size(), limits::audit_detail_bytes_max + 64);
  EXPECT_NE(written().find("[cut from 100000 bytes]"), std::string::npos);
}

TEST_F(Audit, HistoriesNameTheSubject) {
  enqueue("q", 2);
  act(1, false);
  cancel(1);
  const auto& changed = std::get<core::tasks_changed>(events().front());
  EXPECT_EQ(changed.notes.front().event.subject, "ada");

  force(2, force_kind::fail);
  const auto& ended = std::get<core::leases_ended>(events().front());
  EXPECT_EQ(ended.notes.front().event.subject, "ada");
}

} // namespace
} // namespace codeq::test
