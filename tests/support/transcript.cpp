// SPDX-License-Identifier: Apache-2.0
#include "support/transcript.hpp"

namespace codeq::test {

namespace {

constexpr int epoch_shift = 39;

std::string lease_text(sequence seq, fencing_token token) {
  return short_number(seq) + "/t" + short_number(value(token));
}

} // namespace

std::string short_number(std::uint64_t number) {
  auto epoch = number >> epoch_shift;
  auto counter = std::to_string(number & ((1ull << epoch_shift) - 1));
  return epoch <= 1 ? counter : std::to_string(epoch) + '.' + counter;
}

void transcript::add(const core::effect& e) {
  std::visit([this](const auto& x) { say(x); }, e);
}

void transcript::line(const std::string& words) {
  text_ += (text_.empty() ? "" : "; ") + words;
}

void transcript::line(core::peer_id peer, const std::string& words) {
  line(names_.at(peer) + ": " + words);
}

void transcript::say(const core::enqueue_answered& e) {
  if (!e.allowed)
    return line(e.peer, "refused " + std::string(to_string(e.allowed.error().code)));
  std::string words = "enqueued";
  std::size_t place = 0;
  for (const auto& run : e.tasks)
    for (std::uint32_t i = 0; i < run.count; ++i, ++place) {
      words += ' ' + short_number(run.first + i);
      if (!e.kinds.empty() && e.kinds.at(place) != enqueue_kind::created)
        words += ' ' + std::string(to_string(e.kinds.at(place)));
    }
  line(e.peer, words);
}

void transcript::say(const core::tasks_granted& e) {
  std::string words = e.redelivered ? "got again" : "got";
  for (const auto& run : e.runs)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      auto token = static_cast<fencing_token>(value(run.first_token) + i);
      words += ' ' + lease_text(run.first + i, token);
      if (!run.attempts.empty() && run.attempts[i] != 1)
        words += '@' + std::to_string(run.attempts[i]);
      for (const auto& checkpoint : run.checkpoints)
        if (checkpoint.seq == run.first + i)
          words += " after " + std::to_string(checkpoint.mark.number) + " of t"
                   + short_number(value(checkpoint.mark.token));
    }
  line(e.peer, words + (e.more ? " and there is more" : ""));
}

void transcript::say(const core::claim_parked& e) {
  line(e.peer, "parked");
}

void transcript::say(const core::work_available& e) {
  line(e.peer, "work available");
}

void transcript::say(const core::credits_revoked& e) {
  line(e.peer, "revoked " + std::to_string(e.credits));
}

void transcript::say(const core::claim_outranked& e) {
  line(
    e.peer,
    "outranked " + std::to_string(e.credits) + " by " + std::to_string(value(e.by)) + " with "
      + std::to_string(e.priority));
}

void transcript::say(const core::reports_answered& e) {
  std::string words = "answered";
  for (const auto& a : e.answers)
    words += ' ' + lease_text(a.seq, a.token) + ' '
             + (a.code == errc::none ? "ok" : std::string(to_string(a.code)))
             + (a.context.empty() ? "" : " (" + a.context + ')');
  line(e.peer, words);
}

void transcript::say(const core::deliver_follow_ups& e) {
  std::size_t tasks = 0;
  for (const auto& run : e.runs)
    tasks += run.tasks.count();
  line(
    "deliver " + short_number(e.number) + " below " + short_number(e.answered_below) + " to shard "
    + std::to_string(value(e.to)) + ": " + std::to_string(tasks));
}

void transcript::say(const core::follow_ups_taken& e) {
  line("took " + short_number(e.number) + " of shard " + std::to_string(value(e.from)));
}

void transcript::say(const core::checkpoints_saved& e) {
  std::string words = "saved";
  for (const auto& saved : e.checkpoints)
    words +=
      ' ' + std::to_string(saved.mark.number) + " of " + lease_text(saved.seq, saved.mark.token);
  line(e.peer, words);
}

void transcript::say(const core::leases_lost& e) {
  std::string words = "lost";
  for (const auto& lease : e.leases)
    words += ' ' + lease_text(lease.seq, lease.token);
  line(e.peer, words);
}

void transcript::say(const core::resumed& e) {
  line(e.peer, "resumed");
}

void transcript::say(const core::cancel_wanted& e) {
  line(
    e.peer,
    "stop " + lease_text(e.lease.seq, e.lease.token) + " in " + std::to_string(e.grace.count()));
}

void transcript::say(const core::change_answered& e) {
  static const std::vector<std::string> results{
    "changed", "requested", "unchanged", "guarded", "key taken", "not found"};
  line(
    e.peer,
    results.at(static_cast<std::size_t>(e.result)) + ' ' + short_number(e.seq) + ' '
      + std::string(to_string(e.state)));
}

void transcript::say(const core::bulk_answered& e) {
  line(
    e.peer,
    std::to_string(e.changed) + " changed"
      + (e.more ? " and more behind " + short_number(e.after) : ""));
}

void transcript::say(const core::timer_wanted& e) {
  line(
    "timer " + lease_text(e.seq, e.token) + " at " + std::to_string((e.deadline - start_).count()));
}

void transcript::say(const core::timer_dropped& e) {
  line("timer t" + short_number(value(e.token)) + " dropped");
}

void transcript::say(const core::task_described& e) {
  auto words = short_number(e.view.seq) + " is " + std::string(to_string(e.view.entry.state));
  if (!e.view.worker.empty())
    words += " by " + e.view.worker;
  if (e.text && !e.text->empty())
    words += " '" + std::string(e.text->view()) + "'";
  line(e.why.peer, words);
}

void transcript::say(const core::progress_told& e) {
  line(
    e.peer,
    short_number(e.seq) + " at " + std::to_string(e.percent) + "% '" + e.note + "' in attempt "
      + std::to_string(e.attempt));
}

void transcript::say(const core::task_explained& e) {
  static const std::vector<std::string> reasons{
    "deferred",
    "retry waiting",
    "gated",
    "blocked",
    "queue paused",
    "no worker",
    "queue at max leased",
    "no free slots",
    "next",
    "leased",
    "completed",
    "dead",
    "cancelled",
    "limited",
    "fairness"};
  auto words = short_number(e.view.seq) + ' ' + reasons.at(static_cast<std::size_t>(e.reason));
  if (e.blocker != 0)
    words += " behind " + short_number(e.blocker) + ' ' + std::string(to_string(e.blocker_state));
  if (e.until != timestamp{})
    words += " until " + std::to_string((e.until - start_shard_).count());
  if (e.reason == task_reason::limited)
    words += " by " + e.limit + ':' + e.limit_key + " behind " + std::to_string(e.limit_before);
  if (e.reason == task_reason::fairness)
    words += " of '" + e.fairness_key + "' behind " + std::to_string(e.fairness_before) + " for "
             + std::to_string(e.fairness_wait.count());
  if (e.reason == task_reason::leased)
    words += (e.waits_at_worker ? " and waits, by " : " by ") + e.view.worker + " for "
             + std::to_string(e.lease_left.count());
  line(e.peer, words);
}

void transcript::say(const core::breaker_tripped& e) {
  line(e.queue.queue + " paused: " + e.reason);
}

void transcript::say(const core::queue_answered& e) {
  if (!e.allowed)
    return line(e.peer, "refused " + std::string(to_string(e.allowed.error().code)));
  const auto& s = e.settings.config;
  line(
    e.peer,
    e.queue.queue + " depth " + std::to_string(s.max_depth) + " leased "
      + std::to_string(s.max_leased) + " attempts " + std::to_string(s.defaults.max_attempts)
      + (e.settings.paused ? " paused" : ""));
}

void transcript::say(const core::limit_keys_met& e) {
  line("tenant " + e.tenant + " is out of limit keys");
}

void transcript::say(const core::limits_answered& e) {
  if (!e.allowed)
    return line(e.peer, "refused " + std::string(to_string(e.allowed.error().code)));
  std::string words = "limits";
  for (const auto& limit : e.limits)
    words += ' ' + limit.limit.name + " leased " + std::to_string(limit.leased) + " held "
             + std::to_string(limit.held) + " keys " + std::to_string(limit.keys) + " above "
             + std::to_string(limit.keys_above);
  for (const auto& one : e.waiting)
    words += " key " + one.key + " waits " + std::to_string(one.tasks) + " room "
             + (one.room ? std::to_string(*one.room) : "elsewhere");
  for (const auto& key : e.keys) {
    words += " key " + key.key + " leased " + std::to_string(key.leased) + " held "
             + std::to_string(key.held);
    if (key.closed_until != timestamp{})
      words += " closed until " + std::to_string((key.closed_until - start_shard_).count());
  }
  line(e.peer, words + (e.more ? " and more" : ""));
}

void transcript::say(const core::tasks_listed& e) {
  std::string words = "listed";
  for (const auto& task : e.tasks)
    words += ' ' + short_number(task.seq) + ' ' + std::string(to_string(task.entry.state));
  line(e.peer, words + " after " + short_number(e.after) + (e.more ? " and there is more" : ""));
}

void transcript::say(const core::audit_wanted& e) {
  line(e.why.peer, "audit wanted of " + (e.filter.tenant.empty() ? "all" : e.filter.tenant));
}

void transcript::say(const core::task_not_here& e) {
  line(e.why.peer, short_number(e.seq) + " is not here");
}

void transcript::say(const core::schedule_answered& e) {
  if (!e.allowed)
    return line(e.peer, "refused " + std::string(to_string(e.allowed.error().code)));
  line(e.peer, e.view.name.name + ' ' + std::string(to_string(e.what)));
}

void transcript::say(const core::schedules_listed& e) {
  std::string words = "schedules";
  for (const auto& view : e.schedules)
    words += ' ' + view.name.name;
  line(e.peer, words + (e.more ? " and there is more" : ""));
}

void transcript::say(const core::shard_told& e) {
  auto to = " to shard " + std::to_string(value(e.to));
  if (const auto* watched = std::get_if<core::watch_ends>(&e.what)) {
    std::string words = "watch";
    for (auto seq : watched->tasks)
      words += ' ' + short_number(seq);
    return line(words + to);
  }
  if (const auto* ended = std::get_if<core::note_ends>(&e.what)) {
    std::string words = "ended";
    for (const auto& end : ended->ends)
      words += ' ' + short_number(end.seq) + ' ' + std::string(to_string(end.how));
    return line(words + to);
  }
  if (const auto* adopted = std::get_if<core::settings_adopted>(&e.what))
    return line("settings adopted " + std::to_string(adopted->version) + to);
  if (const auto* asked = std::get_if<core::ask_permits>(&e.what))
    return line(
      std::string(asked->is_list ? "list " : "ask ") + std::to_string(asked->held.size()) + " held "
      + std::to_string(asked->wanted.size()) + " wanted "
      + std::to_string(asked->returned.size()) + " returned" + to);
  if (const auto* given = std::get_if<core::give_permits>(&e.what))
    return line(
      "give " + std::to_string(given->given.size()) + " permits"
      + (given->wants_list ? ", want a list" : "") + to);
  line("cancel " + short_number(std::get<core::cancel>(e.what).seq) + to);
}

void transcript::say(const core::occurrence_noted& e) {
  bool is_late = e.entry.state == occurrence_state::running;
  line(e.name.name + ' ' + (is_late ? "late" : std::string(to_string(e.entry.state))));
}

} // namespace codeq::test
