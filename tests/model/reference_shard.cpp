// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"

#include "core/turn/retry.hpp"
#include "model/words.hpp"

#include <algorithm>

namespace codeq::model {

namespace {

constexpr std::uint32_t abandons_uncharged = 20;

sequence first_of(std::uint32_t epoch) {
  return (std::uint64_t{epoch} << 39) + 1;
}

/// The contract's delays. For jitter only the bounds are known, so the core's value is checked and
/// then used.
duration delay_after(const reference_task& task) {
  const auto& policy = task.settings.retry;
  auto core_says = core::retry_delay(policy, task.attempt, {shard_id{}, task.seq});
  auto steps = std::min(task.attempt - 1, 40u);
  auto doubled = std::min<duration::rep>(policy.base.count() << steps, policy.cap.count());
  switch (policy.kind) {
  case retry_kind::fixed:
    return std::min(policy.base, policy.cap);
  case retry_kind::linear:
    return std::min(policy.base * task.attempt, policy.cap);
  case retry_kind::exponential:
    return duration{doubled};
  case retry_kind::exponential_jitter:
    return core_says.count() >= 0 && core_says.count() <= doubled ? core_says : duration::min();
  }
  return duration::min();
}

std::string say_run_of(const reference_task& task) {
  return say_attempt(task.attempt, task.holder.name);
}

} // namespace

reference_shard::reference_shard(std::uint32_t epoch)
  : next_seq_(first_of(epoch)), token_floor_(first_of(epoch) - 1) {
}

void reference_shard::require(bool condition, const std::string& what) {
  if (!condition)
    broken.push_back(what);
}

void reference_shard::decide(const core::command& c, const instant& now) {
  now_ = now;
  std::visit([this](const auto& x) { run(x); }, c);
}

void reference_shard::run(const core::enqueue& c) {
  auto number = c.request.number;
  if (auto trouble = session_trouble(c.request); trouble != errc::none) {
    expected.push_back(say_refused(c.peer, number, trouble));
    return;
  }
  auto& producer = producers[c.request.producer];
  if (auto known = producer.answers.find(number); known != producer.answers.end()) {
    const auto& answer = known->second;
    expected.push_back(say_enqueued(c.peer, number, answer.tasks, answer.kinds));
    return;
  }
  if (number < producer.answered_below) {
    expected.push_back(say_refused(c.peer, number, errc::session_expired));
    return;
  }
  if (!has_room(c)) {
    expected.push_back(say_refused(c.peer, number, errc::queue_full));
    return;
  }
  auto added = add_tasks(c.runs);
  producer.answered_below = std::max(producer.answered_below, c.request.answered_below);
  std::erase_if(producer.answers, [&](const auto& a) { return a.first < producer.answered_below; });
  producer.answers[number] = added;
  producer.last_used = now_.shard;
  producer.is_ended = false;
  expected.push_back(say_enqueued(c.peer, number, added.tasks, added.kinds));
}

reference_answer reference_shard::add_tasks(const std::vector<core::enqueue_run>& runs) {
  reference_answer answer;
  for (const auto& r : runs) {
    for (std::size_t i = 0; i < r.tasks.count(); ++i) {
      auto* owner = r.key.empty() ? nullptr : owner_of({r.queue, r.group, r.key}, now_.shard);
      auto kind = owner ? meet(r, *owner) : enqueue_kind::created;
      bool is_new = kind == enqueue_kind::created;
      answer.tasks.push_back(is_new ? add_task(r, i) : owner->seq);
      answer.kinds.push_back(kind);
    }
  }
  return answer;
}

sequence reference_shard::take_number() {
  auto number = next_seq_;
  if (!numbers_.empty()) {
    number = numbers_.front();
    numbers_.pop_front();
  }
  next_seq_ = std::max(next_seq_, number + 1);
  return number;
}

sequence reference_shard::add_task(const core::enqueue_run& r, std::size_t i) {
  reference_task task;
  task.seq = take_number();
  task.queue = r.queue;
  task.priority = r.priority;
  task.settings = settings_of(r);
  task.body = r.tasks.part(i, 1).body.view();
  task.allow_promotion = r.allow_promotion;
  if (r.not_before > now_.shard) {
    task.state = task_state::scheduled;
    task.not_before = r.not_before;
  }
  task.group = r.group;
  task.key = r.key;
  task.live_since = next_live_++;
  task.fairness_key = fairness_key_of(r, task.body);
  auto& newest = newest_[{task.queue, task.priority, task.fairness_key}];
  require(
    task.seq > newest, "tasks of a queue, priority and fairness key are numbered in their order");
  newest = task.seq;
  auto& kept = tasks.emplace(task.seq, std::move(task)).first->second;
  settle_group(kept);
  return kept.seq;
}

void reference_shard::run(const core::attach_worker& c) {
  reference_worker worker;
  worker.identity = *c.worker;
  worker.queues.insert(c.queues.begin(), c.queues.end());
  worker.prefixes = c.prefixes;
  worker.without = {c.without.begin(), c.without.end()};
  for (auto seq : held_by(*c.worker))
    worker.held_before.insert(tasks.at(seq).token);
  workers[c.peer] = std::move(worker);
}

void reference_shard::run(const core::detach_peer& c) {
  workers.erase(c.peer);
  for (auto& [seq, peers] : awaited)
    std::erase(peers, c.peer);
  for (auto& [seq, peers] : watched)
    peers.erase(c.peer);
}

void reference_shard::run(const core::claim& c) {
  auto at = workers.find(c.peer);
  if (at == workers.end())
    return;
  at->second.credits += c.credits;
  at->second.wish = c.lease;
  at->second.told = false;
  at->second.claimed = true;
}

void reference_shard::run(const core::revoke_credits& c) {
  auto at = workers.find(c.peer);
  if (at == workers.end())
    return;
  auto taken = std::min(c.credits, at->second.credits);
  at->second.credits -= taken;
  expected.push_back(say_revoked(c.peer, taken));
}

reference_task* reference_shard::leased_task(sequence seq, fencing_token token) {
  auto at = tasks.find(seq);
  bool is_leased =
    at != tasks.end() && at->second.state == task_state::leased && at->second.token == token;
  return is_leased ? &at->second : nullptr;
}

std::vector<core::task_lease> reference_shard::live_leases() const {
  std::vector<core::task_lease> leases;
  for (const auto& [seq, task] : tasks)
    if (task.state == task_state::leased)
      leases.push_back({seq, task.token});
  return leases;
}

void reference_shard::run(const core::heartbeat& c) {
  for (const auto& beat : c.beats) {
    auto* task = leased_task(beat.seq, beat.token);
    if (!task) {
      expected.push_back(say_lost(c.peer, {beat.seq, beat.token}));
      continue;
    }
    bool began = task->queued && !beat.queued;
    task->queued = beat.queued;
    if ((began || beat.progressed) && task->settings.progress_timeout != duration{0})
      task->progress_deadline = now_.steady + task->settings.progress_timeout;
    auto extended = std::max(task->deadline, now_.steady + std::max(task->lease, beat.extend));
    task->deadline = std::min({extended, task->run_deadline, task->progress_deadline});
  }
  save_all(c);
  tell_progress(c.progress);
}

void reference_shard::run(const core::report& c) {
  for (const auto& r : c.reports)
    report_one(c.peer, r);
}

void reference_shard::report_one(core::peer_id peer, const core::lease_report& r) {
  core::task_lease lease{r.seq, r.token};
  if (auto* task = leased_task(r.seq, r.token)) {
    expected.push_back(say_answered(peer, lease, r.allowed.error().code));
    if (!r.allowed)
      return;
    if (r.checkpoint.mark.number != 0)
      save(*task, r.checkpoint);
    end_as_reported(*task, r);
    if (r.how == disposition::completed)
      add_follow_ups(r);
    return;
  }
  auto at = tasks.find(r.seq);
  if (at == tasks.end()) {
    expected.push_back(say_answered(peer, lease, errc::unknown_task));
    return;
  }
  const auto& task = at->second;
  bool repeated =
    task.token == r.token && task.state != task_state::leased && task.reported == r.how;
  expected.push_back(say_answered(peer, lease, repeated ? errc::already : errc::stale_lease));
}

void reference_shard::end_as_reported(reference_task& task, const core::lease_report& r) {
  task.reported = r.how;
  task.text = r.text.view();
  using kind = task_event::kind;
  switch (r.how) {
  case disposition::completed:
    return end(task, kind::completed, task_state::completed, true);
  case disposition::cancelled:
    return end(task, kind::cancelled, task_state::cancelled, true);
  case disposition::failed_permanently:
    return end(task, kind::failed_permanently, task_state::dead, true);
  case disposition::failed:
    return r.started ? fail(task, kind::failed, r.delay)
                     : end(task, kind::failed, task_state::ready, false);
  case disposition::nack:
    return r.started ? fail(task, kind::nacked, r.delay)
                     : end(task, kind::nacked, task_state::ready, false);
  case disposition::abandon:
    if (task.refunds < abandons_uncharged)
      return end(task, kind::abandoned, task_state::ready, false);
    return fail(task, kind::abandoned, duration{0});
  case disposition::limited:
    return end_limited(task, r);
  }
}

void reference_shard::end_limited(reference_task& task, const core::lease_report& r) {
  // The tasks of the model have no limits, so that this one only waits.
  auto wait = r.delay.value_or(duration{0});
  if (wait > duration{0})
    task.retry_at = now_.shard + wait;
  auto refunds = task.refunds;
  end(
    task,
    task_event::kind::limited,
    wait > duration{0} ? task_state::scheduled : task_state::ready,
    false);
  task.refunds = refunds;
}

void reference_shard::fail(
  reference_task& task, task_event::kind what, std::optional<duration> delay) {
  if (task.attempt >= task.settings.max_attempts)
    return end(task, what, task_state::dead, true);
  auto wait = delay ? *delay : delay_after(task);
  require(wait >= duration{0}, "the jittered delay of " + short_number(task.seq) + " is too long");
  if (wait > duration{0})
    task.retry_at = now_.shard + wait;
  end(task, what, wait > duration{0} ? task_state::scheduled : task_state::ready, true);
}

void reference_shard::lose(reference_task& task) {
  task.reported = std::nullopt;
  if (task.cancelling && now_.steady >= task.run_deadline) {
    task.text = "cancelled";
    return end(task, task_event::kind::revoked, task_state::cancelled, !task.queued);
  }
  bool ran_too_long = now_.steady >= task.run_deadline;
  if (ran_too_long || now_.steady >= task.progress_deadline) {
    task.text = ran_too_long ? "run_timeout" : "progress_timeout";
    return task.queued ? end(task, task_event::kind::timed_out, task_state::ready, false)
                       : fail(task, task_event::kind::timed_out, std::nullopt);
  }
  if (task.queued) {
    ++totals[task.queue].lost;
    task.text.clear();
    return end(task, task_event::kind::lost, task_state::ready, false);
  }
  ++totals[task.queue].lost;
  task.text = "lease_expired";
  bool first = task.lost++ == 0;
  auto most = queues[task.queue].config.quarantine_after;
  if (most != 0 && task.lost >= most && !task.cancelling) {
    task.text = "quarantined";
    return end(task, task_event::kind::lost, task_state::dead, true);
  }
  fail(task, task_event::kind::lost, first ? std::optional{duration{0}} : std::nullopt);
}

void reference_shard::end(
  reference_task& task, task_event::kind what, task_state next, bool charged) {
  if (task.timed)
    expected.push_back(say_timer_dropped(task.token));
  // After a cancel, every end other than a completion is a cancellation.
  if (task.cancelling && next != task_state::completed)
    next = task_state::cancelled;
  task.cancelling = false;
  task.state = next;
  task.timed = false;
  task.queued = false;
  auto ran = say_run_of(task);
  task.attempt -= charged ? 0 : 1;
  task.refunds = charged ? 0 : task.refunds + 1;
  if (charged && what != task_event::kind::lost)
    task.lost = 0;
  task.ended_at = now_.shard;
  ended_.push_back(task.seq);
  using kind = task_event::kind;
  bool by_failure = what == kind::failed || what == kind::failed_permanently
                    || what == kind::nacked || what == kind::lost || what == kind::timed_out;
  count_for_breaker(
    task.queue, what, by_failure && charged && next != task_state::cancelled);
  auto& count = totals[task.queue];
  count.completed += next == task_state::completed ? 1 : 0;
  count.dead += next == task_state::dead ? 1 : 0;
  count.cancelled += next == task_state::cancelled ? 1 : 0;
  settle_group(task);
  bool is_plain = what == task_event::kind::completed;
  if (is_plain)
    task.completion = say_event(what, task.state) + ran;
  else
    task.history.push_back(say_event(what, task.state) + ran);
  if (!is_terminal(next))
    return;
  task.checkpoint.reset();
  tell_ended(task);
}

void reference_shard::tell_ended(const reference_task& task) {
  for (auto peer : awaited[task.seq])
    describe({core::inquiry::kind::ending, peer, 0, {}, {}}, task.seq);
  awaited.erase(task.seq);
  watched.erase(task.seq);
}

void reference_shard::run(const core::expire_lease& c) {
  auto* task = leased_task(c.seq, c.token);
  if (!task)
    return;
  if (task->deadline > now_.steady) {
    expected.push_back(say_timer({c.seq, c.token}, task->deadline));
    return;
  }
  for (const auto& [peer, worker] : workers)
    if (worker.identity == task->holder)
      expected.push_back(say_lost(peer, {c.seq, c.token}));
  lose(*task);
}

std::vector<sequence> reference_shard::held_by(const worker_identity& worker) const {
  std::map<fencing_token, sequence> by_token;
  for (const auto& [seq, task] : tasks)
    if (task.state == task_state::leased && task.holder == worker)
      by_token.emplace(task.token, seq);
  std::vector<sequence> held;
  for (const auto& [token, seq] : by_token)
    held.push_back(seq);
  return held;
}

void reference_shard::run(const core::resume& c) {
  std::set<sequence> known;
  for (const auto& lease : c.leases) {
    auto* task = leased_task(lease.seq, lease.token);
    if (task && task->holder == *c.worker)
      known.insert(lease.seq);
    else
      expected.push_back(say_lost(c.peer, lease));
  }
  auto by = workers.find(c.peer);
  for (auto seq : held_by(*c.worker)) {
    auto& task = tasks.at(seq);
    bool is_on_its_way = by != workers.end() && !by->second.held_before.contains(task.token);
    if (!known.contains(seq) && !is_on_its_way)
      expected.push_back(
        say_redelivered(c.peer, {seq, task.token}, task.attempt) + say_checkpoint(task));
    if (task.cancelling)
      tell_to_stop(c.peer, task);
  }
  if (by != workers.end())
    by->second.held_before.clear();
  expected.push_back(say_resumed(c.peer));
}

void reference_shard::run(const core::release_worker& c) {
  for (auto seq : held_by(*c.worker)) {
    auto& task = tasks.at(seq);
    task.reported = disposition::abandon;
    task.text.clear();
    end(task, task_event::kind::abandoned, task_state::ready, false);
  }
}

void reference_shard::run(const core::replace_worker& c) {
  std::map<fencing_token, sequence> older;
  for (const auto& [seq, task] : tasks) {
    bool is_older =
      task.holder.name == c.worker->name && task.holder.incarnation != c.worker->incarnation;
    if (task.state == task_state::leased && is_older)
      older.emplace(task.token, seq);
  }
  for (const auto& [token, seq] : older)
    lose(tasks.at(seq));
}

void reference_shard::run(const core::stop_awaiting& c) {
  for (auto seq : c.tasks) {
    std::erase(awaited[seq], c.peer);
    watched[seq].erase(c.peer);
  }
}

void reference_shard::run(const core::await_tasks& c) {
  for (auto seq : c.tasks) {
    auto at = tasks.find(seq);
    if (at == tasks.end() || is_terminal(at->second.state)) {
      describe({core::inquiry::kind::ending, c.peer, 0, {}, {}}, seq);
      continue;
    }
    auto& peers = awaited[seq];
    if (std::find(peers.begin(), peers.end(), c.peer) == peers.end())
      peers.push_back(c.peer);
    if (c.with_progress)
      watched[seq].insert(c.peer);
  }
}

void reference_shard::run(const core::describe_task& c) {
  auto* named = c.key ? owner_of(*c.key, now_.shard) : nullptr;
  auto seq = !c.key ? c.seq : named ? named->seq : 0;
  describe({core::inquiry::kind::status, c.peer, c.number, {}, {}}, seq);
}

void reference_shard::run(const core::tell_history& c) {
  describe({core::inquiry::kind::history, c.peer, c.number, {}, {}}, c.seq);
}

void reference_shard::describe(const core::inquiry& why, sequence seq) {
  auto at = tasks.find(seq);
  if (at == tasks.end()) {
    expected.push_back(say_unknown(why, seq));
    return;
  }
  const auto& task = at->second;
  expected.push_back(say_described(why, {seq, task.state, task.token, task.attempt}));
}

void reference_shard::restart(std::uint32_t epoch, const instant& now, std::uint64_t token_floor) {
  next_seq_ = first_of(epoch);
  now_ = now;
  token_floor_ = std::max(token_floor, first_of(epoch) - 1);
  workers.clear();
  awaited.clear();
  watched.clear();
  attempts.clear();
  lists.clear();
  snapshotted_ = false;
  for (auto& [id, producer] : producers)
    producer.is_ended = false;
  for (auto& d : outgoing)
    d.said = d.confirmed_now = false;
  release_due(now.shard);
  for (auto& [seq, task] : tasks) {
    if (task.state != task_state::leased)
      continue;
    task.queued = false;
    task.timed = false;
    task.told_to_stop = false;
    start_clocks(task);
  }
}

} // namespace codeq::model
