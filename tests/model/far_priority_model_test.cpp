// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"
#include "coordinator/hub/head_exchange.hpp"
#include "coordinator/session/claim_router.hpp"
#include "coordinator/shared/shared_board.hpp"
#include "core/checks/invariants.hpp"
#include "core/commands/effect.hpp"
#include "core/state/shard_state.hpp"
#include "core/turn/turn.hpp"
#include "support/seed.hpp"
#include "support/task_builder.hpp"
#include "worker/node/claim_loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Priority and age over the coordinators of a cluster: workers that reach all of them claim as
/// their sessions do, in virtual time, with a millisecond for each message. Checked are the order
/// of grants, and that no slot idles beside a ready task.
namespace codeq::model {

namespace {

using namespace std::chrono_literals;

const queue_address far_queue{.queue = "q"};
constexpr core::peer_id far_producer = 1;
constexpr duration on_its_way = 1ms;
constexpr duration tick_every = coordinator::head_exchange::interval;
/// Within which the contract promises the order of priorities, and within which no slot idles.
constexpr duration priority_slack = 100ms;
constexpr duration age_slack = 10s;

struct cluster_shape {
  std::size_t sites = 3;
  std::size_t shards = 6;
  std::size_t workers = 2;
  std::size_t slots = 4;
};

class far_run {
public:
  explicit far_run(const cluster_shape& shape) : shape_(shape) {
    for (std::size_t i = 0; i < shape.sites; ++i)
      sites_.push_back(std::make_unique<site>(shape));
    for (std::size_t i = 0; i < shape.shards; ++i) {
      shards_.push_back(
        std::make_unique<core::shard_state>(shard_id{static_cast<std::uint16_t>(i)}, 1));
      shards_.back()->join_board(home(i).board);
    }
    for (std::size_t i = 0; i < shape.workers; ++i)
      connect(i);
    for (std::size_t i = 0; i < shape.sites; ++i)
      after(tick_every + 3ms * static_cast<int>(i), [this, i] { tick(i); });
  }

  void add(std::size_t shard, std::uint8_t priority, std::size_t tasks, duration runs_for) {
    core::enqueue c;
    c.peer = far_producer;
    c.request = {session_, ++requests_, requests_};
    auto& run = c.runs.emplace_back();
    run.queue = far_queue;
    run.priority = priority;
    run.tasks = test::encode_bodies(tasks, 8);
    runs_for_ = runs_for;
    decide(shard, c);
  }

  void run(duration length) {
    const auto until = now_ + length;
    while (events_.begin()->first <= until) {
      auto next = events_.extract(events_.begin());
      advance_to(next.key());
      next.mapped()();
      look_for_idle_slots();
      if (testing::Test::HasFatalFailure())
        return;
    }
    advance_to(until);
  }

  void check() {
    for (const auto& state : shards_)
      EXPECT_EQ(core::find_violations(*state), std::vector<std::string>{});
  }

  [[nodiscard]] std::size_t ready() const noexcept { return ready_.size(); }
  [[nodiscard]] std::size_t granted() const noexcept { return granted_; }
  [[nodiscard]] duration longest_idle() const noexcept { return longest_idle_; }

private:
  struct session {
    explicit session(std::size_t shards) : router(shards) {}

    coordinator::claim_router router;
    bool wants = false;
    bool is_asked_back = false;
  };

  struct site {
    explicit site(const cluster_shape& shape)
      : board(std::make_shared<coordinator::shared_board>(shape.shards, true)),
        heads(shape.shards),
        sessions(shape.workers, session(shape.shards)) {}

    std::shared_ptr<coordinator::shared_board> board;
    coordinator::head_exchange heads;
    /// By worker.
    std::vector<session> sessions;
  };

  struct far_worker {
    far_worker(std::size_t slots, std::size_t links) : claims(slots, links) {}

    worker::claim_loop claims;
    std::size_t running = 0;
    std::optional<duration> idle_since{};
  };

  struct waiting_task {
    std::uint8_t priority = 0;
    duration since{0};
    duration runs_for{0};
  };

  using place = std::pair<std::size_t, sequence>;
  using moves = coordinator::claim_router::moves;
  using move = coordinator::claim_router::move;

  [[nodiscard]] std::size_t site_of(std::size_t shard) const { return shard % shape_.sites; }
  [[nodiscard]] site& home(std::size_t shard) { return *sites_[site_of(shard)]; }
  /// Workers are the peers from 2 on.
  [[nodiscard]] static core::peer_id peer_of(std::size_t worker) { return 2 + worker; }

  void after(duration wait, std::function<void()> what) {
    events_.emplace(now_ + wait, std::move(what));
  }

  void advance_to(duration when) {
    clock_.advance(when - now_);
    now_ = when;
  }

  void connect(std::size_t number) {
    workers_.emplace_back(shape_.slots, shape_.sites);
    auto identity = std::make_shared<const worker_identity>(
      worker_identity{"w" + std::to_string(number), 1});
    for (std::size_t shard = 0; shard < shape_.shards; ++shard)
      decide(shard, core::attach_worker{peer_of(number), identity, {far_queue}});
    for (std::size_t i = 0; i < shape_.sites; ++i) {
      for (std::size_t shard = 0; shard < shape_.shards; ++shard)
        if (site_of(shard) != i)
          static_cast<void>(sites_[i]->sessions[number].router.set_here(
            shard_id{static_cast<std::uint16_t>(shard)}, false));
      workers_[number].claims.open(i, true);
    }
    after(0ms, [this, number] { flush(number); });
  }

  // A coordinator.

  void tick(std::size_t number) {
    auto& here = *sites_[number];
    for (const auto& changed : here.board->take_changes())
      here.heads.show(changed);
    const auto news = here.heads.tick();
    for (std::size_t to = 0; news && to < shape_.sites; ++to)
      if (to != number)
        after(on_its_way, [this, number, to, news] { hear(to, number, *news); });
    here.heads.pass_over_silent(clock_.now().steady);
    show_far(number);
    after(tick_every, [this, number] { tick(number); });
  }

  void hear(std::size_t number, std::size_t from, const coordinator::head_news& news) {
    sites_[number]->heads.hear("c" + std::to_string(from), news, clock_.now().steady);
    show_far(number);
  }

  void show_far(std::size_t number) {
    const auto changes = sites_[number]->heads.take_changes();
    for (const auto& [queue, head] : changes.heads)
      sites_[number]->board->set_far(queue, head);
    for (std::size_t shard = 0; changes.frees_tasks && shard < shape_.shards; ++shard)
      if (site_of(shard) == number)
        decide(shard, core::look_at_rivals{});
  }

  void decide(std::size_t shard, const core::command& c) {
    core::turn turn(*shards_[shard]);
    turn.decide(c, clock_.now());
    auto sealed = turn.seal(clock_.now());
    for (const auto& e : sealed.events)
      if (const auto* added = std::get_if<core::segment_appended>(&e))
        for (std::uint32_t i = 0; i < added->count; ++i)
          ready_[{shard, added->first + i}] = {added->priority, now_, runs_for_};
    for (auto& e : sealed.effects)
      after(0ms, [this, shard, said = std::move(e)] { hear(shard, said); });
  }

  void hear(std::size_t shard, const core::effect& e) {
    const auto id = shards_[shard]->id;
    auto with = [&](core::peer_id peer, auto&& change) {
      auto number = static_cast<std::size_t>(peer) - peer_of(0);
      auto& of = home(shard).sessions[number];
      carry_out(site_of(shard), number, change(of.router));
    };
    using router = coordinator::claim_router;
    if (const auto* granted = std::get_if<core::tasks_granted>(&e))
      take(shard, *granted);
    else if (const auto* parked = std::get_if<core::claim_parked>(&e))
      with(parked->peer, [&](router& r) { return r.drained(id); });
    else if (const auto* work = std::get_if<core::work_available>(&e))
      with(work->peer, [&](router& r) { return r.has_work(id); });
    else if (const auto* revoked = std::get_if<core::credits_revoked>(&e))
      with(revoked->peer, [&](router& r) { return r.returned(id, revoked->credits); });
    else if (const auto* worse = std::get_if<core::claim_outranked>(&e))
      with(worse->peer, [&](router& r) {
        return r.outranked(id, worse->credits, worse->by, worse->priority);
      });
  }

  void carry_out(std::size_t number, std::size_t worker, const moves& all) {
    for (const auto& one : all) {
      auto to = static_cast<std::size_t>(value(one.shard));
      if (one.what == move::kind::revoke) {
        decide(to, core::revoke_credits{peer_of(worker), one.credits});
        continue;
      }
      core::claim c{peer_of(worker), one.credits, limits::lease_max};
      c.reaches_all = true;
      decide(to, c);
    }
    tell_credits(number, worker);
  }

  /// As `coordinator::session::tell_credits`.
  void tell_credits(std::size_t number, std::size_t worker) {
    auto& of = sites_[number]->sessions[worker];
    const auto returned = of.router.take_returned();
    const auto wants = of.router.is_starving(of.wants);
    const auto answers = of.is_asked_back && !of.router.is_taking_back();
    if (returned == 0 && wants == of.wants && !answers)
      return;
    of.is_asked_back = of.is_asked_back && !answers;
    of.wants = wants;
    after(on_its_way, [this, number, worker, returned, wants] {
      workers_[worker].claims.told(number, returned, wants);
      flush(worker);
    });
  }

  void take(std::size_t shard, const core::tasks_granted& granted) {
    const auto number = static_cast<std::size_t>(granted.peer) - peer_of(0);
    std::uint32_t count = 0;
    for (const auto& run : granted.runs)
      for (std::uint32_t i = 0; i < run.count; ++i, ++count)
        start(number, {shard, run.first + i}, fencing_token{value(run.first_token) + i});
    auto& of = home(shard).sessions[number];
    after(on_its_way, [this, number, shard, count] {
      workers_[number].claims.received(site_of(shard), 0, count, false);
      flush(number);
    });
    carry_out(
      site_of(shard), number,
      of.router.granted(
        shards_[shard]->id, count, granted.more, granted.runs.back().priority));
  }

  // A worker.

  void flush(std::size_t number) {
    auto& claims = workers_[number].claims;
    for (std::size_t i = 0; i < shape_.sites; ++i)
      if (auto credits = claims.take(i); credits > 0)
        after(on_its_way, [this, i, number, credits] {
          auto& router = sites_[i]->sessions[number].router;
          carry_out(i, number, router.add_credits(static_cast<std::uint32_t>(credits)));
        });
    for (std::size_t i = 0; i < shape_.sites; ++i)
      if (auto idle = claims.take_back(i); idle > 0)
        after(on_its_way, [this, i, number, idle] {
          auto& of = sites_[i]->sessions[number];
          of.is_asked_back = true;
          carry_out(i, number, of.router.take_back(static_cast<std::uint32_t>(idle)));
        });
  }

  /// The task is granted at this moment, and starts when its message arrives.
  void start(std::size_t number, const place& at, fencing_token token) {
    const auto found = ready_.find(at);
    ASSERT_NE(found, ready_.end());
    const auto task = found->second;
    ready_.erase(found);
    check_order(task);
    ++granted_;
    ++workers_[number].running;
    after(on_its_way + task.runs_for, [this, number, at, token] { finish(number, at, token); });
  }

  void finish(std::size_t number, const place& at, fencing_token token) {
    --workers_[number].running;
    core::lease_report report;
    report.seq = at.second;
    report.token = token;
    after(on_its_way, [this, number, shard = at.first, report] {
      decide(shard, core::report{peer_of(number), {report}});
    });
    workers_[number].claims.released(0);
    flush(number);
  }

  // The checks.

  void check_order(const waiting_task& task) {
    for (const auto& [at, other] : ready_) {
      ASSERT_FALSE(other.priority > task.priority && other.since + priority_slack < now_)
        << "a task of priority " << int{task.priority} << " is granted at " << now_.count()
        << " ms while one of " << int{other.priority} << " on shard " << at.first
        << " waits since " << other.since.count();
      ASSERT_FALSE(other.priority == task.priority && other.since + age_slack < task.since)
        << "a task of " << task.since.count() << " ms is granted at " << now_.count()
        << " ms while one of " << other.since.count() << " on shard " << at.first << " waits";
    }
  }

  /// Looks at each worker alone: one of them may always have a slot for a moment.
  void look_for_idle_slots() {
    for (auto& w : workers_) {
      if (ready_.empty() || w.running == shape_.slots)
        w.idle_since.reset();
      else if (!w.idle_since)
        w.idle_since = now_;
      else
        longest_idle_ = std::max(longest_idle_, now_ - *w.idle_since);
    }
    ASSERT_LE(longest_idle_, priority_slack) << "a slot idles at " << now_.count() << " ms";
  }

  cluster_shape shape_;
  base::manual_clock clock_;
  duration now_{0};
  std::multimap<duration, std::function<void()>> events_;
  std::vector<std::unique_ptr<site>> sites_;
  std::vector<std::unique_ptr<core::shard_state>> shards_;
  std::vector<far_worker> workers_;
  std::map<place, waiting_task> ready_;
  duration runs_for_{0};
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::size_t granted_ = 0;
  duration longest_idle_{0};
};

} // namespace

TEST(FarPriorityModel, TasksOfTheHighPriorityAtOneCoordinatorComeFirst) {
  far_run cluster({3, 6, 2, 2});
  for (std::size_t shard : {0, 1, 3, 4})
    cluster.add(shard, 0, 50, 20ms);
  cluster.add(2, 9, 50, 20ms);

  cluster.run(10s);

  EXPECT_EQ(cluster.ready(), 0u);
  cluster.check();
}

TEST(FarPriorityModel, MixedPrioritiesAtAllCoordinatorsDrainInOrder) {
  far_run cluster({3, 6, 2, 8});
  for (std::size_t shard = 0; shard < 6; ++shard)
    for (std::uint8_t priority = 0; priority < 10; ++priority)
      cluster.add(shard, priority, 20, 5ms);

  cluster.run(10s);

  EXPECT_EQ(cluster.ready(), 0u);
  std::cout << "longest idle slot: " << cluster.longest_idle().count() << " ms\n";
}

TEST(FarPriorityModel, ShortTasksThatArriveAllTheTimeKeepTheSlotsBusy) {
  far_run cluster({3, 6, 2, 4});
  std::minstd_rand random(7);
  for (int i = 0; i < 5000; ++i) {
    cluster.add(random() % 6, static_cast<std::uint8_t>(random() % 10), 1 + random() % 3, 4ms);
    cluster.run(2ms);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
  }
  std::cout << cluster.granted() << " tasks, longest idle slot: "
            << cluster.longest_idle().count() << " ms\n";
  // There were 10,000 tasks, with which eight slots are busy for three quarters of the time.
  EXPECT_LT(cluster.ready(), 100u);
}

TEST(FarPriorityModel, OldTasksAtOneCoordinatorComeBeforeThoseThatAreYoungerByTenSeconds) {
  far_run cluster({2, 2, 1, 1});
  cluster.add(0, 0, 400, 100ms);
  cluster.run(15s);
  cluster.add(1, 0, 100, 100ms);
  cluster.run(60s);

  EXPECT_EQ(cluster.ready(), 0u);
}

TEST(FarPriorityModel, OrderHoldsAndNoSlotIdlesInRandomRuns) {
  auto first = test::choose_seed() % 1'000'000;
  for (auto seed = first; seed < first + 40; ++seed) {
    SCOPED_TRACE("CODEQ_SEED=" + std::to_string(seed));
    std::minstd_rand random(static_cast<std::uint32_t>(seed));
    auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    cluster_shape shape;
    shape.sites = 1 + below(4);
    shape.shards = shape.sites * (1 + below(3));
    shape.workers = 1 + below(3);
    shape.slots = 1 + below(6);
    far_run cluster(shape);
    for (int i = 0; i < 150; ++i) {
      const auto tasks = below(4) == 0 ? 1 + below(30) : 1 + below(3);
      cluster.add(
        below(shape.shards), static_cast<std::uint8_t>(below(10)), tasks,
        duration{1 + static_cast<duration::rep>(below(200))});
      cluster.run(duration{static_cast<duration::rep>(below(150))});
      ASSERT_FALSE(testing::Test::HasFailure());
    }
    cluster.run(600s);
    EXPECT_EQ(cluster.ready(), 0u);
    cluster.check();
  }
}

} // namespace codeq::model
