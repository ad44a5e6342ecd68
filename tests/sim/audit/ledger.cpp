// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/ledger.hpp"

#include <algorithm>
#include <set>
#include <type_traits>

namespace codeq::sim {

namespace {

/// Checkpoints are checked by the auditor, when workers get them; limits by an audit of their own.
/// The audit log changes no task.
template <class Event>
constexpr bool is_read = !std::is_same_v<Event, core::checkpoints_changed>
                         && !std::is_same_v<Event, core::commands_audited>
                         && !std::is_same_v<Event, core::schedule_changed>
                         && !std::is_same_v<Event, core::limit_defined>
                         && !std::is_same_v<Event, core::limit_keys_changed>
                         && !std::is_same_v<Event, core::permits_changed>;

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
  turn_ = {};
  turn_.asked = std::exchange(asked_[shard], {});
  turn_.asked.insert(turn_.asked.end(), book_->waiting.begin(), book_->waiting.end());
  for (const auto& e : events)
    if (const auto* changed = std::get_if<core::queue_configured>(&e))
      turn_.configured.insert(changed->queue);
  for (const auto& c : turn_.asked)
    if (const auto* asked = std::get_if<core::enqueue>(&c))
      read_items(*asked);
  // A turn grants leases last, after all other decisions.
  auto grants = std::find_if(events.begin(), events.end(), [](const core::event& e) {
    return std::holds_alternative<core::batch_granted>(e);
  });
  for (auto e = events.begin(); e != grants; ++e)
    std::visit(
      [this]<class Event>(const Event& x) {
        if constexpr (is_read<Event>)
          read(x);
      },
      *e);
  if (checking_) {
    judge_requests();
    judge_orders();
    check_purges();
    check_depths();
  }
  for (auto e = grants; e != events.end(); ++e)
    std::visit(
      [this]<class Event>(const Event& x) {
        if constexpr (is_read<Event>)
          read(x);
      },
      *e);
  remember_requests(events);
  check_gone();
  if (checking_)
    check_places(events);
}

void ledger::remember_requests(const std::vector<core::event>& events) {
  for (const auto& e : events) {
    if (const auto* appended = std::get_if<core::segment_appended>(&e)) {
      for (const auto& mark : appended->requests)
        book_->requests.emplace(mark.request.producer, mark.request.number);
    }
  }
  for (const auto& answered : turn_.answers)
    book_->answered.emplace(answered.request.producer, answered.request.number);
}

void ledger::note_waiting(const std::function<bool(const core::request_id&)>& waits) {
  std::vector<core::enqueue> waiting;
  std::set<request_key> known;
  // Requests that waited before this turn come last. They win over copies that were sent again.
  for (auto c = turn_.asked.rbegin(); c != turn_.asked.rend(); ++c)
    if (const auto* asked = std::get_if<core::enqueue>(&*c); asked && waits(asked->request))
      if (known.emplace(asked->request.producer, asked->request.number).second)
        waiting.push_back(*asked);
  book_->waiting = std::move(waiting);
}

void ledger::rebuild(const std::vector<std::pair<shard_id, core::event>>& durable) {
  checking_ = false;
  shards_.clear();
  verdicts_.clear();
  asked_.clear();
  for (const auto& [shard, e] : durable)
    follow(shard, {e}, {});
  checking_ = true;
  check_unanswered();
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
  auto payloads = payloads_of(e);
  for (std::uint32_t i = 0; i < e.count; ++i) {
    task t;
    t.queue = e.queue;
    t.priority = e.priority;
    t.settings = e.settings;
    t.group = e.group;
    t.fairness_key = e.fairness.key;
    t.is_limited = !e.limits.empty();
    t.not_before = e.not_before;
    t.allow_promotion = e.allow_promotion;
    take_payload(e, e.first + i, payloads[i], t);
    if (!book_->tasks.emplace(e.first + i, t).second)
      breach("I1", e.first + i, "was enqueued twice");
    if (!e.group.empty())
      book_->groups[{e.queue, e.group}].insert(e.first + i);
  }
  take_key(e);
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
  check_queue(e, t, seq);
  t.state = task_state::leased;
  t.token = token;
  t.retry_at = {};
  t.queued = false;
  t.holder = *e.worker;
  ++t.attempt;
  book_->leases.insert_or_assign(token, seq);
  attempts_.insert_or_assign({shard_, token}, t.attempt);
  leased_payloads_.insert_or_assign({shard_, token}, t.payload);
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
  if (!t.is_waiting() || t.is_limited || std::max(t.not_before, t.retry_at) > sealed_at_)
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
  // The worst places among the tasks that the turn granted, of each queue and of each of its
  // fairness keys; lower is better. The order of enqueues holds within a key.
  std::map<queue_address, int> worst_priority;
  std::map<std::pair<queue_address, std::string>, std::pair<int, sequence>> worst;
  auto place_of = [](sequence seq, const task& t) { return std::pair{-t.priority, seq}; };
  for (const auto& e : events) {
    const auto* grant = std::get_if<core::batch_granted>(&e);
    if (grant == nullptr)
      continue;
    for (const auto& run : grant->runs)
      for (auto seq = run.first; seq < run.first + run.count; ++seq) {
        const auto& t = book_->tasks.at(seq);
        auto& of_queue = worst_priority.try_emplace(t.queue, -t.priority).first->second;
        of_queue = std::max(of_queue, -t.priority);
        std::pair key{t.queue, t.fairness_key};
        auto& of_key = worst.try_emplace(key, place_of(seq, t)).first->second;
        of_key = std::max(of_key, place_of(seq, t));
      }
  }
  if (worst.empty())
    return;
  for (const auto& [seq, t] : book_->tasks) {
    auto of_queue = worst_priority.find(t.queue);
    if (of_queue == worst_priority.end())
      continue;
    auto of_key = worst.find({t.queue, t.fairness_key});
    bool is_behind = -t.priority < of_queue->second
                     || (of_key != worst.end() && place_of(seq, t) < of_key->second);
    if (is_behind && may_run(seq, t))
      breach("order", seq, "waits, and one behind it was leased");
  }
}

void ledger::read(const core::tasks_changed& e) {
  for (const auto& c : e.changes)
    change(e, c);
  for (const auto& answered : e.answers)
    remember(answered);
  turn_.purges.insert(turn_.purges.end(), e.purges.begin(), e.purges.end());
  for (const auto& purge : e.purges)
    forget_below(purge);
}

void ledger::change(const core::tasks_changed& record, const core::task_change& c) {
  auto at = book_->tasks.find(c.seq);
  if (at == book_->tasks.end())
    return breach("I1", c.seq, "was changed, but never enqueued");
  auto& t = at->second;
  bool is_leased = t.state == task_state::leased;
  note(c.seq);
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
    // The task may have become due by now in any case.
    if (c.not_before < t.not_before && !t.allow_promotion && t.not_before > sealed_at_)
      breach("promote", c.seq, "was brought forward against its producer's word");
    t.not_before = c.not_before;
    t.retry_at = c.retry_at;
    turn_.rescheduled[c.seq].push_back(c);
    break;
  case core::change_kind::redriven:
    if (t.state != task_state::dead)
      breach("redrive", c.seq, "was redriven while " + std::string(to_string(t.state)));
    t.state = task_state::ready;
    t.attempt = 0;
    t.lost = 0;
    t.refunds = 0;
    t.since = record.position;
    turn_.has_redriven = true;
    check_sole(t, c.seq);
    break;
  case core::change_kind::purged:
    check_purged(c, t);
    t.state = task_state::cancelled;
    t.gone = true;
    break;
  case core::change_kind::body_replaced:
    if (!t.is_waiting())
      breach("keys", c.seq, "got another body while " + std::string(to_string(t.state)));
    replace_body(record, c, t);
    break;
  }
}

void ledger::read(const core::snapshot_taken& e) {
  std::set<sequence> copied;
  for (const auto& copy : e.copied)
    copied.insert(copy.first);
  for (const auto& fate : e.closed) {
    for (std::size_t i = 0; i < fate.entries.size(); ++i) {
      // The task goes on as a copy, unless this is the fate of the copy.
      if (!fate.copied && copied.contains(fate.first + i))
        continue;
      auto at = book_->tasks.find(fate.first + i);
      bool is_kept = at == book_->tasks.end() || is_live(at->second.state)
                     || at->second.state == task_state::dead;
      if (is_kept)
        breach("I1", fate.first + i, "was closed before it ended, or when it was dead");
      else if (!at->second.key_until)
        at->second.key_until = e.at + at->second.settings.retention;
    }
  }
  for (const auto& totals : e.queues) {
    auto& own = book_->totals[totals.queue];
    bool agrees = own.completed == totals.completed && own.dead == totals.dead
                  && own.cancelled == totals.cancelled && own.lost == totals.lost
                  && own.purged_below == totals.purged_below;
    if (!agrees)
      breach(
        "I9", 0, "or none: the totals of queue " + totals.queue.queue + " differ from a recount");
  }
  for (const auto& removed : e.removed_queues)
    remove_queue(removed, e.at);
  for (const auto& queue : e.expired_marks)
    book_->totals.erase(queue);
}

void ledger::remove_queue(const core::removed_queue& removed, timestamp now) {
  auto& own = book_->totals[removed.queue];
  for (const auto& [seq, t] : book_->tasks) {
    if (t.queue != removed.queue || t.gone)
      continue;
    bool is_over = t.state == task_state::completed || t.state == task_state::cancelled;
    bool is_past = t.key_until && *t.key_until <= now;
    if (!is_over || !is_past)
      breach("queues", seq, "was in a queue that was removed");
  }
  auto is_hidden = own.purged_below;
  own = {};
  own.purged_below = removed.mark.below;
  if (removed.mark.below != 0 && removed.mark.below != is_hidden)
    breach("queues", 0, "or none: the mark of a removed queue differs from the purge's");
}

} // namespace codeq::sim
