// SPDX-License-Identifier: Apache-2.0
#include "http/operations/operation_run.hpp"
#include "http/server/gateway_limits.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace codeq::http {
namespace {

using namespace std::chrono_literals;

constexpr timestamp start{1h};
const operation_user root{"root", "acme", "192.0.2.1", true};

bulk_operation request(operation_kind kind) {
  bulk_operation o;
  o.id = "0123456789abcdef";
  o.request.tenant = "acme";
  o.request.kind = kind;
  o.request.filter.queue = "mail";
  o.started_at = start;
  o.number = 7;
  o.by = root;
  return o;
}

task_summary task(sequence seq, task_state state = task_state::dead, std::uint64_t token = 0) {
  task_summary found;
  found.id.seq = seq;
  found.state = state;
  found.token = fencing_token{token == 0 ? seq * 10 : token};
  return found;
}

client::list_part part_of(std::vector<task_summary> tasks, bool more = false) {
  client::list_part part{std::move(tasks), 0, more, true};
  part.after = part.tasks.empty() ? 0 : part.tasks.back().id.seq;
  return part;
}

task_status status(task_state state, std::uint64_t token, std::uint32_t attempt) {
  task_status found;
  found.state = state;
  found.token = fencing_token{token};
  found.attempt = attempt;
  return found;
}

std::string in_words(const operation_run::step& next) {
  if (const auto* wait = std::get_if<operation_run::wait>(&next))
    return "wait " + std::to_string(wait->pause.count());
  if (std::holds_alternative<operation_run::save>(next))
    return "save";
  if (const auto* list = std::get_if<operation_run::list>(&next))
    return "list " + std::to_string(list->at.shard) + " after " + std::to_string(list->at.after)
           + " limit " + std::to_string(list->at.limit)
           + (list->at.below ? " below " + std::to_string(list->at.below) : "");
  if (const auto* change = std::get_if<operation_run::change>(&next)) {
    auto words = "change " + std::to_string(change->shard) + ":";
    for (const auto& one : change->tasks)
      words += " " + std::to_string(one.seq);
    return words;
  }
  if (const auto* look = std::get_if<operation_run::look>(&next))
    return "look at " + std::to_string(look->tasks.size());
  return "idle";
}

/// An operation with the steps that were taken.
class operation_test {
public:
  explicit operation_test(bulk_operation o, std::uint16_t shards = 1)
    : shards_(shards), run(operation_run::begin(std::move(o), shards)) {}

  /// The next step in words; records are stored on the way.
  std::string next() {
    while (true) {
      auto step = run.next(now);
      const auto* save = std::get_if<operation_run::save>(&step);
      if (!save)
        return in_words(step);
      stored = to_record(run.operation());
      run.saved(save->version);
    }
  }

  void list(std::vector<task_summary> tasks, bool more = false) {
    run.take_list(part_of(std::move(tasks), more), now);
  }

  /// The process is killed, and another one goes on with what was stored.
  void restart() { run = operation_run::recover(read_operation(stored).value(), shards_); }

  [[nodiscard]] std::string status_name() const {
    return std::string(operation_statuses[static_cast<std::size_t>(run.operation().status)]);
  }

  [[nodiscard]] std::string counts() const {
    return std::to_string(run.operation().done) + "+" + std::to_string(run.operation().unchanged);
  }

  timestamp now = start;
  std::string stored{};

private:
  std::uint16_t shards_;

public:
  operation_run run;
};

} // namespace

TEST(BulkOperation, ChangesPartByPartOnEveryShardAndStoresEachPartBefore) {
  operation_test o(request(operation_kind::redrive), 2);

  EXPECT_EQ(in_words(o.run.next(o.now)), "save") << "accepted only when it is durable";
  EXPECT_EQ(o.next(), "list 0 after 0 limit 1000");
  o.list({task(3), task(5)}, true);
  EXPECT_EQ(in_words(o.run.next(o.now)), "save");
  EXPECT_EQ(o.next(), "change 0: 3 5");
  o.run.take_change(1, o.now);
  EXPECT_EQ(o.next(), "list 0 after 5 limit 1000");
  o.list({});
  EXPECT_EQ(o.next(), "list 1 after 0 limit 1000");
  o.list({task(4)});
  EXPECT_EQ(o.next(), "change 1: 4");
  o.run.take_change(1, o.now);

  EXPECT_EQ(o.next(), "idle");
  EXPECT_EQ(o.status_name(), "completed");
  EXPECT_EQ(o.counts(), "2+1");
}

TEST(BulkOperation, FilterIsBoundToTheTimeOfTheOperation) {
  auto later = request(operation_kind::redrive);
  later.request.filter.ended.until = start + 5s;
  auto earlier = request(operation_kind::purge);
  earlier.request.filter.ended.until = start - 5s;

  auto until = [](const bulk_operation& o) {
    return operation_run::begin(o, 1).operation().request.filter;
  };

  EXPECT_EQ(until(request(operation_kind::redrive)).ended.until, start);
  EXPECT_EQ(until(request(operation_kind::redrive)).state, task_state::dead);
  EXPECT_EQ(until(later).ended.until, start);
  EXPECT_EQ(until(earlier).ended.until, start - 5s);
  EXPECT_EQ(until(request(operation_kind::cancel)).enqueued.until, start);
  EXPECT_EQ(until(request(operation_kind::promote)).state, task_state::scheduled);
}

TEST(BulkOperation, CancelLeavesEndedTasksAndCancelledOnesAlone) {
  operation_test o(request(operation_kind::cancel));
  auto leased = task(4, task_state::leased);
  leased.cancel_requested = true;

  static_cast<void>(o.next());
  o.list(
    {task(1, task_state::completed),
     task(2, task_state::ready),
     task(3, task_state::leased),
     leased});

  EXPECT_EQ(o.next(), "change 0: 2 3");
}

TEST(BulkOperation, KeepsTheRateAndMakesUpForShortDelaysOnly) {
  auto slow = request(operation_kind::redrive);
  slow.request.rate = 100;
  operation_test o(slow);
  std::vector<task_summary> ten;
  for (sequence seq = 1; seq <= 10; ++seq)
    ten.push_back(task(seq));

  EXPECT_EQ(o.next(), "list 0 after 0 limit 10");
  std::uint64_t changed = 0;
  for (auto end = o.now + 10s; o.now < end;) {
    auto next = o.next();
    if (next.starts_with("list"))
      o.list(ten, true);
    else if (next.starts_with("wait"))
      o.now += duration{std::stoll(next.substr(5))};
    else {
      o.now += 30ms; // A slow store.
      o.run.take_change(10, o.now);
      changed += 10;
    }
  }

  EXPECT_GE(changed, 980u);
  EXPECT_LE(changed, 1010u) << "the first part does not wait";
}

TEST(BulkOperation, StopsAtItsLimitOfTasks) {
  auto few = request(operation_kind::purge);
  few.request.limit = 2;
  operation_test o(few);

  EXPECT_EQ(o.next(), "list 0 after 0 limit 2");
  o.list({task(1), task(2)}, true);
  static_cast<void>(o.next());
  o.run.take_change(2, o.now);

  EXPECT_EQ(o.next(), "idle");
  EXPECT_EQ(o.status_name(), "completed");
}

TEST(BulkOperation, PartOfAKilledProcessIsListedAgainAndOnlyItsRestIsChanged) {
  operation_test o(request(operation_kind::redrive));
  static_cast<void>(o.next());
  o.list({task(3), task(5), task(7)}, true);
  EXPECT_EQ(o.next(), "change 0: 3 5 7");

  o.restart();

  EXPECT_EQ(o.next(), "list 0 after 0 limit 1000 below 8");
  o.list({task(5), task(7, task_state::dead, 99)});
  EXPECT_EQ(o.next(), "change 0: 5") << "3 lives, and 7 died again with another token";
  EXPECT_EQ(
    o.run.take_found_changed(), (std::vector{task_id{shard_id{0}, 3}, task_id{shard_id{0}, 7}}));
  EXPECT_TRUE(o.run.take_found_changed().empty());
  o.run.take_change(1, o.now);
  EXPECT_EQ(o.next(), "list 0 after 7 limit 1000");
  EXPECT_EQ(o.counts(), "3+0");
}

TEST(BulkOperation, PartThatWasChangedBeforeTheKillIsCountedOnce) {
  operation_test o(request(operation_kind::redrive));
  static_cast<void>(o.next());
  o.list({task(3), task(5)}, true);
  static_cast<void>(o.next());

  for (int kill = 0; kill < 2; ++kill) {
    o.restart();
    EXPECT_EQ(o.next(), "list 0 after 0 limit 1000 below 6");
    o.list({});
    EXPECT_EQ(o.next(), "list 0 after 5 limit 1000");
    EXPECT_EQ(o.counts(), "2+0");
  }
}

TEST(BulkOperation, LostOutcomeIsFoundOutByAnotherList) {
  operation_test o(request(operation_kind::promote));
  static_cast<void>(o.next());
  o.list({task(1, task_state::scheduled), task(2, task_state::scheduled)});
  EXPECT_EQ(o.next(), "change 0: 1 2");

  o.run.lose_change();
  o.run.fail({errc::timeout, "no answer"}, o.now);

  EXPECT_EQ(o.next(), "wait 1000");
  EXPECT_FALSE(o.run.problem().empty());
  o.now += 1s;
  EXPECT_EQ(o.next(), "list 0 after 0 limit 1000 below 3");
  o.list({task(2, task_state::scheduled)});
  EXPECT_EQ(o.next(), "change 0: 2");
}

TEST(BulkOperation, ErrorThatNoRetryHelpsPausesIt) {
  operation_test o(request(operation_kind::redrive));
  static_cast<void>(o.next());

  o.run.fail({errc::unsupported, "no"}, o.now);

  EXPECT_EQ(o.next(), "idle");
  EXPECT_EQ(o.status_name(), "paused");
  EXPECT_FALSE(o.run.operation().reason.empty());
}

TEST(BulkOperation, PauseResumeAndCancelAreStoredAndToldByWhom) {
  operation_test o(request(operation_kind::redrive));
  static_cast<void>(o.next());

  EXPECT_TRUE(o.run.pause({"eve", "acme", "192.0.2.2", true}, o.now));
  EXPECT_FALSE(o.run.pause(root, o.now));
  EXPECT_EQ(o.next(), "idle");
  o.restart();
  EXPECT_EQ(o.next(), "idle");
  EXPECT_TRUE(o.run.resume({"bob", "acme", "192.0.2.3", true}, o.now));
  EXPECT_EQ(o.run.operation().by.subject, "bob") << "it goes on with this user's rights";
  EXPECT_EQ(o.next(), "list 0 after 0 limit 1000");
  EXPECT_TRUE(o.run.cancel(root, o.now));
  EXPECT_EQ(o.next(), "idle");
  EXPECT_FALSE(o.run.resume(root, o.now));
  EXPECT_FALSE(o.run.cancel(root, o.now));

  std::string told;
  for (const auto& event : o.run.operation().events)
    told += event.what + ":" + event.subject + " ";
  EXPECT_EQ(told, "start:root pause:eve resume:bob cancel:root ");
}

TEST(BulkOperation, TasksOfAPartAreLookedAtAgainAfterAPause) {
  operation_test o(request(operation_kind::promote));
  static_cast<void>(o.next());
  o.list({task(1, task_state::scheduled)});
  o.run.pause(root, o.now);
  EXPECT_EQ(o.next(), "idle");

  o.run.resume(root, o.now);

  EXPECT_EQ(o.next(), "list 0 after 0 limit 1000 below 2");
}

namespace {

/// A redrive of 200 dead tasks with a canary: its two tasks are redriven.
operation_test with_canary(std::uint32_t most) {
  auto careful = request(operation_kind::redrive);
  careful.request.canary = most;
  operation_test o(careful);
  std::vector<task_summary> all;
  for (sequence seq = 1; seq <= 200; ++seq)
    all.push_back(task(seq));
  EXPECT_EQ(o.next(), "list 0 after 0 limit 1000");
  o.list(all);
  EXPECT_EQ(o.next(), "list 0 after 0 limit 2") << "1 % of 200";
  o.list({task(1), task(2)}, true);
  EXPECT_EQ(o.next(), "change 0: 1 2");
  o.run.take_change(2, o.now);
  return o;
}

} // namespace

TEST(BulkOperation, CanaryThatRunsWellLetsTheRestGo) {
  auto o = with_canary(50);

  EXPECT_EQ(o.next(), "look at 2");
  o.run.take_look({status(task_state::ready, 10, 0), status(task_state::leased, 70, 1)}, o.now);
  EXPECT_EQ(o.next(), "wait 1000") << "neither has ended";
  o.now += 1s;
  EXPECT_EQ(o.next(), "look at 2");
  o.run.take_look({status(task_state::completed, 71, 1), std::nullopt}, o.now);

  EXPECT_EQ(o.next(), "list 0 after 2 limit 1000");
  EXPECT_EQ(o.run.operation().canary_ran, 2u);
}

TEST(BulkOperation, CanaryThatFailsAgainPausesTheOperationAndAUserMayGoOn) {
  auto o = with_canary(49);
  static_cast<void>(o.next());
  o.restart();

  EXPECT_EQ(o.next(), "look at 2");
  o.run.take_look({status(task_state::dead, 70, 5), status(task_state::completed, 71, 1)}, o.now);

  EXPECT_EQ(o.next(), "idle");
  EXPECT_EQ(o.status_name(), "paused");
  EXPECT_NE(
    o.run.operation().reason.find("failed again in 1 of 2 runs, more than 49 %"),
    std::string::npos);
  o.restart();
  EXPECT_TRUE(o.run.resume(root, o.now));
  EXPECT_EQ(o.next(), "list 0 after 2 limit 1000");
}

TEST(BulkOperation, FailedAttemptOfTheCanaryCountsBeforeTheTaskIsDead) {
  auto o = with_canary(0);
  static_cast<void>(o.next());

  o.run.take_look({status(task_state::scheduled, 70, 1), status(task_state::ready, 20, 0)}, o.now);

  EXPECT_EQ(o.status_name(), "paused");
}

TEST(BulkOperation, ShareOfFailuresIsJudgedOfTheWholeCanary) {
  auto o = with_canary(50);
  static_cast<void>(o.next());

  o.run.take_look({status(task_state::dead, 70, 5), status(task_state::ready, 20, 0)}, o.now);

  EXPECT_EQ(o.next(), "wait 1000") << "one of two is not more than 50 %";
}

TEST(BulkOperation, CanaryOfFewTasksIsOne) {
  auto careful = request(operation_kind::redrive);
  careful.request.canary = 0;
  operation_test o(careful);

  static_cast<void>(o.next());
  o.list({task(1), task(2), task(3)});

  EXPECT_EQ(o.next(), "list 0 after 0 limit 1");
}

TEST(BulkOperation, ItsEventsAreBoundedAndKeepTheStart) {
  operation_test o(request(operation_kind::redrive));

  for (int i = 0; i < 100; ++i) {
    o.run.pause(root, o.now);
    o.run.resume(root, o.now);
  }

  EXPECT_EQ(o.run.operation().events.size(), limits::operation_events_max);
  EXPECT_EQ(o.run.operation().events.front().what, "start");
}

TEST(BulkOperation, PlaceOfAWalkThatFindsNothingIsStored) {
  operation_test o(request(operation_kind::redrive));
  static_cast<void>(o.next());

  for (sequence i = 1; i <= limits::operation_empty_lists_max; ++i) {
    auto nothing = part_of({}, true);
    nothing.after = i * 1000;
    o.run.take_list(nothing, o.now);
  }

  EXPECT_EQ(in_words(o.run.next(o.now)), "save");
}

TEST(BulkOperation, EndedOnesAreKeptUpToAnAgeAndANumber) {
  const timestamp now{limits::operation_kept_for + 1h};
  std::vector<ended_operation> all{
    {timestamp{30min}, "acme", "old"}, {timestamp{1h}, "acme", "just"}, {now, "acme", "new"}};
  EXPECT_EQ(find_outdated(all, now), std::vector<std::string>{"old"});

  std::vector<ended_operation> many;
  for (std::size_t i = 0; i < limits::operations_kept_max + 2; ++i)
    many.push_back({now - 1h + duration{i}, "acme", std::to_string(i)});
  many.push_back({now - 2h, "other", "single"});
  EXPECT_EQ(find_outdated(many, now), (std::vector<std::string>{"0", "1"}));

  std::vector<ended_operation> everywhere;
  for (std::size_t i = 0; i < limits::operations_kept_of_all_max + 1; ++i)
    everywhere.push_back({now - 1h + duration{i}, "t" + std::to_string(i), std::to_string(i)});
  EXPECT_EQ(find_outdated(everywhere, now), std::vector<std::string>{"0"});
}

// Stored records stay readable: this text is what the first version wrote.
TEST(BulkOperation, RecordOfTheFirstVersionIsReadAndWritten) {
  auto careful = request(operation_kind::redrive);
  careful.request.canary = 10;
  careful.request.rate = 100;
  careful.request.filter.headers = {{"k", "v"}};
  auto o = operation_run::begin(careful, 4).operation();
  o.part = {{3, fencing_token{30}}, {5, fencing_token{50}}};
  o.canary = {{1, {2, fencing_token{20}}}};
  o.total = 200;
  o.number = 0x8000'0000'0000'0001;
  constexpr auto golden =
    R"({"tenant":"acme","id":"0123456789abcdef","kind":"redrive","status":"running",)"
    R"("phase":"counting","reason":"","rate":100,"limit":0,"done":0,"unchanged":0,"total":200,)"
    R"("filter":{"queue":"mail","state":"dead","group":"","key":"","error":"","workers":[],)"
    R"("headers":{"k":"v"},"enqueuedSinceMs":0,"enqueuedUntilMs":0,"endedSinceMs":0,)"
    R"("endedUntilMs":3600000},"canary":10,"startedAtMs":3600000,"number":"9223372036854775809",)"
    R"("subject":"root","bearerTenant":"acme","remote":"192.0.2.1","isListed":true,)"
    R"("endedAtMs":0,"shard":0,"after":0,"part":"3/30 5/50 ","partAfter":0,"partHasMore":false,)"
    R"("canaryTasks":"1:2/20 ","canaryRan":0,"canaryFailed":0,"events":[{"atMs":3600000,)"
    R"("what":"start","subject":"root","remote":"192.0.2.1"}]})";

  EXPECT_EQ(to_record(o), golden);
  auto read = read_operation(golden);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_record(*read), golden);
  EXPECT_EQ(read->number, o.number);
}

TEST(BulkOperation, RecordThatIsNoneIsRefused) {
  auto good = to_record(operation_run::begin(request(operation_kind::cancel), 1).operation());
  auto bad = good;
  bad.replace(bad.find("cancel"), 6, "forget");

  EXPECT_TRUE(read_operation(good));
  EXPECT_FALSE(read_operation(bad));
  EXPECT_FALSE(read_operation("{}"));
  EXPECT_FALSE(read_operation("no JSON"));
}

} // namespace codeq::http
