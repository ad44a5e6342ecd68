// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"
#include "core/checks/invariants.hpp"
#include "core/commands/effect.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "support/seed.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Random tasks of random fairness keys, which the queue takes from a header in some runs, on
/// workers with a fixed number of slots, in virtual time. After each grant the promises of fairness
/// are checked against a list of all tasks.
namespace codeq::model {

namespace {

const queue_address queue{.queue = "q"};
constexpr core::peer_id producer = 1;
constexpr core::peer_id worker = 2;
constexpr std::uint32_t slots = 4;

/// The body of a task without a header.
const std::string no_header = "-";

/// The only header of a task is its whole body.
std::string header_in(const bytes& body, std::string_view) {
  std::string text(body.view());
  return text == no_header ? std::string() : text;
}

struct running_task {
  sequence seq = 0;
  fencing_token token{};
  timestamp end;
};

struct model_key {
  std::uint32_t weight = 1;
  duration runs_for{1};
  /// Ready tasks in the order of their enqueues.
  std::deque<sequence> ready;
  /// The run times of the tasks that others were granted since the key waits.
  std::int64_t waited = 0;
  /// A task of the key ran longer than expected since the last grant, so that it may miss a round.
  bool has_overrun = false;
};

class fair_run {
public:
  explicit fair_run(std::uint64_t seed)
    : random_(static_cast<std::uint32_t>(seed)), has_headers_(seed % 3 == 0) {
    if (has_headers_) {
      state_.read_header = header_in;
      decide(core::configure_queue{producer, 1, queue, {.fairness_header = "customer"}});
    }
    auto identity = std::make_shared<const worker_identity>(worker_identity{"w", 1});
    decide(core::attach_worker{worker, identity, {queue}});
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      if (below(3) == 0)
        add();
      grant();
      finish();
    }
    EXPECT_EQ(core::find_violations(state_), std::vector<std::string>{});
  }

  [[nodiscard]] std::size_t granted() const noexcept { return granted_; }

private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::string some_name() { return "k" + std::to_string(below(8)); }

  const model_key& key_of(const std::string& name) {
    auto [at, is_new] = keys_.try_emplace(name);
    auto& key = at->second;
    if (is_new) {
      // The keys of headers are in runs of one weight.
      key.weight = has_headers_ ? 1 : 1 + below(4);
      key.runs_for = duration{1 + below(below(2) == 0 ? 10 : 200)};
    }
    return key;
  }

  /// Tasks with a key each in their header; some have no header.
  core::encoded_tasks tasks_with_headers(std::size_t count) {
    std::string body;
    std::vector<std::uint32_t> sizes;
    for (std::size_t i = 0; i < count; ++i) {
      auto text = below(8) == 0 ? no_header : some_name();
      wanted_.push_back(text == no_header ? std::string() : text);
      key_of(wanted_.back());
      body += text;
      sizes.push_back(static_cast<std::uint32_t>(text.size()));
    }
    return {bytes(std::move(body)), std::move(sizes)};
  }

  /// Enqueues a few tasks, or a flood; of one key, or of the keys in their headers.
  void add() {
    core::enqueue c;
    c.peer = producer;
    c.request = {session_, ++requests_, requests_};
    auto& run = c.runs.emplace_back();
    run.queue = queue;
    if (has_headers_ && below(2) == 0) {
      run.tasks = tasks_with_headers(1 + below(below(6) == 0 ? 100 : 4));
    } else {
      // A task that names a key itself keeps it, whatever its header.
      auto name = some_name();
      run.fairness = {name, static_cast<std::uint16_t>(key_of(name).weight)};
      run.tasks = test::encode_bodies(1 + below(below(6) == 0 ? 100 : 4), 8);
      wanted_.assign(run.tasks.count(), name);
    }
    decide(c);
  }

  void grant() {
    auto free = slots - static_cast<std::uint32_t>(running_.size());
    if (free == 0)
      return;
    std::size_t ready = 0;
    for (const auto& [name, key] : keys_)
      ready += key.ready.size();
    auto before = granted_;
    decide(core::claim{worker, free, limits::lease_max});
    ASSERT_EQ(granted_ - before, std::min<std::size_t>(ready, free)) << "a slot idles";
    decide(core::revoke_credits{worker, free});
  }

  void take(const core::granted_run& run) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      auto seq = run.first + i;
      fencing_token token{value(run.first_token) + i};
      const auto& name = name_of_.at(seq);
      auto& key = keys_.at(name);
      ASSERT_FALSE(key.ready.empty());
      ASSERT_EQ(key.ready.front(), seq) << "out of the order of key " << name;
      key.ready.pop_front();
      key.waited = 0;
      key.has_overrun = false;
      auto expected = std::int64_t{state_.leases.find(token)->charged};
      largest_ = std::max({largest_, expected, std::int64_t{key.runs_for.count()}});
      charge_others(name, key.runs_for.count());
      running_.push_back({seq, token, clock_.now().shard + key.runs_for});
      ++granted_;
    }
  }

  void charge_others(const std::string& served, std::int64_t cost) {
    std::int64_t shares = 0;
    for (const auto& [name, key] : keys_)
      shares += key.weight + 1;
    for (auto& [name, key] : keys_) {
      if (name == served || key.ready.empty())
        continue;
      key.waited += cost;
      // Tasks that run may run longer than expected, which is settled when they end.
      auto rounds = key.has_overrun ? 2 : 1;
      auto most = (rounds * (shares - key.weight - 1) + slots) * largest_;
      ASSERT_LE(key.waited, most) << "key " << name << " starves";
    }
  }

  /// The task that ends next ends.
  void finish() {
    if (running_.empty())
      return;
    auto next = std::min_element(
      running_.begin(), running_.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
    clock_.advance(std::max(duration{0}, next->end - clock_.now().shard));
    core::lease_report report;
    report.seq = next->seq;
    report.token = next->token;
    auto& key = keys_.at(name_of_.at(next->seq));
    key.has_overrun =
      key.has_overrun || state_.leases.find(next->token)->charged < key.runs_for.count();
    running_.erase(next);
    decide(core::report{worker, {report}});
  }

  void decide(const core::command& c) {
    core::turn turn(state_);
    turn.decide(c, clock_.now());
    auto sealed = turn.seal(clock_.now());
    for (const auto& e : sealed.events)
      if (const auto* added = std::get_if<core::segment_appended>(&e))
        note(*added);
    for (const auto& e : sealed.effects)
      if (const auto* batch = std::get_if<core::tasks_granted>(&e))
        for (const auto& run : batch->runs)
          take(run);
  }

  void note(const core::segment_appended& added) {
    auto& key = keys_.at(added.fairness.key);
    if (key.ready.empty())
      key.waited = 0;
    for (std::uint32_t i = 0; i < added.count; ++i) {
      ASSERT_FALSE(wanted_.empty());
      ASSERT_EQ(added.fairness.key, wanted_.front()) << "another fairness key than it should have";
      wanted_.pop_front();
      key.ready.push_back(added.first + i);
      name_of_[added.first + i] = added.fairness.key;
    }
  }

  std::mt19937 random_;
  bool has_headers_ = false;
  base::manual_clock clock_;
  core::shard_state state_{shard_id{}, 1};
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::map<std::string, model_key> keys_;
  /// The keys that the tasks of the current request have to get, in their order.
  std::deque<std::string> wanted_;
  std::map<sequence, std::string> name_of_;
  std::vector<running_task> running_;
  std::int64_t largest_ = 1;
  std::size_t granted_ = 0;
};

} // namespace

TEST(FairnessModel, KeysKeepTheirOrderAndWaitForAtMostARoundAndNoSlotIdles) {
  auto first = test::choose_seed() % 1'000'000;
  for (auto seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    fair_run tasks(seed);
    tasks.run(800);
    ASSERT_GT(tasks.granted(), 300u);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

} // namespace codeq::model
