// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "core/queues/queue_limits.hpp"
#include "core/state/task_limits.hpp"
#include "support/shard_fixture.hpp"
#include "support/task_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using testing::HasSubstr;

/// The bodies of the fixture's tasks have no headers: here the only one is `letter`, their first
/// byte.
std::string letter_of(const bytes& body, std::string_view name) {
  return name == "letter" ? std::string(body.view().substr(0, 1)) : std::string();
}

/// Queues that give limits to their tasks.
class QueueLimits : public shard_fixture {
protected:
  QueueLimits() {
    set_limit("api", limit_definition{.concurrency = 1});
    set_limit("db", limit_definition{.concurrency = 1});
    attach("w", {"q"});
    state().read_header = letter_of;
  }

  std::string give(std::vector<queue_limit> limits) {
    return configure("q", {.limits = std::move(limits)});
  }

  std::vector<task_limit> limits_of(int number) {
    const auto* s = core::find_segment(state().segments, task(number));
    return s->limits ? *s->limits : std::vector<task_limit>{};
  }

  core::enqueue_run run_with(std::vector<task_limit> own, std::size_t tasks = 1) {
    core::enqueue_run r;
    r.queue = {"default", "q"};
    r.limits = std::move(own);
    r.tasks = encode_bodies(tasks, 16);
    return r;
  }

  /// The first key of the limit that the shard owns.
  static std::string key_on(shard_id shard, const std::string& limit, std::uint16_t shards) {
    for (int i = 0;; ++i)
      if (
        core::shard_of_limit_key("default", {limit, std::to_string(i)}, shards) == shard)
        return std::to_string(i);
  }

  using uses = std::vector<task_limit>;
};

TEST_F(QueueLimits, AreThoseOfItsTasksFromNowOn) {
  enqueue("q");
  give({{"api", "k", 3}});
  enqueue("q");
  give({});
  enqueue("q");

  EXPECT_EQ(limits_of(1), uses{}) << "it was there before";
  EXPECT_EQ(limits_of(2), (uses{{"api", "k", 3}})) << "a later change does not concern it";
  EXPECT_EQ(limits_of(3), uses{});
}

TEST_F(QueueLimits, HoldTasksBackLikeTheirOwn) {
  give({{"api"}});
  enqueue("q", 2);
  claim("w", 10);

  EXPECT_EQ(state_of(1), "leased");
  EXPECT_EQ(state_of(2), "ready");
  EXPECT_THAT(explain(2), HasSubstr("limited"));
}

TEST_F(QueueLimits, OwnUseOfTheSameLimitWinsAndOthersAreAdded) {
  give({{"api", "k", 3}, {"db"}});
  enqueue("q", 1, {.limits = {{"api", "own", 1}}});

  EXPECT_EQ(limits_of(1), (uses{{"api", "own", 1}, {"db", "", 1}}));
}

TEST_F(QueueLimits, KeyIsInAHeaderOfEachTask) {
  give({{"api", "", 2, "letter"}});
  enqueue("q", 2);

  EXPECT_EQ(limits_of(1), (uses{{"api", "a", 2}}));
  EXPECT_EQ(limits_of(2), (uses{{"api", "b", 2}}));
}

TEST_F(QueueLimits, TaskWithoutTheHeaderHasTheEmptyKey) {
  give({{"api", "", 1, "customer"}});
  enqueue("q");

  EXPECT_EQ(limits_of(1), (uses{{"api", "", 1}}));
}

TEST_F(QueueLimits, SurviveARestartWithTheTasks) {
  give({{"api", "", 2, "letter"}});
  enqueue("q");

  restart();

  EXPECT_EQ(limits_of(1), (uses{{"api", "a", 2}}));
  const auto& config = state().find_queue({"default", "q"})->settings.config;
  EXPECT_EQ(config.limits, (std::vector<queue_limit>{{"api", "", 2, "letter"}}));
}

TEST_F(QueueLimits, HaveToBeDefined) {
  EXPECT_EQ(give({{"apy"}}), "o: refused unknown_limit");

  EXPECT_TRUE(events().empty());
}

TEST_F(QueueLimits, RemovedLimitRefusesNewTasksUntilTheQueueIsSet) {
  const std::vector<queue_limit> both{{"api"}, {"db"}};
  give(both);
  decide(core::adopt_settings{
    .from = shard_id{2},
    .version = 1,
    .queues = {{{"default", "q"}, {{.limits = both}, false}}},
    .limits = {{{"default", "db"}, {.concurrency = 1}}}});

  EXPECT_EQ(enqueue("q"), "p: refused unknown_limit");
  EXPECT_THAT(
    configure("q", {.max_depth = 9, .limits = both}),
    HasSubstr("o: q depth 9 leased 0 attempts 5"))
    << "what it gives already is not checked again";
  give({{"db"}});
  enqueue("q");
  EXPECT_EQ(limits_of(1), (uses{{"db", "", 1}})) << "nothing was added before";
}

TEST_F(QueueLimits, LimitThatQueuesGiveIsNotDeleted) {
  give({{"api"}});
  configure("r", {.limits = {{"api", "", 1, "letter"}, {"db"}}});

  EXPECT_EQ(set_limit("api", std::nullopt), "o: refused invalid_argument");
  EXPECT_TRUE(events().empty());
  const auto why = core::check_not_given(state(), {"default", "api"});
  ASSERT_FALSE(why);
  EXPECT_THAT(
    why.error().context,
    HasSubstr("queues give limit \"api\" to their tasks: \"q\", \"r\"; without it"));
  EXPECT_THAT(why.error().context, HasSubstr("codeqctl queue set q --no-limits"));
  EXPECT_TRUE(core::check_not_given(state(), {"other", "api"}));

  give({});
  configure("r", {.limits = {{"db"}}});
  set_limit("api", std::nullopt);
  EXPECT_FALSE(state().limits.is_defined("default", "api"));
}

TEST_F(QueueLimits, RefusedDeletionNamesSomeOfManyQueues) {
  for (char name = 'a'; name <= 'm'; ++name)
    configure(std::string(1, name), {.limits = {{"api"}}});

  const auto why = core::check_not_given(state(), {"default", "api"});
  ASSERT_FALSE(why);
  EXPECT_THAT(why.error().context, HasSubstr("\"i\", \"j\" and 3 others; without"));
}

TEST_F(QueueLimits, TaskWithTooManyIsRefused) {
  for (const auto* name : {"a", "b", "c", "d"})
    set_limit(name, limit_definition{.concurrency = 1});
  give({{"api"}});

  auto refused = core::check_run_limits(
    state(), run_with({{"a", "", 1}, {"b", "", 1}, {"c", "", 1}, {"d", "", 1}}));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::too_large);
  EXPECT_EQ(
    refused.error().context,
    "limits: queue \"q\" gives its tasks limit \"api\" (codeqctl queue show q): the task would "
    "have 5 limits; it must have at most 4");
}

TEST_F(QueueLimits, HeaderThatIsNoKeyIsRefused) {
  give({{"api", "", 1, "letter"}});
  state().read_header = [](const bytes&, std::string_view) { return std::string(257, 'x'); };

  auto refused = core::check_run_limits(state(), run_with({}));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::too_large);
  EXPECT_THAT(
    refused.error().context,
    HasSubstr("the header that is its key has 257 bytes; it must have at most 256"));
  EXPECT_EQ(core::limits_of(state(), run_with({}), 0), uses{}) << "of a follow-up";
}

TEST_F(QueueLimits, KeysMayBelongToSeveralOtherShards) {
  core::open_permits(state(), 4);
  set_limit("third", limit_definition{.concurrency = 1});
  auto first = key_on(shard_id{1}, "api", 4);
  auto second = key_on(shard_id{2}, "db", 4);
  auto third = key_on(shard_id{3}, "third", 4);
  give({{"api", first}, {"db", second}, {"third", third}});

  enqueue("q");

  EXPECT_EQ(limits_of(1), (uses{{"api", first, 1}, {"db", second, 1}, {"third", third, 1}}));
}

TEST_F(QueueLimits, FollowUpsHaveThem) {
  enqueue("q");
  claim("w", 1);
  give({{"api", "k", 1}});
  complete_with("w", {task(1), entry_of(1).token}, {{shard_id{0}, run_with({})}});

  EXPECT_EQ(limits_of(2), (uses{{"api", "k", 1}}));
}

TEST_F(QueueLimits, AreSaidAsTheyAreSet) {
  EXPECT_EQ(core::to_text({}), "none");
  EXPECT_EQ(
    core::to_text({{"a"}, {"b", "k"}, {"c", "k", 2}, {"d", "", 2}, {"e", "", 3, "h"}}),
    "a, b:k, c:k:2, d::2, e:header=h:3");
}

} // namespace
} // namespace codeq::test
