// SPDX-License-Identifier: Apache-2.0
#include "sim/ledger.hpp"

#include "codeq/limits.hpp"

#include <algorithm>

namespace codeq::sim {

namespace {

/// Longer than a turn is open here.
constexpr duration turn_span_max{10};

using core::lease_end_kind;

/// True when an end of that kind counts as an attempt of its own.
bool is_charged(lease_end_kind kind, bool queued, std::uint32_t refunds, bool said) {
  switch (kind) {
  case lease_end_kind::completed:
  case lease_end_kind::failed_permanently:
  case lease_end_kind::cancelled:
    return true;
  case lease_end_kind::failed:
  case lease_end_kind::nacked:
    // Only the report tells whether the handler was started.
    return said;
  case lease_end_kind::abandoned:
    return said && refunds >= limits::refunds_in_row_max;
  case lease_end_kind::expired:
  case lease_end_kind::timed_out:
  case lease_end_kind::revoked:
  case lease_end_kind::forced:
    return !queued;
  }
  return true;
}

/// The delay that a policy without chance gives after this attempt, and the least one with it.
duration least_delay(const retry_policy& policy, std::uint32_t attempt) {
  switch (policy.kind) {
  case retry_kind::fixed:
    return std::min(policy.base, policy.cap);
  case retry_kind::linear:
    return std::min(policy.base * attempt, policy.cap);
  case retry_kind::exponential:
    return std::min<duration>(policy.base * (1ll << std::min(attempt - 1, 30u)), policy.cap);
  case retry_kind::exponential_jitter:
    break;
  }
  return duration{0};
}

duration most_delay(retry_policy policy, std::uint32_t attempt) {
  if (policy.kind == retry_kind::exponential_jitter)
    policy.kind = retry_kind::exponential;
  return least_delay(policy, attempt);
}

bool is_live(task_state state) {
  return !is_terminal(state);
}

} // namespace

void ledger::breach(const std::string& rule, sequence seq, const std::string& what) {
  if (checking_)
    breach_(rule, "task " + to_string(task_id{shard_, seq}) + " " + what);
}

void ledger::follow(shard_id shard, const std::vector<core::event>& events, timestamp sealed_at) {
  shard_ = shard;
  book_ = &shards_[shard];
  sealed_at_ = sealed_at;
  std::set<std::pair<producer_id, std::uint64_t>> requests;
  for (const auto& e : events)
    std::visit([this](const auto& x) { read(x); }, e);
  for (const auto& e : events) {
    if (const auto* appended = std::get_if<core::segment_appended>(&e)) {
      for (const auto& mark : appended->requests)
        requests.emplace(mark.request.producer, mark.request.number);
    }
  }
  book_->requests.merge(requests);
  check_gone();
  if (checking_)
    check_places(events);
}

void ledger::rebuild(const std::vector<std::pair<shard_id, core::event>>& durable) {
  checking_ = false;
  shards_.clear();
  for (const auto& [shard, e] : durable)
    follow(shard, {e}, {});
  checking_ = true;
}

void ledger::beaten(shard_id shard, fencing_token token, bool queued) {
  auto& book = shards_[shard];
  if (auto at = book.leases.find(token); at != book.leases.end())
    book.tasks.at(at->second).queued = queued;
}

void ledger::replaced(shard_id shard, const worker_identity& by) {
  shards_[shard].gone.push_back([by](const worker_identity& holder) {
    return holder.name == by.name && holder.incarnation != by.incarnation;
  });
}

void ledger::left(shard_id shard, const worker_identity& worker) {
  shards_[shard].gone.push_back(
    [worker](const worker_identity& holder) { return holder == worker; });
}

void ledger::check_gone() {
  for (const auto& is_gone : std::exchange(book_->gone, {})) {
    for (const auto& [token, seq] : book_->leases) {
      const auto& t = book_->tasks.at(seq);
      if (is_gone(t.holder))
        breach("lease", seq, "is still leased to " + t.holder.name + ", which is gone");
    }
  }
}

std::optional<std::uint32_t> ledger::attempt_of(shard_id shard, fencing_token token) const {
  auto at = attempts_.find({shard, token});
  return at == attempts_.end() ? std::nullopt : std::optional{at->second};
}

void ledger::read(const core::segment_appended& e) {
  for (const auto& mark : e.requests) {
    if (book_->requests.contains({mark.request.producer, mark.request.number}))
      breach("I1", e.first, "is of a request that was executed before");
  }
  for (std::uint32_t i = 0; i < e.count; ++i) {
    task t;
    t.queue = e.queue;
    t.priority = e.priority;
    t.settings = e.settings;
    t.group = e.group;
    t.not_before = e.not_before;
    t.allow_promotion = e.allow_promotion;
    if (!book_->tasks.emplace(e.first + i, t).second)
      breach("I1", e.first + i, "was enqueued twice");
    if (!e.group.empty())
      book_->groups[{e.queue, e.group}].insert(e.first + i);
  }
}

void ledger::read(const core::batch_granted& e) {
  auto token = value(e.first_token);
  for (const auto& run : e.runs) {
    for (std::uint32_t i = 0; i < run.count; ++i, ++token)
      grant(e, run.first + i, static_cast<fencing_token>(token));
  }
}

void ledger::grant(const core::batch_granted& e, sequence seq, fencing_token token) {
  auto at = book_->tasks.find(seq);
  if (at == book_->tasks.end())
    return breach("I1", seq, "was leased, but never enqueued");
  auto& t = at->second;
  if (t.state == task_state::leased)
    breach("I2", seq, "was leased while it was leased");
  else if (is_terminal(t.state))
    breach("I4", seq, "was leased after it was " + std::string(to_string(t.state)));
  if (sealed_at_ < std::max(t.not_before, t.retry_at))
    breach("I5", seq, "was leased before its time");
  if (t.attempt >= t.settings.max_attempts)
    breach("I6", seq, "was leased though all its attempts are used up");
  if (!t.group.empty())
    check_order(t, seq);
  t.state = task_state::leased;
  t.token = token;
  t.retry_at = {};
  t.queued = false;
  t.holder = *e.worker;
  ++t.attempt;
  book_->leases.insert_or_assign(token, seq);
  attempts_.insert_or_assign({shard_, token}, t.attempt);
}

void ledger::check_order(const task& t, sequence seq) {
  for (auto member : book_->groups.at({t.queue, t.group})) {
    const auto& other = book_->tasks.at(member);
    bool blocks = other.state == task_state::dead && other.settings.when_dead == on_dead::block;
    if (member != seq && other.state == task_state::leased)
      breach("I7", seq, "was leased while another one of its group was");
    else if (member < seq && (is_live(other.state) || blocks))
      breach("I7", seq, "was leased before an earlier one of its group");
  }
}

bool ledger::may_run(sequence seq, const task& t) const {
  if (t.state == task_state::leased || is_terminal(t.state))
    return false;
  if (std::max(t.not_before, t.retry_at) > sealed_at_)
    return false;
  if (t.group.empty())
    return true;
  const auto& members = book_->groups.at({t.queue, t.group});
  return std::all_of(members.begin(), members.end(), [&](sequence member) {
    const auto& other = book_->tasks.at(member);
    bool blocks = other.state == task_state::dead && other.settings.when_dead == on_dead::block;
    return other.state != task_state::leased && (member >= seq || is_terminal(other.state))
           && (member >= seq || !blocks);
  });
}

void ledger::check_places(const std::vector<core::event>& events) {
  // Lower is better; the worst that each queue handed out.
  std::map<queue_address, std::pair<int, sequence>> worst;
  auto place_of = [](sequence seq, const task& t) { return std::pair{-t.priority, seq}; };
  for (const auto& e : events) {
    const auto* grant = std::get_if<core::batch_granted>(&e);
    if (grant == nullptr)
      continue;
    for (const auto& run : grant->runs) {
      auto last = run.first + run.count - 1;
      const auto& t = book_->tasks.at(last);
      auto& of_queue = worst.try_emplace(t.queue, place_of(last, t)).first->second;
      of_queue = std::max(of_queue, place_of(last, t));
    }
  }
  if (worst.empty())
    return;
  for (const auto& [seq, t] : book_->tasks) {
    auto of_queue = worst.find(t.queue);
    bool is_passed_over =
      of_queue != worst.end() && place_of(seq, t) < of_queue->second && may_run(seq, t);
    if (is_passed_over)
      breach("order", seq, "waits, and one behind it was leased");
  }
}

void ledger::read(const core::leases_ended& e) {
  for (const auto& one : e.ends)
    end(e, one);
}

void ledger::end(const core::leases_ended& record, const core::lease_end& e) {
  auto at = book_->tasks.find(e.seq);
  if (at == book_->tasks.end() || at->second.state != task_state::leased)
    return breach("I2", e.seq, "ended a lease that it did not have");
  auto& t = at->second;
  if (t.token != e.token)
    breach("I3", e.seq, "ended under another token than its lease's");
  check_charge(t, e);
  check_next(t, record, e);
  book_->leases.erase(t.token);
  t.attempt -= e.charged ? 0 : 1;
  t.refunds = e.charged ? 0 : t.refunds + 1;
  bool was_lost = e.kind == lease_end_kind::expired;
  if (!was_lost)
    t.lost = 0;
  else if (e.charged)
    ++t.lost;
  t.state = e.next;
  t.retry_at = e.due;
  t.cancelling = false;
  auto& totals = book_->totals[t.queue];
  totals.lost += was_lost ? 1 : 0;
  totals.completed += e.next == task_state::completed ? 1 : 0;
  totals.dead += e.next == task_state::dead ? 1 : 0;
  totals.cancelled += e.next == task_state::cancelled ? 1 : 0;
}

void ledger::check_charge(const task& t, const core::lease_end& e) {
  if (e.charged != is_charged(e.kind, t.queued, t.refunds, e.charged))
    breach("charge", e.seq, e.charged ? "was charged wrongly" : "was not charged");
}

void ledger::check_next(const task& t, const core::leases_ended& record, const core::lease_end& e) {
  auto must = [&](task_state state) {
    if (e.next != state)
      breach(
        "end",
        e.seq,
        "is " + std::string(to_string(e.next)) + " and not " + std::string(to_string(state)));
  };
  if (e.kind == lease_end_kind::completed)
    return must(task_state::completed);
  if (t.cancelling || e.kind == lease_end_kind::cancelled)
    return must(task_state::cancelled);
  if (e.kind == lease_end_kind::failed_permanently)
    return must(task_state::dead);
  bool charged = is_charged(e.kind, t.queued, t.refunds, e.charged);
  if (charged && t.attempt >= t.settings.max_attempts)
    return must(task_state::dead);
  if (is_terminal(e.next))
    return breach("end", e.seq, "ended at attempt " + std::to_string(t.attempt));
  check_delay(t, record, e);
}

void ledger::check_delay(
  const task& t, const core::leases_ended& record, const core::lease_end& e) {
  bool is_lost_again = e.kind == lease_end_kind::expired && t.lost > 0 && !t.queued;
  bool ran_too_long = e.kind == lease_end_kind::timed_out && !t.queued;
  bool by_policy = ran_too_long || is_lost_again;
  if (e.kind == lease_end_kind::expired && !is_lost_again && e.due != timestamp{})
    breach("retry", e.seq, "waits after its first loss in a row");
  if (!by_policy)
    return;
  // The record has the time of its last end; this may have been an earlier one of the turn.
  auto ended_at = record.at - turn_span_max;
  auto due = e.due == timestamp{} ? ended_at : e.due;
  if (due < ended_at + least_delay(t.settings.retry, t.attempt))
    breach("retry", e.seq, "is retried too early");
  if (due > sealed_at_ + most_delay(t.settings.retry, t.attempt))
    breach("retry", e.seq, "is retried too late");
}

void ledger::read(const core::tasks_changed& e) {
  for (const auto& c : e.changes)
    change(c);
}

void ledger::change(const core::task_change& c) {
  auto at = book_->tasks.find(c.seq);
  if (at == book_->tasks.end())
    return breach("I1", c.seq, "was changed, but never enqueued");
  auto& t = at->second;
  bool is_leased = t.state == task_state::leased;
  switch (c.kind) {
  case core::change_kind::cancelled:
    if (is_leased || is_terminal(t.state))
      breach("cancel", c.seq, "was cancelled while " + std::string(to_string(t.state)));
    t.state = task_state::cancelled;
    ++book_->totals[t.queue].cancelled;
    break;
  case core::change_kind::cancel_requested:
    if (!is_leased)
      breach("cancel", c.seq, "is to be cancelled with its lease, and has none");
    t.cancelling = true;
    break;
  case core::change_kind::rescheduled:
    if (is_leased || is_terminal(t.state))
      breach("promote", c.seq, "was rescheduled while " + std::string(to_string(t.state)));
    // By now it may be due anyway.
    if (c.not_before < t.not_before && !t.allow_promotion && t.not_before > sealed_at_)
      breach("promote", c.seq, "was brought forward against its producer's word");
    t.not_before = c.not_before;
    t.retry_at = c.retry_at;
    break;
  case core::change_kind::redriven:
    if (t.state != task_state::dead)
      breach("redrive", c.seq, "was redriven while " + std::string(to_string(t.state)));
    t.state = task_state::ready;
    t.attempt = 0;
    t.lost = 0;
    t.refunds = 0;
    break;
  case core::change_kind::purged:
  case core::change_kind::body_replaced:
    breach("change", c.seq, "was changed in a way that nobody asked for");
    break;
  }
}

void ledger::read(const core::checkpoint_taken& e) {
  for (const auto& fate : e.closed) {
    for (std::size_t i = 0; i < fate.entries.size(); ++i) {
      auto at = book_->tasks.find(fate.first + i);
      bool is_kept = at == book_->tasks.end() || is_live(at->second.state)
                     || at->second.state == task_state::dead;
      if (is_kept)
        breach("I1", fate.first + i, "was closed before it ended, or when it was dead");
    }
  }
  for (const auto& totals : e.queues) {
    auto& own = book_->totals[totals.queue];
    own.queue = totals.queue;
    if (own != totals)
      breach(
        "I9", 0, "or none: the totals of queue " + totals.queue.queue + " differ from a recount");
  }
}

} // namespace codeq::sim
