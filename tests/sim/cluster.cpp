// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster.hpp"

#include "base/tuning.hpp"
#include "sim/workload.hpp"

#include <algorithm>
#include <exception>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

/// Everything must end within this time after the last fault.
constexpr virtual_time settle_max = 5min;
/// Far more steps than any run takes: more would mean an endless loop.
constexpr std::uint64_t steps_max = 20'000'000;

/// Longer than the shortest retention, including the snapshot that starts its clock.
constexpr virtual_time later = 70min;

} // namespace

cluster::cluster(std::uint64_t seed, const scenario& options)
  : seed_(seed),
    world_(seed, options),
    auditor_(world_, disk_),
    network_(world_),
    disk_(world_),
    last_shard_now_(options.shards) {
  network_.listen([this](const connection_ptr& made) {
    if (coordinator_)
      coordinator_->accept(made);
    return coordinator_ != nullptr;
  });
}

void cluster::start_coordinator() {
  coordinators_.push_back(std::make_unique<coordinator_process>(world_, disk_, auditor_));
  coordinator_ = coordinators_.back().get();
}

void cluster::start_worker(std::size_t i) {
  worker_process::parts made;
  made.identity = {"w" + std::to_string(i), next_incarnation_++};
  made.queues = served_queues();
  if (world_.options.has_schedules)
    made.queues.push_back(tick_queue);
  made.audit = &auditor_;
  made.shard_now = [this](shard_id shard) { return shard_now(shard); };
  all_workers_.push_back(std::make_unique<worker_process>(world_, network_, std::move(made)));
  workers_[i] = all_workers_.back().get();
  if (!faults_)
    workers_[i]->behave();
}

void cluster::start_producer(std::size_t i) {
  producer_process::parts made;
  made.name = "p" + std::to_string(all_producers_.size());
  made.audit = &auditor_;
  made.shard_now = [this] { return earliest_shard_now(); };
  all_producers_.push_back(std::make_unique<producer_process>(world_, network_, std::move(made)));
  producers_[i] = all_producers_.back().get();
}

void cluster::plan_requests() {
  for (std::size_t i = 0; i < producers_.size(); ++i) {
    for (std::size_t k = 0; k < world_.options.requests_per_producer; ++k)
      world_.time.after(world_.random.workload.moment(0, world_.options.length.count()), [this, i] {
        producers_[i]->submit();
      });
  }
}

timestamp cluster::shard_now(shard_id shard) {
  auto& last = last_shard_now_[value(shard)];
  if (coordinator_)
    last = coordinator_->shard_now(shard);
  return last;
}

timestamp cluster::earliest_shard_now() {
  auto earliest = timestamp::max();
  for (std::size_t i = 0; i < last_shard_now_.size(); ++i)
    earliest = std::min(earliest, shard_now(static_cast<shard_id>(i)));
  return earliest;
}

void cluster::every(virtual_time about, const timeline::action& fault) {
  if (about <= virtual_time{0})
    return;
  world_.time.after(
    world_.random.faults.moment(about.count() / 5, about.count() * 9 / 5), [this, about, fault] {
      if (!faults_)
        return;
      fault();
      every(about, fault);
    });
}

void cluster::plan_faults() {
  const auto& o = world_.options;
  every(o.cut_every, [this] {
    if (auto link = network_.pick()) {
      ++auditor_.totals().connection_cuts;
      world_.say("connection breaks");
      link->cut(world_.random.faults.hits(100));
    }
  });
  every(o.stall_every, [this] { stall_connection(); });
  every(o.worker_crash_every, [this] { crash_worker(); });
  every(o.worker_pause_every, [this] {
    auto* worker = workers_[world_.random.faults.below(workers_.size())];
    world_.say("worker pauses " + worker->identity().name);
    worker->pause(world_.random.faults.moment(100'000, 6'000'000));
  });
  every(o.worker_leave_every, [this] {
    auto i = world_.random.faults.below(workers_.size());
    workers_[i]->leave();
    follow_leaving(i);
  });
  every(o.change_every, [this] { meddling_->meddle(); });
  every(o.producer_crash_every, [this] { crash_producer(); });
  every(o.usurper_every, [this] { usurp_worker(); });
  every(o.coordinator_kill_every, [this] { stop_or_kill_coordinator(); });
  every(o.power_cut_every, [this] { kill_coordinator(true); });
  every(o.clock_step_every, [this] { step_clock(); });
  every(o.compact_every, [this] { disk_.compact(); });
  every(o.full_disk_every, [this] { fill_disk(); });
}

void cluster::stall_connection() {
  auto link = network_.pick();
  if (!link)
    return;
  world_.say("connection stalls");
  auto length = world_.random.faults.moment(10'000, 4'000'000);
  auto which = world_.random.faults.below(3);
  if (which != 1)
    link->stall(side::dialler, length);
  if (which != 0)
    link->stall(side::acceptor, length);
}

void cluster::crash_worker() {
  auto i = world_.random.faults.below(workers_.size());
  if (!workers_[i]->is_alive())
    return;
  ++auditor_.totals().worker_crashes;
  workers_[i]->crash();
  world_.time.after(world_.random.faults.moment(1'000, 3'000'000), [this, i] { replace_dead(i); });
}

void cluster::crash_producer() {
  auto i = static_cast<std::size_t>(world_.random.faults.below(producers_.size()));
  ++auditor_.totals().producer_crashes;
  producers_[i]->crash();
  // The new process awaits the tasks that the crashed one awaited.
  auto open = producers_[i]->open_tasks();
  start_producer(i);
  producers_[i]->look_again({open.begin(), open.end()});
}

void cluster::tend() {
  if (!tending_)
    return;
  world_.time.after(1s, [this] { tend(); });
  meddling_->relent();
  check_ticks();
  if (coordinator_)
    coordinator_->check_hellos();
  // When two processes had one name, the dying one may have been the last to take it over.
  for (std::size_t i = 0; i < workers_.size(); ++i)
    replace_dead(i);
  for (std::size_t i = 0; coordinator_ && i < coordinator_->shard_count(); ++i) {
    for (const auto& head : coordinator_->shard(i).blockers())
      operator_->ask(head, task_change::redrive);
  }
}

void cluster::follow_leaving(std::size_t i) {
  // A process that is paused leaves late.
  world_.time.after(world_.random.faults.moment(500'000, 3'000'000), [this, i, old = workers_[i]] {
    if (workers_[i] != old)
      return;
    if (old->is_alive())
      follow_leaving(i);
    else
      start_worker(i);
  });
}

void cluster::replace_dead(std::size_t i) {
  if (!workers_[i]->is_alive())
    start_worker(i);
}

void cluster::usurp_worker() {
  auto i = world_.random.faults.below(workers_.size());
  // The usurped process is usually one that seems dead, sometimes one that lives.
  if (world_.random.faults.hits(700))
    workers_[i]->pause(world_.random.faults.moment(1'000'000, 5'000'000));
  world_.say("another process takes the name " + workers_[i]->identity().name);
  start_worker(i);
}

void cluster::step_clock() {
  auto by = duration{world_.random.faults.between(-120'000, 120'000)};
  world_.wall_offset += by;
  world_.say("wall clock steps by " + std::to_string(by.count()));
}

void cluster::fill_disk() {
  world_.say("disk is full");
  world_.is_disk_full = world_.was_disk_full = true;
  world_.time.after(
    world_.random.faults.moment(100'000, 900'000), [this] { world_.is_disk_full = false; });
}

void cluster::stop_or_kill_coordinator() {
  if (!coordinator_ || !world_.random.faults.hits(world_.options.orderly_stops))
    return kill_coordinator(false);
  world_.say("coordinator is stopped");
  coordinator_->stop();
  auto limit = std::chrono::duration_cast<virtual_time>(tuning::shutdown_max);
  world_.time.after(limit, [this, stopped = coordinator_] {
    if (stopped != coordinator_)
      return;
    if (!stopped->has_stopped())
      auditor_.breach("stop", "the coordinator does not finish in time");
    kill_coordinator(false);
  });
}

void cluster::kill_coordinator(bool cut_power) {
  if (!coordinator_)
    return;
  auto& t = auditor_.totals();
  ++(cut_power ? t.power_cuts : t.kills);
  for (std::size_t i = 0; i < last_shard_now_.size(); ++i)
    last_shard_now_[i] = coordinator_->shard_now(static_cast<shard_id>(i));
  std::vector<core::shard_state*> settled;
  for (std::size_t i = 0; i < coordinator_->shard_count(); ++i)
    settled.push_back(coordinator_->shard(i).settled_state());
  coordinator_->kill();
  coordinator_ = nullptr;
  network_.cut_all(cut_power);
  world_.say(cut_power ? "power is cut" : "coordinator is killed");
  if (cut_power) {
    auditor_.power_was_cut(disk_.cut_power());
    settled.assign(settled.size(), nullptr);
  }
  auditor_.left_on_disk(disk_.events());
  world_.time.after(world_.random.faults.moment(1'000, 3'000'000), [this, settled] {
    restart_coordinator(settled);
  });
}

void cluster::restart_coordinator(const std::vector<core::shard_state*>& settled) {
  auto before = last_shard_now_;
  start_coordinator();
  bool went_back = false;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    auto shard = static_cast<shard_id>(i);
    went_back = went_back || shard_now(shard) < before[i];
    if (!settled[i])
      continue;
    auto found = storage::recover(disk_.store(), shard, settled[i]->epoch + 1, world_.steady());
    if (found)
      auditor_.recovered(**found, *settled[i], "the memory at the crash");
  }
  auditor_.coordinator_ended(went_back);
  auditor_.coordinator_restarted();
}

void cluster::stop_faults() {
  faults_ = false;
  world_.say("faults stop");
  for (auto& worker : all_workers_)
    worker->behave();
}

bool cluster::run_until(virtual_time longest, const std::function<bool()>& done) {
  auto until = world_.time.now() + longest;
  for (std::uint64_t steps = 0; auditor_.breaches().empty(); ++steps) {
    if (done())
      return true;
    if (world_.time.now() > until || steps > steps_max || !world_.time.step())
      return false;
  }
  return false;
}

void cluster::finish() {
  stop_faults();
  end_schedules();
  settle();
  bool is_good = auditor_.breaches().empty() && auditor_.unfinished().empty();
  if (world_.options.comes_back_later && is_good)
    come_back_later();
}

void cluster::check_ticks() {
  for (std::size_t i = 0; coordinator_ && i < coordinator_->shard_count(); ++i) {
    auto shard = static_cast<shard_id>(i);
    auditor_.ticks().check_due(shard, shard_now(shard));
  }
}

void cluster::end_schedules() {
  if (!schedules_)
    return;
  schedules_->wind_up();
  std::uint64_t looks = 0;
  run_until(settle_max, [&] {
    if (++looks % 256 == 0)
      check_ticks();
    return schedules_->is_over();
  });
  bool is_good = auditor_.breaches().empty();
  if (is_good && !schedules_->is_over())
    auditor_.breach("I11", "schedules were not deleted in time");
}

void cluster::come_back_later() {
  tending_ = false;
  run_until(later, [] { return false; });
  for (auto* producer : producers_)
    producer->submit_keyed();
  settle();
}

void cluster::settle() {
  tending_ = true;
  tend();
  std::uint64_t looks = 0;
  auto all_ended = [&] {
    // The check is expensive and need not be exact, so it runs every 256 steps.
    return ++looks % 256 == 0 && auditor_.unfinished().empty();
  };
  run_until(settle_max, all_ended);
  if (!auditor_.breaches().empty())
    return;
  look_at_everything();
  if (!auditor_.unfinished().empty())
    return;
  auto all_followed = [&] { return ++looks % 256 == 0 && auditor_.missing_follow_ups().empty(); };
  run_until(settle_max, all_followed);
  auditor_.check_follow_ups();
  look_at_everything();
  auto all_answered = [this] { return unanswered() == 0; };
  run_until(settle_max, all_answered);
  if (auditor_.missing_follow_ups().empty())
    return;
  // A task that was redriven late may have completed only now.
  run_until(settle_max, all_followed);
  run_until(settle_max, all_answered);
}

void cluster::look_at_everything() {
  producers_.front()->look_again(auditor_.known_tasks());
  run_until(settle_max, [this] { return producers_.front()->waits_for() == 0; });
}

std::size_t cluster::unanswered() const {
  std::size_t sum = 0;
  for (const auto& worker : all_workers_)
    sum += worker->is_alive() ? worker->unanswered() : 0;
  return sum;
}

std::string cluster::describe_failure(const std::string& what) const {
  return "CODEQ_SEED=" + std::to_string(seed_) + "\n" + to_string(world_.options) + "\nat "
         + std::to_string(world_.time.now().count()) + " us\n" + world_.log.tail() + what;
}

run_report cluster::run() {
  run_report report;
  try {
    start_coordinator();
    workers_.resize(world_.options.workers);
    for (std::size_t i = 0; i < workers_.size(); ++i)
      start_worker(i);
    producers_.resize(world_.options.producers);
    for (std::size_t i = 0; i < producers_.size(); ++i)
      start_producer(i);
    plan_requests();
    operator_ = std::make_unique<operator_process>(world_, network_, auditor_);
    meddling_ = std::make_unique<meddling>(world_, auditor_, *operator_);
    if (world_.options.has_schedules) {
      schedules_ = std::make_unique<schedule_meddling>(world_, auditor_, *operator_);
      schedules_->start();
    }
    plan_faults();
    run_until(world_.options.length, [] { return false; });
    if (auditor_.breaches().empty())
      finish();
    for (const auto& breach : auditor_.breaches())
      report.failure += breach + '\n';
    if (report.failure.empty() && !auditor_.unfinished().empty())
      report.failure = "I11: not ended in time:\n" + auditor_.unfinished();
    if (report.failure.empty() && producers_.front()->waits_for() > 0)
      report.failure = "the last look was not answered\n";
    if (report.failure.empty() && !auditor_.missing_follow_ups().empty())
      report.failure = "I1: follow-ups are missing:\n" + auditor_.missing_follow_ups();
    if (report.failure.empty() && unanswered() > 0)
      report.failure = "reports were never answered\n";
  } catch (const std::exception& e) {
    report.failure = std::string("exception: ") + e.what() + '\n';
  }
  report.breach = report.failure.substr(0, report.failure.find('\n'));
  if (!report.failure.empty())
    report.failure = describe_failure(report.failure);
  report.trace_hash = world_.log.hash();
  report.totals = auditor_.totals();
  report.totals.ticks = auditor_.ticks().fired();
  return report;
}

} // namespace codeq::sim
