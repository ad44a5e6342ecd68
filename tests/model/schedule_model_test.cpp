// SPDX-License-Identifier: Apache-2.0
#include "core/checks/invariants.hpp"
#include "core/turn/turn.hpp"
#include "maintenance/store_verifier.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/recovery/recovery.hpp"
#include "storage/recovery/schedule_reader.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

/// Random commands to a shard with a few schedules, which is recovered from every prefix of its
/// writes that a crash may leave.
namespace codeq::model {
namespace {

using namespace std::chrono_literals;

constexpr shard_id own{0};
constexpr shard_id other{1};
constexpr int rounds = 120;
constexpr int steps_per_round = 120;

schedule::nominal_time nominal(std::int64_t second) {
  schedule::local_seconds local{std::chrono::seconds{second}};
  return {local, local};
}

std::int64_t second_of(const schedule::nominal_time& when) {
  return when.local.time_since_epoch().count();
}

class schedule_history {
public:
  explicit schedule_history(std::uint64_t seed) : random_(seed) { restart(0); }

  void step();
  void check();

  std::uint64_t fired = 0;
  std::uint64_t restarts = 0;

private:
  using overlap = overlap_policy;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  schedule_address any_name() { return {"t", std::string(1, static_cast<char>('a' + below(3)))}; }

  core::definition_ptr any_definition() {
    return std::make_shared<const core::schedule_definition>(core::schedule_definition{
      std::to_string(below(2)), static_cast<overlap>(below(4))});
  }

  core::planned_occurrence planned(const schedule_address& name, std::int64_t second) {
    auto run = std::make_shared<core::enqueue_run>();
    run->queue = {"t", "q"};
    auto body = name.name + " " + std::to_string(second);
    run->tasks = {bytes(body), {static_cast<std::uint32_t>(body.size())}};
    return {
      nominal(second), timestamp{std::chrono::seconds{second}}, below(2) == 0 ? own : other, run};
  }

  void decide(const core::command& c) {
    if (!turn_)
      turn_ = std::make_unique<core::turn>(*state_);
    turn_->decide(c, now_);
  }

  void fire(const schedule_address& name);
  void set();
  void pause_or_resume();
  void purge_one();
  void take(const core::effect& e);
  void answer_other();
  void seal();
  void crash();
  void restart(std::size_t turns);

  std::mt19937_64 random_;
  instant now_{monotonic_time{1s}, timestamp{1000s}};
  std::uint32_t epoch_ = 0;
  std::unique_ptr<storage::memory_store> store_;
  std::unique_ptr<core::shard_state> state_;
  std::unique_ptr<core::turn> turn_;
  std::vector<std::shared_ptr<const storage::write_set>> turns_;
  /// The latest time in the records of each turn and those before it.
  std::vector<timestamp> times_;
  /// Turns that a crash may not take.
  std::size_t synced_ = 0;
  /// Plans that were made earlier and may be stale.
  std::vector<core::fire_schedule> old_plans_;
  /// The other shard: tasks by the number of their record, and its own next task.
  std::map<std::uint64_t, std::vector<sequence>> taken_;
  std::vector<core::command> from_other_;
  std::set<sequence> live_there_;
  sequence next_there_ = 1;
  /// The latest nominal time of any plan. A schedule that is set goes on behind it, as the mark
  /// that the caller computes never goes back.
  std::map<schedule_address, std::int64_t> reached_;
  /// How often each task was enqueued, by its body.
  std::map<std::string, std::size_t> made_;
};

void schedule_history::fire(const schedule_address& name) {
  const auto* entry = state_->schedules.find(name);
  if (!entry)
    return;
  core::fire_schedule c;
  c.name = name;
  c.definition = entry->definition;
  c.from = entry->progress.mark;
  auto at = second_of(c.from);
  if (entry->progress.waiting && below(2) == 0) {
    c.is_waiting = true;
    c.fire.push_back(planned(name, second_of(entry->progress.waiting->nominal)));
    c.to = c.from;
  } else {
    c.skipped = below(4) == 0 ? 1 + below(3) : 0;
    at += static_cast<std::int64_t>(c.skipped);
    c.last_skipped = nominal(at);
    for (auto count = below(4); count > 0; --count)
      c.fire.push_back(planned(name, ++at));
    c.to = nominal(at);
    reached_[name] = std::max(reached_[name], at);
  }
  decide(c);
  old_plans_.push_back(std::move(c));
}

void schedule_history::set() {
  auto name = any_name();
  decide(core::set_schedule{1, 1, name, any_definition(), nominal(reached_[name])});
}

void schedule_history::pause_or_resume() {
  core::change_schedule c{1, 1, any_name()};
  c.what = below(2) == 0 ? core::schedule_change::pause : core::schedule_change::resume;
  c.mark = nominal(reached_[c.name]);
  decide(c);
}

void schedule_history::purge_one() {
  core::change_many c{1, 1, core::bulk_kind::purge_all, {}};
  c.part.filter.tenant = "t";
  c.part.filter.queue = "q";
  c.part.limit = 1;
  decide(c);
}

void schedule_history::step() {
  now_.steady += 10ms;
  now_.shard += 10ms;
  switch (below(12)) {
  case 0:
    set();
    break;
  case 1:
    pause_or_resume();
    break;
  case 2:
    if (below(8) == 0)
      decide(core::change_schedule{1, 1, any_name(), core::schedule_change::remove});
    break;
  case 3:
    if (!old_plans_.empty())
      decide(old_plans_[below(old_plans_.size())]);
    break;
  case 4:
    purge_one();
    break;
  case 5:
    decide(core::take_snapshot{});
    break;
  case 6:
  case 7:
    answer_other();
    break;
  default:
    fire(any_name());
  }
  if (below(3) == 0)
    seal();
  if (below(40) == 0)
    crash();
}

void schedule_history::answer_other() {
  for (auto& c : std::exchange(from_other_, {}))
    decide(c);
  if (live_there_.empty() || below(2) == 0)
    return;
  auto seq = *live_there_.begin();
  live_there_.erase(seq);
  decide(core::note_ends{other, {{seq, occurrence_state::completed}}});
}

void schedule_history::take(const core::effect& e) {
  if (const auto* sent = std::get_if<core::deliver_follow_ups>(&e)) {
    auto [at, is_new] = taken_.try_emplace(sent->number);
    for (const auto& run : sent->runs)
      if (is_new) {
        at->second.push_back(next_there_);
        live_there_.insert(next_there_++);
        ++made_[std::string(run.tasks.body.view())];
      }
    from_other_.push_back(core::confirm_follow_ups{other, sent->number, at->second});
  }
  if (const auto* told = std::get_if<core::shard_told>(&e))
    if (const auto* watched = std::get_if<core::watch_ends>(&told->what))
      for (auto seq : watched->tasks)
        if (!live_there_.contains(seq))
          from_other_.push_back(
            core::note_ends{other, {{seq, occurrence_state::completed}}});
}

void schedule_history::seal() {
  if (!turn_)
    return;
  auto sealed = turn_->seal(now_);
  turn_.reset();
  auto writes = std::make_shared<storage::write_set>();
  bool is_fired = false;
  auto latest = times_.empty() ? timestamp{} : times_.back();
  for (const auto& e : sealed.events) {
    latest = std::max(latest, std::visit([](const auto& x) { return x.at; }, e));
    storage::project(own, e, *writes);
    if (const auto* changed = std::get_if<core::schedule_changed>(&e))
      is_fired = is_fired || changed->is_fired;
    if (const auto* added = std::get_if<core::segment_appended>(&e))
      for (const auto& piece : added->pieces) {
        std::size_t begin = 0;
        for (auto size : piece.sizes) {
          ++made_[std::string(piece.body.slice(begin, size).view())];
          begin += size;
          ++fired;
        }
      }
  }
  turns_.push_back(writes);
  times_.push_back(latest);
  std::shared_ptr<const storage::write_set> set = writes;
  ASSERT_TRUE(store_->commit({&set, 1}, storage::durability::os));
  if (is_fired)
    synced_ = turns_.size();
  for (const auto& e : sealed.effects)
    take(e);
  check();
}

void schedule_history::crash() {
  turn_.reset();
  ++restarts;
  // The tasks of a turn that is lost were told to nobody; those of fired turns are never lost.
  restart(synced_ + below(turns_.size() - synced_ + 1));
}

void schedule_history::restart(std::size_t turns) {
  turns_.resize(turns);
  times_.resize(turns);
  synced_ = turns;
  store_ = std::make_unique<storage::memory_store>();
  storage::store_record identity;
  identity.shard_count = 2;
  identity.epoch = ++epoch_;
  auto first = std::make_shared<storage::write_set>();
  first->put(storage::store_key{}.encode(), storage::encode(identity));
  std::shared_ptr<const storage::write_set> set = first;
  ASSERT_TRUE(store_->commit({&set, 1}, storage::durability::sync));
  for (const auto& writes : turns_)
    ASSERT_TRUE(store_->commit({&writes, 1}, storage::durability::sync));
  auto recovered = storage::recover(*store_, own, epoch_, now_.steady);
  ASSERT_TRUE(recovered) << to_string(recovered.error());
  state_ = std::move(*recovered);
  from_other_.clear();
  decide(core::tick{});
  seal();
}

void schedule_history::check() {
  EXPECT_EQ(core::find_violations(*state_), std::vector<std::string>{});
  for (const auto& [body, count] : made_)
    EXPECT_EQ(count, 1u) << body << " was enqueued twice";
  auto again = storage::recover(*store_, own, epoch_, now_.steady);
  ASSERT_TRUE(again);
  EXPECT_GE((*again)->at, times_.empty() ? timestamp{} : times_.back()) << "time went back";
  ASSERT_EQ((*again)->schedules.size(), state_->schedules.size());
  for (const auto& [name, entry] : state_->schedules) {
    const auto* found = (*again)->schedules.find(name);
    ASSERT_TRUE(found) << name.name;
    EXPECT_EQ(*found->definition, *entry.definition);
    EXPECT_EQ(found->progress, entry.progress) << name.name;
    auto history = storage::read_occurrences(*store_, own, name);
    ASSERT_TRUE(history);
    EXPECT_EQ(
      history->size(), std::min<std::uint64_t>(entry.progress.occurrences, 100)) << name.name;
  }
  store_report report;
  ASSERT_TRUE(maintenance::verify_records(*store_, 5, report));
  EXPECT_EQ(report.findings, std::vector<std::string>{});
}

TEST(ScheduleModel, FiresEachNominalTimeOnceWhateverACrashLeaves) {
  auto seed = test::choose_seed();
  std::uint64_t fired = 0;
  std::uint64_t restarts = 0;
  for (int round = 0; round < rounds; ++round) {
    schedule_history history(seed + static_cast<std::uint64_t>(round));
    for (int i = 0; i < steps_per_round; ++i) {
      history.step();
      if (testing::Test::HasFailure())
        FAIL() << "round " << round << " step " << i;
    }
    fired += history.fired;
    restarts += history.restarts;
  }
  std::cout << fired << " occurrences on the own shard, " << restarts << " crashes\n";
  EXPECT_GT(fired, 500u);
  EXPECT_GT(restarts, 50u);
}

} // namespace
} // namespace codeq::model
