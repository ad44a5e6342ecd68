// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/ledger.hpp"

#include <algorithm>

/// Operator requests and their effects: every requested change is made, and no other.
namespace codeq::sim {

namespace {

bool is_in(const task_filter& filter, const queue_address& queue) {
  return filter.tenant == queue.tenant && (filter.queue.empty() || filter.queue == queue.queue);
}

/// True when the command may remove the task for good.
bool may_purge(const core::command& c, sequence seq, const queue_address& queue, bool is_dead) {
  if (const auto* one = std::get_if<core::purge>(&c))
    return one->seq == seq && is_dead;
  const auto* many = std::get_if<core::change_many>(&c);
  if (many == nullptr || many->what == core::bulk_kind::redrive)
    return false;
  if (core::is_of_list(many->what)) {
    const auto& tasks = many->tasks;
    bool is_listed = std::any_of(
      tasks.begin(), tasks.end(), [&](const core::dead_task& task) { return task.seq == seq; });
    return many->what == core::bulk_kind::purge_listed && is_listed && is_dead
           && is_in(many->part.filter, queue);
  }
  return is_in(many->part.filter, queue) && (is_dead || many->what == core::bulk_kind::purge_all);
}

task_state state_after(force_kind how) {
  switch (how) {
  case force_kind::revoke:
    return task_state::ready;
  case force_kind::complete:
    return task_state::completed;
  case force_kind::fail:
    return task_state::dead;
  }
  return task_state::ready;
}

} // namespace

void ledger::end_by_force(const core::lease_end& e, task& t) {
  auto fits = [&](const core::command& c) {
    bool is_cancelled = t.cancelling && e.next == task_state::cancelled;
    if (may_purge(c, e.seq, t.queue, false))
      return e.next == task_state::ready || is_cancelled;
    const auto* asked = std::get_if<core::force>(&c);
    if (asked == nullptr || asked->seq != e.seq)
      return false;
    bool is_wanted = e.next == state_after(asked->how) && e.text.view() == asked->text.view();
    return is_wanted || (is_cancelled && asked->how != force_kind::complete);
  };
  bool is_asked = std::any_of(turn_.asked.begin(), turn_.asked.end(), fits);
  if (!is_asked)
    breach("force", e.seq, "was ended in a way that nobody asked for");
  bool is_revoked = e.next == task_state::ready;
  bool is_charged = t.state == task_state::leased && !is_revoked && !t.queued;
  if (e.charged != is_charged && e.next != task_state::cancelled)
    breach("charge", e.seq, "was charged wrongly by an operator");
}

void ledger::check_purged(const core::task_change& c, const task& t) {
  if (t.state == task_state::leased)
    breach("purge", c.seq, "was purged, and is leased still");
  bool is_dead = t.state == task_state::dead;
  auto fits = [&](const core::command& asked) { return may_purge(asked, c.seq, t.queue, is_dead); };
  if (!std::any_of(turn_.asked.begin(), turn_.asked.end(), fits))
    breach("purge", c.seq, "of " + t.queue.tenant + "/" + t.queue.queue + " was purged unasked");
}

void ledger::forget_below(const core::queue_purge& purge) {
  auto& below = book_->totals[purge.queue].purged_below;
  below = std::max(below, purge.below);
  // Live tasks are purged by records of their own.
  for (auto& [seq, t] : book_->tasks) {
    bool is_over = t.state == task_state::completed || t.state == task_state::cancelled;
    if (t.queue == purge.queue && seq < purge.below && is_over && !t.gone) {
      note(seq);
      t.gone = true;
    }
  }
}

void ledger::check_purges() {
  for (const auto& purge : turn_.purges) {
    auto fits = [&](const core::command& c) {
      const auto* many = std::get_if<core::change_many>(&c);
      return many != nullptr && many->what == core::bulk_kind::purge_all
             && is_in(many->part.filter, purge.queue);
    };
    if (!std::any_of(turn_.asked.begin(), turn_.asked.end(), fits))
      breach("purge", 0, "or none: queue " + purge.queue.queue + " was purged unasked");
    for (const auto& [seq, t] : book_->tasks) {
      if (t.queue == purge.queue && seq < purge.below && !t.gone)
        breach("purge", seq, "was left by a purge of its queue");
    }
  }
}

sequence ledger::certain_target(sequence seq, const std::shared_ptr<const task_key>& key) const {
  if (key) {
    auto holders = book_->keys.find(*key);
    if (holders == book_->keys.end() || holders->second.size() != 1)
      return 0;
    seq = *holders->second.begin();
  }
  bool is_known = book_->tasks.contains(seq) && !turn_.before.contains(seq) && !is_new(seq);
  return is_known ? seq : 0;
}

std::size_t ledger::promotes_of(sequence seq) const {
  const auto& t = book_->tasks.at(seq);
  auto is_it = [&](const core::command& c) {
    const auto* asked = std::get_if<core::promote>(&c);
    return asked != nullptr && (asked->key ? *asked->key == t.key : asked->seq == seq);
  };
  return static_cast<std::size_t>(std::count_if(turn_.asked.begin(), turn_.asked.end(), is_it));
}

void ledger::judge_orders() {
  for (const auto& c : turn_.asked)
    std::visit([this](const auto& asked) { judge_order(asked); }, c);
  // A promotion clears the task's retry delay.
  for (const auto& [seq, changes] : turn_.rescheduled) {
    bool is_lifted = std::any_of(changes.begin(), changes.end(), [](const core::task_change& c) {
      return c.retry_at == timestamp{};
    });
    if (turn_.promised_times[seq].empty() && !is_lifted)
      breach("promote", seq, "waits for another attempt, though it was promoted");
  }
}

// A task that this turn changed is in `turn_.before`; commands on other tasks had no effect.

void ledger::judge_order(const core::promote& c) {
  auto seq = certain_target(c.seq, c.key);
  if (seq == 0)
    return;
  const auto& t = book_->tasks.at(seq);
  bool is_open = t.allow_promotion && t.not_before > sealed_at_;
  if (t.is_waiting() && (t.retry_at > sealed_at_ || is_open))
    breach("promote", seq, "was not promoted");
}

void ledger::judge_order(const core::cancel& c) {
  auto seq = certain_target(c.seq, c.key);
  if (seq != 0 && !is_terminal(book_->tasks.at(seq).state) && !book_->tasks.at(seq).cancelling)
    breach("cancel", seq, "was not cancelled");
}

void ledger::judge_order(const core::redrive& c) {
  auto seq = certain_target(c.seq, nullptr);
  if (seq == 0 || book_->tasks.at(seq).state != task_state::dead)
    return;
  const auto& key = book_->tasks.at(seq).key;
  bool is_taken = false;
  if (!key.key.empty()) {
    for (auto holder : book_->keys.at(key)) {
      auto moments = moments_of(holder);
      is_taken = is_taken || std::any_of(moments.begin(), moments.end(), [](const task& t) {
                   return !is_terminal(t.state);
                 });
    }
  }
  if (!is_taken)
    breach("redrive", seq, "was not redriven");
}

void ledger::judge_order(const core::force& c) {
  auto seq = certain_target(c.seq, nullptr);
  if (seq == 0)
    return;
  const auto& t = book_->tasks.at(seq);
  bool can = c.how == force_kind::revoke ? t.state == task_state::leased : !is_terminal(t.state);
  if (can)
    breach("force", seq, "was not ended by force");
}

} // namespace codeq::sim
