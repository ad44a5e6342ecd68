// SPDX-License-Identifier: Apache-2.0

#include "base/tuning.hpp"
#include "sim/audit/ledger.hpp"

#include <algorithm>

/// Ends of leases: charges, the task's next state, and its time.
namespace codeq::sim {

namespace {

/// Turns are never open longer than this in the simulation.
constexpr duration open_turn_max{10};

using core::lease_end_kind;

/// True when an end of that kind is charged as an attempt.
bool is_charged(lease_end_kind kind, bool queued, std::uint32_t refunds, bool said) {
  switch (kind) {
  case lease_end_kind::completed:
  case lease_end_kind::failed_permanently:
  case lease_end_kind::cancelled:
    return true;
  case lease_end_kind::failed:
  case lease_end_kind::nacked:
    // Only the report says whether the handler was started.
    return said;
  case lease_end_kind::abandoned:
    return said && refunds >= tuning::refunds_in_row_max;
  case lease_end_kind::expired:
  case lease_end_kind::timed_out:
  case lease_end_kind::revoked:
    return !queued;
  case lease_end_kind::limited:
    return false;
  case lease_end_kind::forced:
    return said;
  }
  return true;
}

/// The shortest delay after this attempt that the policy allows, jitter included.
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

} // namespace

void ledger::read(const core::leases_ended& e) {
  for (const auto& one : e.ends)
    end(e, one);
}

void ledger::end(const core::leases_ended& record, const core::lease_end& e) {
  auto at = book_->tasks.find(e.seq);
  bool is_forced = e.kind == lease_end_kind::forced;
  bool may_end =
    at != book_->tasks.end()
    && (at->second.state == task_state::leased || (is_forced && at->second.is_waiting()));
  if (!may_end)
    return breach("I2", e.seq, "ended a lease that it did not have");
  auto& t = at->second;
  note(e.seq);
  if (t.token != e.token)
    breach("I3", e.seq, "ended under another token than its lease's");
  check_charge(t, e);
  if (is_forced)
    end_by_force(e, t);
  else
    check_next(t, record, e);
  bool was_lost = e.kind == lease_end_kind::expired;
  if (book_->leases.erase(t.token) > 0) {
    t.attempt -= e.charged ? 0 : 1;
    t.refunds = e.charged ? 0 : t.refunds + 1;
    if (e.charged)
      t.lost = was_lost ? t.lost + 1 : 0;
  }
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
  if (e.kind == core::lease_end_kind::expired && charged && is_quarantined(t, e))
    return must(task_state::dead);
  if (is_terminal(e.next))
    return breach("end", e.seq, "ended at attempt " + std::to_string(t.attempt));
  check_delay(t, record, e);
}

bool ledger::is_quarantined(const task& t, const core::lease_end& e) {
  bool says_so = e.text.view().starts_with("quarantined: ");
  // Settings that changed in the same turn came before or after this end.
  if (turn_.configured.contains(t.queue))
    return says_so;
  auto known = book_->settings.find(t.queue);
  auto most = known == book_->settings.end() ? 0 : known->second.config.quarantine_after;
  bool is_due = most > 0 && t.lost + 1 >= most;
  if (says_so != is_due)
    breach("quarantine", e.seq, says_so ? "is quarantined early" : "is not quarantined");
  return is_due;
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
  // The record has the time of its last end; this end may have been an earlier one of the turn.
  auto ended_at = record.at - open_turn_max;
  auto due = e.due == timestamp{} ? ended_at : e.due;
  if (due < ended_at + least_delay(t.settings.retry, t.attempt))
    breach("retry", e.seq, "is retried too early");
  if (due > sealed_at_ + most_delay(t.settings.retry, t.attempt))
    breach("retry", e.seq, "is retried too late");
}

} // namespace codeq::sim
