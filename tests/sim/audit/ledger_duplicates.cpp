// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/ledger.hpp"

#include <algorithm>

/// Answers to duplicates and their effects, by the contract's table of policies.
namespace codeq::sim {

namespace {

bool is_created(enqueue_kind kind) {
  return kind == enqueue_kind::created;
}

/// True when the policy can lead to that answer.
bool may_answer(on_duplicate policy, enqueue_kind kind) {
  switch (kind) {
  case enqueue_kind::created:
    return true;
  case enqueue_kind::existing:
    return policy == on_duplicate::existing || policy == on_duplicate::replace_ended;
  case enqueue_kind::duplicate:
    return policy == on_duplicate::reject;
  case enqueue_kind::promoted:
    return policy == on_duplicate::promote;
  case enqueue_kind::deferred:
  case enqueue_kind::unchanged:
  case enqueue_kind::running:
    return policy == on_duplicate::defer || policy == on_duplicate::promote;
  }
  return false;
}

} // namespace

template <class Fits>
bool ledger::was_ever(sequence seq, Fits&& fits) const {
  auto moments = moments_of(seq);
  return std::any_of(moments.begin(), moments.end(), fits);
}

void ledger::judge_requests() {
  std::set<request_key> judged;
  for (const auto& c : turn_.asked) {
    const auto* asked = std::get_if<core::enqueue>(&c);
    if (asked == nullptr)
      continue;
    request_key id{asked->request.producer, asked->request.number};
    if (book_->answered.contains(id) || !judged.insert(id).second)
      continue;
    auto is_it = [&](const core::answered_request& a) {
      return request_key{a.request.producer, a.request.number} == id;
    };
    auto answered = std::find_if(turn_.answers.begin(), turn_.answers.end(), is_it);
    if (answered != turn_.answers.end())
      judge(*asked, answered->answer);
  }
  for (const auto& answered : turn_.answers) {
    if (book_->answered.contains({answered.request.producer, answered.request.number}))
      breach("I1", 0, "or none: a request with keys was executed twice");
  }
  for (auto& [seq, changes] : turn_.rescheduled)
    turn_.promised_times[seq];
  for (auto& [seq, bodies] : turn_.replaced)
    turn_.promised_bodies[seq];
  for (const auto& [seq, promises] : turn_.promised_times)
    check_times(seq);
  for (const auto& [seq, promises] : turn_.promised_bodies)
    check_bodies(seq);
}

void ledger::judge(const core::enqueue& c, const core::request_answer& answer) {
  std::vector<sequence> tasks;
  for (const auto& run : answer.tasks) {
    for (std::uint32_t i = 0; i < run.count; ++i)
      tasks.push_back(run.first + i);
  }
  const auto& payloads = request_payloads_[{c.request.producer, c.request.number}];
  bool fits = tasks.size() == payloads.size()
              && (answer.kinds.empty() || answer.kinds.size() == payloads.size());
  if (!fits)
    return breach("keys", 0, "or none: an answer has another number of tasks than its request");
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    auto kind = answer.kinds.empty() ? enqueue_kind::created : answer.kinds[i];
    judge_item(turn_.items.at(payloads[i]), tasks[i], kind);
  }
}

void ledger::judge_item(const item& by, sequence seq, enqueue_kind kind) {
  auto added = turn_.added.find(by.payload);
  bool was_added = added != turn_.added.end();
  if (is_created(kind)) {
    if (!was_added || added->second != seq)
      breach("keys", seq, "is answered as created for " + by.payload + ", which was not");
    return;
  }
  if (was_added)
    return breach("I10", added->second, "was created, and " + by.payload + " met another record");
  if (by.run.key.empty())
    return breach("keys", seq, "is answered as a duplicate of " + by.payload + " without a key");
  auto owner = book_->tasks.find(seq);
  task_key key{by.run.queue, by.run.group, by.run.key};
  if (owner == book_->tasks.end() || owner->second.key != key)
    return breach("keys", seq, "is answered for " + by.payload + ", and has another key");
  if (!may_answer(by.run.duplicate, kind))
    return breach(
      "keys", seq, "is answered as " + std::string(to_string(kind)) + " against the policy");
  check_owner(by, seq);
  judge_duplicate(by, seq, kind);
}

void ledger::judge_duplicate(const item& by, sequence seq, enqueue_kind kind) {
  auto waits = [](const task& t) { return t.is_waiting(); };
  bool may_wait = was_ever(seq, waits);
  bool may_not = was_ever(seq, [&](const task& t) { return !t.is_waiting(); });
  bool is_changed = kind == enqueue_kind::deferred || kind == enqueue_kind::promoted;
  bool needs_waiting = is_changed || kind == enqueue_kind::unchanged;
  if (needs_waiting && !may_wait)
    breach("keys", seq, "does not wait, and is " + std::string(to_string(kind)));
  bool may_run = was_ever(seq, [](const task& t) { return t.state == task_state::leased; });
  if (kind == enqueue_kind::running && !may_run)
    breach("keys", seq, "is not leased, and is answered as running");
  if (kind == enqueue_kind::promoted && !book_->tasks.at(seq).allow_promotion)
    breach("keys", seq, "is guarded, and was promoted by a duplicate");
  if (kind == enqueue_kind::unchanged)
    check_unchanged(by, seq);
  if (is_changed)
    turn_.promised_times[seq].push_back({&by, kind, false});
  bool may_replace = needs_waiting || kind == enqueue_kind::existing;
  if (by.run.replace_payload && may_replace && may_wait)
    turn_.promised_bodies[seq].push_back({&by, kind, !needs_waiting && may_not});
}

void ledger::check_owner(const item& by, sequence seq) {
  auto is_known = [&](const task& t) { return !t.gone && has_time_left(t); };
  if (!was_ever(seq, is_known))
    breach("keys", seq, "has no key any more, and " + by.payload + " met it");
  for (auto holder : book_->keys.at(book_->tasks.at(seq).key)) {
    bool may_be_over =
      is_new(holder) || was_ever(holder, [](const task& t) { return is_terminal(t.state); });
    if (holder != seq && !may_be_over)
      breach("keys", seq, "is answered, and " + std::to_string(holder) + " has its key");
  }
}

void ledger::check_unchanged(const item& by, sequence seq) {
  auto wanted = by.run.not_before;
  bool may_be_sooner =
    by.run.duplicate == on_duplicate::promote && book_->tasks.at(seq).allow_promotion;
  auto stays = [&](const task& t) {
    // A time in the past means now.
    if (wanted <= sealed_at_)
      return !may_be_sooner || t.not_before <= sealed_at_;
    return may_be_sooner ? wanted == t.not_before : wanted <= t.not_before;
  };
  if (!was_ever(seq, stays))
    breach("keys", seq, "is answered as unchanged, and had another time than " + by.payload);
}

void ledger::check_times(sequence seq) {
  const auto& promises = turn_.promised_times[seq];
  const auto& changes = turn_.rescheduled[seq];
  auto promotes = promotes_of(seq);
  if (changes.size() > promises.size() + promotes)
    return breach("keys", seq, "was rescheduled, and nobody asked for it");
  if (changes.size() < promises.size())
    return breach("keys", seq, "was not rescheduled, and a duplicate was told so");
  if (promotes > 0 || promises.empty())
    return;
  // Matches the changes with the duplicates one after the other; each duplicate saw the state that
  // the previous one left.
  auto same_time = [](const task& t, const core::task_change& c) {
    return t.not_before == c.not_before && t.retry_at == c.retry_at;
  };
  auto all = moments_of(seq);
  for (std::size_t i = 0, k = 0; i < changes.size() && k < all.size(); ++k) {
    bool is_last = k + 1 == all.size();
    if (!is_last && same_time(all[k + 1], changes[i])) {
      check_time(promises[i], changes[i], all[k]);
      ++i;
    }
  }
}

void ledger::check_time(const promised& p, const core::task_change& c, const task& before) {
  auto wanted = p.by->run.not_before;
  // The record may drop a time in the past.
  bool is_past = c.retry_at == timestamp{} && before.retry_at <= sealed_at_;
  if (c.retry_at != before.retry_at && !is_past)
    breach("keys", c.seq, "waits for another attempt at another time because of a duplicate");
  bool is_it = c.not_before == wanted || (c.not_before == timestamp{} && wanted <= sealed_at_);
  if (!is_it)
    breach("keys", c.seq, "waits for another time than " + p.by->payload);
  bool is_later = c.not_before > before.not_before;
  if (is_later != (p.kind == enqueue_kind::deferred))
    breach("keys", c.seq, "is answered as deferred or promoted, and was not");
}

void ledger::check_bodies(sequence seq) {
  const auto& promises = turn_.promised_bodies[seq];
  const auto& bodies = turn_.replaced[seq];
  std::size_t seen = 0;
  for (const auto& p : promises) {
    if (seen < bodies.size() && bodies[seen] == p.by->payload)
      ++seen;
    else if (!p.may_not_be)
      breach("payload", seq, "has not the payload " + p.by->payload + " that replaces its own");
  }
  if (seen < bodies.size())
    breach("payload", seq, "got the payload " + bodies[seen] + ", which nobody was to replace");
}

} // namespace codeq::sim
