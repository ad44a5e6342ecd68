// SPDX-License-Identifier: Apache-2.0
// Repeats a few turns of a shard while other, unrelated state waits. Under callgrind their
// instructions are counted. Usage: growth_cost SUBJECT SIZE
#include "base/clock.hpp"
#include "core/commands/effect.hpp"
#include "core/commands/routing.hpp"
#include "core/state/shard_state.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/turn.hpp"
#include "storage/retention/retention_filter.hpp"
#include "support/task_builder.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <malloc.h>

#include <valgrind/callgrind.h>

namespace {

using namespace codeq;

constexpr int counted_rounds = 50;
constexpr core::peer_id producer = 1;
constexpr core::peer_id worker = 2;
constexpr core::peer_id first_other = 3;
constexpr auto put_off_for = std::chrono::hours(1);

/// One shard whose worker `worker` processes queue "q".
class busy_shard {
public:
  busy_shard() { attach(worker, "w"); }

  void attach(core::peer_id peer, const std::string& name) {
    auto identity = std::make_shared<const worker_identity>(worker_identity{name, peer});
    run(core::attach_worker{peer, identity, {{"default", "q"}}});
  }

  void enqueue(const std::string& queue) {
    core::enqueue_run tasks;
    tasks.queue = {"default", queue};
    enqueue(std::move(tasks));
  }

  /// Enqueues a task with the one key that is used.
  void enqueue_keyed(on_duplicate duplicate) {
    core::enqueue_run task;
    task.queue = {"default", "q"};
    task.key = "k";
    task.duplicate = duplicate;
    enqueue(std::move(task));
  }

  void claim() { run(core::claim{worker, 1, duration{0}}); }

  /// Ends the latest lease.
  void complete() { end(disposition::completed); }

  /// Ends the latest lease with a nack, whose error text has to be kept until the next attempt.
  void put_off() { end(disposition::nack); }

  /// Ends the latest lease, and its task is dead.
  void fail() { end(disposition::failed_permanently); }

  /// A worker replaces an earlier process, resumes without leases and says goodbye.
  void connect_again(const std::string& name) {
    auto identity =
      std::make_shared<const worker_identity>(worker_identity{name, ++incarnations_});
    run(core::replace_worker{identity});
    run(core::attach_worker{first_other + 1, identity, {{"default", "q"}}});
    run(core::resume{first_other + 1, identity, {}});
    run(core::release_worker{identity});
    run(core::detach_peer{first_other + 1});
  }

  /// Queue "q" has a maximum of leases, and another shard, which never answers, has its slots.
  void lack_slots() {
    const task_limit slot{std::string(core::slot_limit), "q", 1};
    std::uint16_t shards = 2;
    while (core::shard_of_limit_key("default", slot, shards) == state_.id)
      ++shards;
    core::open_permits(state_, shards);
    queue_config config;
    config.max_leased = 10;
    run(core::configure_queue{producer, 1, {"default", "q"}, config});
  }

  void name_queues(const std::vector<queue_address>& names) {
    run(core::change_queues{worker, names});
  }

  /// A worker that claims from all queues of the tenant comes and goes.
  void visit(const std::string& tenant) {
    auto identity = std::make_shared<const worker_identity>(worker_identity{"visitor", 1});
    run(core::attach_worker{first_other, identity, {}, {{tenant, {}}}});
    run(core::detach_peer{first_other});
  }

  void take_snapshot() {
    auto events = run(core::take_snapshot{});
    horizon_ = storage::horizon_of(state_, std::get<core::snapshot_taken>(events.back()));
  }

  [[nodiscard]] const core::shard_state& state() const { return state_; }

private:
  void enqueue(core::enqueue_run tasks) {
    core::enqueue c;
    c.peer = producer;
    c.request = {session_, ++requests_, requests_};
    tasks.tasks = test::encode_bodies(1, 64);
    c.runs.push_back(std::move(tasks));
    run(c);
  }

  void end(disposition how) {
    core::lease_report r;
    r.seq = held_.first;
    r.token = held_.second;
    r.how = how;
    r.delay = how == disposition::nack ? std::optional{put_off_for} : std::nullopt;
    run(core::report{worker, {r}});
  }

  std::vector<core::event> run(const core::command& c) {
    core::turn turn(state_);
    turn.decide(c, clock_.now());
    auto sealed = turn.seal(clock_.now());
    for (const auto& effect : sealed.effects) {
      if (const auto* granted = std::get_if<core::tasks_granted>(&effect)) {
        const auto& last = granted->runs.back();
        held_ = {last.first, last.first_token};
      }
    }
    return std::move(sealed.events);
  }

  base::manual_clock clock_;
  core::shard_state state_{shard_id{}, 1};
  producer_id session_ = make_producer_id(clock_.now().shard, 1, 2);
  std::uint64_t requests_ = 0;
  std::uint64_t incarnations_ = 0;
  std::pair<sequence, fencing_token> held_;
  storage::shard_horizon horizon_;
};

/// The work that is counted, once.
using round = std::function<void()>;

void attach_others(busy_shard& shard, unsigned size) {
  for (unsigned i = 0; i < size; ++i)
    shard.attach(first_other + i, "other");
}

/// One worker takes every task; the others have no credits.
round pass_claimers_without_credits(busy_shard& shard, unsigned size) {
  attach_others(shard, size);
  return [&shard] {
    shard.claim();
    shard.enqueue("q");
    shard.complete();
  };
}

/// No worker has credits, and all were notified of ready tasks.
round pass_claimers_who_know(busy_shard& shard, unsigned size) {
  attach_others(shard, size);
  shard.enqueue("q");
  return [&shard] { shard.enqueue("q"); };
}

/// The queue's tasks lack slots, and no worker has credits.
round pass_claimers_without_slots(busy_shard& shard, unsigned size) {
  attach_others(shard, size);
  shard.lack_slots();
  shard.enqueue("q");
  return [&shard] { shard.enqueue("q"); };
}

/// Finds workers by name.
round find_peer(busy_shard& shard, unsigned size) {
  attach_others(shard, size);
  return [&shard] {
    if (shard.state().peer_of({"w", worker}) != worker)
      std::abort();
  };
}

/// Lets one more task fail and wait for its retry.
void put_off_one(busy_shard& shard) {
  shard.claim();
  shard.enqueue("q");
  shard.put_off();
}

round take_snapshot_of_retries(busy_shard& shard, unsigned size) {
  for (unsigned i = 0; i < size; ++i)
    put_off_one(shard);
  shard.take_snapshot();
  return [&shard] {
    put_off_one(shard);
    shard.take_snapshot();
  };
}

/// Lets a worker connect, resume and go while another one has leases.
round connect_beside_leases(busy_shard& shard, unsigned size) {
  shard.attach(first_other, "other");
  for (unsigned i = 0; i < size; ++i) {
    shard.claim();
    shard.enqueue("q");
  }
  return [&shard] { shard.connect_again("newcomer"); };
}

/// Names queues that do not exist.
round name_queues(busy_shard& shard, unsigned size) {
  std::vector<queue_address> names;
  for (unsigned i = 0; i < size; ++i)
    names.push_back({"default", "unknown-" + std::to_string(i)});
  return [&shard, names] { shard.name_queues(names); };
}

/// Claims from all queues of a tenant while another tenant has many.
round visit_beside_queues(busy_shard& shard, unsigned size) {
  for (unsigned i = 0; i < size; ++i)
    shard.enqueue("q" + std::to_string(i));
  return [&shard] { shard.visit("visited"); };
}

/// Takes a snapshot of one changed queue while the others are unchanged.
round take_snapshot_of_one_queue(busy_shard& shard, unsigned size) {
  for (unsigned i = 0; i < size; ++i)
    shard.enqueue("q" + std::to_string(i));
  shard.take_snapshot();
  return [&shard] {
    shard.claim();
    shard.enqueue("q");
    shard.complete();
    shard.take_snapshot();
  };
}

/// Finds the owner of a key that many dead tasks had before.
round find_owner_of_key(busy_shard& shard, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    shard.claim();
    shard.enqueue_keyed(on_duplicate::replace_ended);
    shard.fail();
  }
  shard.take_snapshot();
  return [&shard] { shard.enqueue_keyed(on_duplicate::existing); };
}

const std::map<std::string, round (*)(busy_shard&, unsigned)> subjects = {
  {"claimers_without_credits", pass_claimers_without_credits},
  {"claimers_without_slots", pass_claimers_without_slots},
  {"claimers_who_know", pass_claimers_who_know},
  {"names_of_a_claim", name_queues},
  {"owner_of_key", find_owner_of_key},
  {"peers", find_peer},
  {"resume", connect_beside_leases},
  {"snapshot_of_one_queue", take_snapshot_of_one_queue},
  {"snapshot_of_retries", take_snapshot_of_retries},
  {"tenant_of_a_claim", visit_beside_queues},
};

} // namespace

int main(int argc, char** argv) {
  auto subject = argc == 3 ? subjects.find(argv[1]) : subjects.end();
  if (subject == subjects.end()) {
    std::fprintf(stderr, "usage: growth_cost SUBJECT SIZE\n");
    return 2;
  }
  busy_shard shard;
  auto one_round = subject->second(shard, static_cast<unsigned>(std::atoi(argv[2])));
  // The first rounds are not counted: they allocate memory.
  for (int i = 0; i < counted_rounds; ++i)
    one_round();
  // Otherwise an allocation of the counted rounds may tidy up what the set-up has freed.
  malloc_trim(0);
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_TOGGLE_COLLECT;
  for (int i = 0; i < counted_rounds; ++i)
    one_round();
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_STOP_INSTRUMENTATION;
  return 0;
}
