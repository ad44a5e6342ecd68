// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"
#include "core/checks/invariants.hpp"
#include "core/commands/effect.hpp"
#include "core/state/apply.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "support/seed.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Random tasks with random limits on a worker with a fixed number of slots, in virtual time, with
/// restarts. After each turn the promises of limits are checked against a list of all tasks and a
/// bucket of starts for each key.
namespace codeq::model {

namespace {

constexpr core::peer_id producer = 1;
constexpr core::peer_id worker = 2;
constexpr core::peer_id admin = 3;
constexpr std::uint32_t slots = 6;
const std::string tenant = "default";

/// A start is worth so many parts of a bucket, which fills by one part per millisecond, or by two.
constexpr std::int64_t parts_per_start = 100;
constexpr std::uint32_t burst = 3;
const std::string counted = "slots";
const std::string timed = "rate";

/// The only header of a task is its whole body.
std::string letter_of(const bytes& body, std::string_view) {
  return std::string(body.view());
}

struct model_task {
  std::uint8_t priority = 0;
  std::string queue;
  std::vector<task_limit> uses;
  bool is_leased = false;
  fencing_token token{};
};

struct model_key {
  std::uint64_t leased = 0;
  std::int64_t parts = burst * parts_per_start;
  timestamp filled_at{};
  timestamp closed_until{};
};

class limited_run {
public:
  explicit limited_run(std::uint64_t seed)
    : random_(static_cast<std::uint32_t>(seed)), gives_limits_(seed % 3 == 0) {
    state_->read_header = letter_of;
    set_concurrency(2);
    set_speed(1);
    if (gives_limits_)
      decide(core::configure_queue{
        admin, 1, {tenant, "b"}, {.limits = {{counted, "", 1, "letter"}, {timed, "b", 1}}}});
    attach();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      step();
      check();
    }
    EXPECT_EQ(core::find_violations(*state_), std::vector<std::string>{});
  }

  [[nodiscard]] std::size_t granted() const noexcept { return granted_; }

private:
  using key_name = std::pair<std::string, std::string>;

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  void step() {
    auto which = below(100);
    if (which < 40)
      add();
    else if (which < 80)
      finish();
    else if (which < 90)
      advance(duration{below(150)});
    else if (which < 93)
      close_some_key();
    else if (which < 95)
      set_concurrency(below(4));
    else if (which < 96)
      set_speed(1 + below(2));
    else if (which < 98)
      decide(core::take_snapshot{});
    else
      restart();
  }

  void attach() {
    auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    decide(core::attach_worker{worker, identity, {{tenant, "a"}, {tenant, "b"}}});
    credits_ = 0;
    claim();
  }

  /// All slots that are free wait for tasks.
  void claim() {
    auto wanted = slots - leased_ - credits_;
    credits_ += wanted;
    if (wanted > 0)
      decide(core::claim{worker, wanted, limits::lease_max});
  }

  void add() {
    core::enqueue c;
    c.peer = producer;
    c.request = {session_, ++requests_, requests_};
    auto& run = c.runs.emplace_back();
    run.queue = {tenant, below(3) == 0 ? "b" : "a"};
    run.priority = static_cast<std::uint8_t>(below(3));
    run.tasks = test::encode_bodies(1, 8);
    if (gives_limits_ && run.queue.queue == "b")
      return add_to_giving_queue(c);
    if (below(4) != 0)
      run.limits.push_back({counted, std::to_string(below(3)), 1});
    // A task whose cost is not there yet is waited for by those behind it, so all of a key cost the
    // same.
    if (auto which = below(6); which < 2)
      run.limits.push_back({timed, std::to_string(which), 1 + which});
    if (below(5) == 0)
      run.fairness.key = "f";
    decide(c);
  }

  /// A task of the queue that gives limits, sometimes with its own use of one of them.
  void add_to_giving_queue(core::enqueue& c) {
    auto& run = c.runs.front();
    auto letter = std::string(1, static_cast<char>('0' + below(3)));
    run.tasks = {bytes(letter), {1}};
    std::vector<task_limit> wanted{{counted, letter, 1}, {timed, "b", 1}};
    if (below(2) == 0) {
      run.limits = {{counted, "own", 1}};
      wanted.front() = run.limits.front();
    }
    decide(c);
    // It is the newest one, and may be granted already.
    auto& task = std::prev(tasks_.end())->second;
    ASSERT_EQ(task.uses, wanted) << "its own limit, and the others of its queue";
  }

  void finish() {
    std::vector<sequence> leased;
    for (const auto& [seq, task] : tasks_)
      if (task.is_leased)
        leased.push_back(seq);
    if (leased.empty())
      return;
    auto seq = leased[below(static_cast<std::uint32_t>(leased.size()))];
    auto& task = tasks_.at(seq);
    core::lease_report report;
    report.seq = seq;
    report.token = task.token;
    auto which = below(10);
    report.how = which < 6   ? disposition::completed
                 : which < 7 ? disposition::abandon
                 : which < 8 ? disposition::limited
                             : disposition::failed_permanently;
    if (report.how == disposition::abandon && ++abandons_[seq] > tuning::refunds_in_row_max / 2)
      report.how = disposition::completed;
    if (report.how == disposition::limited)
      report.delay = duration{below(400)};
    bool goes_on = report.how == disposition::abandon || report.how == disposition::limited;
    if (task.uses.empty() && report.how == disposition::limited)
      report.delay = duration{0};
    task.is_leased = false;
    --leased_;
    for (const auto& use : task.uses)
      --key(use).leased;
    if (report.how == disposition::limited && !task.uses.empty()) {
      auto& until = key(task.uses.front()).closed_until;
      until = std::max(until, clock_.now().shard + *report.delay);
    }
    if (!goes_on)
      tasks_.erase(seq);
    decide(core::report{worker, {report}});
  }

  void close_some_key() {
    auto name = std::to_string(below(3));
    auto closed_for = duration{below(2) == 0 ? 0 : below(500)};
    keys_[{counted, name}].closed_until =
      closed_for == duration{0} ? timestamp{} : clock_.now().shard + closed_for;
    decide(core::close_limit_key{admin, 1, {tenant, counted}, name, closed_for});
  }

  void set_concurrency(std::uint32_t concurrency) {
    concurrency_ = concurrency;
    decide(core::set_limit{
      admin, 1, {tenant, counted}, limit_definition{.concurrency = concurrency}});
  }

  /// The rate is 10 a second, or 20. What has started stays started.
  void set_speed(std::uint32_t speed) {
    for (auto& [name, of] : keys_)
      fill(of);
    speed_ = speed;
    decide(core::set_limit{
      admin,
      1,
      {tenant, timed},
      limit_definition{.rate = start_rate{10 * speed, duration{1000}, burst}}});
  }

  void advance(duration by) {
    clock_.advance(by);
    decide(core::tick{});
  }

  void restart() {
    auto recovered = std::make_unique<core::shard_state>(shard_id{}, state_->epoch + 1);
    recovered->steady = clock_.now().steady;
    for (const auto& e : events_)
      core::apply(*recovered, e);
    ASSERT_EQ(core::durable_text(*recovered), core::durable_text(*state_));
    state_ = std::move(recovered);
    state_->read_header = letter_of;
    attach();
  }

  void decide(const core::command& c) {
    core::turn turn(*state_);
    turn.decide(c, clock_.now());
    auto sealed = turn.seal(clock_.now());
    for (const auto& e : sealed.events)
      if (const auto* added = std::get_if<core::segment_appended>(&e))
        tasks_[added->first] = {added->priority, added->queue.queue, added->limits};
    for (const auto& e : sealed.effects)
      if (const auto* batch = std::get_if<core::tasks_granted>(&e))
        for (const auto& run : batch->runs)
          take(run);
    events_.insert(events_.end(), sealed.events.begin(), sealed.events.end());
  }

  model_key& key(const task_limit& use) {
    auto& found = keys_[{use.name, use.key}];
    fill(found);
    return found;
  }

  void fill(model_key& of) {
    auto now = clock_.now().shard;
    auto full = std::int64_t{burst} * parts_per_start;
    of.parts = std::min(full, of.parts + speed_ * (now - of.filled_at).count());
    of.filled_at = now;
  }

  bool admits(const task_limit& use) {
    auto& of = key(use);
    if (of.closed_until > clock_.now().shard)
      return false;
    return use.name == counted ? of.leased < concurrency_
                               : of.parts >= std::int64_t{use.cost} * parts_per_start;
  }

  bool admits(const model_task& task) {
    return std::all_of(
      task.uses.begin(), task.uses.end(), [&](const task_limit& use) { return admits(use); });
  }

  void take(const core::granted_run& run) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      auto& task = tasks_.at(run.first + i);
      ASSERT_FALSE(task.is_leased);
      ASSERT_TRUE(admits(task)) << "task " << run.first << " started though a limit forbids it";
      for (const auto& use : task.uses) {
        ++key(use).leased;
        key(use).parts -= std::int64_t{use.cost} * parts_per_start;
      }
      task.is_leased = true;
      task.token = static_cast<fencing_token>(value(run.first_token) + i);
      ++leased_;
      --credits_;
      ++granted_;
    }
  }

  std::string describe(sequence seq, const model_task& task) {
    std::string text = "queue " + task.queue + ", credits " + std::to_string(credits_);
    for (const auto& use : task.uses)
      text += ", " + use.name + ':' + use.key + '*' + std::to_string(use.cost) + " leased "
              + std::to_string(key(use).leased) + " parts " + std::to_string(key(use).parts);
    const auto* s = core::find_segment(state_->segments, seq);
    if (!s)
      return text + ", and is unknown";
    const auto& queue = state_->queue_of(*s);
    return text + ", is " + std::string(to_string(s->view(seq).state)) + ", held "
           + std::to_string(queue.held) + " of " + std::to_string(queue.ready);
  }

  /// No slot idles while a task may start.
  void check() {
    claim();
    if (credits_ == 0)
      return;
    for (const auto& [seq, task] : tasks_)
      ASSERT_TRUE(task.is_leased || !admits(task))
        << "task " << seq << " waits beside free slots: " << describe(seq, task);
    ASSERT_EQ(core::find_violations(*state_), std::vector<std::string>{});
  }

  std::mt19937 random_;
  /// In every third run the queue "b" gives limits to its tasks.
  bool gives_limits_ = false;
  base::manual_clock clock_;
  std::unique_ptr<core::shard_state> state_ =
    std::make_unique<core::shard_state>(shard_id{}, 1);
  std::vector<core::event> events_;
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::uint32_t concurrency_ = 0;
  std::int64_t speed_ = 1;
  std::uint32_t leased_ = 0;
  std::uint32_t credits_ = 0;
  std::map<sequence, model_task> tasks_;
  std::map<sequence, std::size_t> abandons_;
  std::map<key_name, model_key> keys_;
  std::size_t granted_ = 0;
};

} // namespace

TEST(LimitModel, NothingStartsThatALimitForbidsAndNoSlotIdles) {
  auto first = test::choose_seed() % 1'000'000;
  std::size_t granted = 0;
  for (auto seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    limited_run tasks(seed);
    tasks.run(600);
    granted += tasks.granted();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GT(granted, 60u * 100u) << "the runs test little";
}

} // namespace codeq::model
