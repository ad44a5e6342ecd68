// SPDX-License-Identifier: Apache-2.0
#include "model/words.hpp"

#include "model/reference_shard.hpp"

namespace codeq::model {

namespace {

std::string peer_name(core::peer_id peer) {
  return "peer " + std::to_string(peer) + ' ';
}

std::string inquirer(const core::inquiry& why) {
  switch (why.what) {
  case core::inquiry::kind::status:
    return peer_name(why.peer) + "asked #" + std::to_string(why.number) + " and is told ";
  case core::inquiry::kind::ending:
    return peer_name(why.peer) + "awaited and is told ";
  case core::inquiry::kind::change:
    return peer_name(why.peer) + "wanted a change #" + std::to_string(why.number) + " and is told ";
  case core::inquiry::kind::explain:
    return peer_name(why.peer) + "asked why #" + std::to_string(why.number) + " and is told ";
  case core::inquiry::kind::history:
    return peer_name(why.peer) + "asked what happened #" + std::to_string(why.number)
           + " and is told ";
  case core::inquiry::kind::audit:
  case core::inquiry::kind::schedule:
  case core::inquiry::kind::repeated_report:
    break;
  }
  return peer_name(why.peer) + "repeated a report and is told ";
}

} // namespace

std::string short_number(std::uint64_t number) {
  return std::to_string(number >> 39) + '.' + std::to_string(number & ((1ull << 39) - 1));
}

std::string say_task(sequence seq, fencing_token token) {
  return short_number(seq) + "/t" + short_number(value(token));
}

std::string say_enqueued(
  core::peer_id peer,
  std::uint64_t number,
  const std::vector<sequence>& tasks,
  const std::vector<enqueue_kind>& kinds) {
  auto text = peer_name(peer) + "enqueued by request " + std::to_string(number) + ':';
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto kind = kinds.empty() ? enqueue_kind::created : kinds.at(i);
    text += ' ' + short_number(tasks[i]) + ' ' + std::string(to_string(kind));
  }
  return text;
}

std::string say_refused(core::peer_id peer, std::uint64_t number, errc code) {
  return peer_name(peer) + "is refused request " + std::to_string(number) + ": "
         + std::string(to_string(code));
}

std::string say_revoked(core::peer_id peer, std::uint32_t credits) {
  return peer_name(peer) + "gets back credits: " + std::to_string(credits);
}

std::string say_answered(core::peer_id peer, const core::task_lease& lease, errc code) {
  return peer_name(peer) + "reported " + say_task(lease.seq, lease.token) + ": "
         + std::string(to_string(code));
}

std::string say_taken(shard_id from, std::uint64_t number) {
  return "took " + std::to_string(number) + " of shard " + std::to_string(value(from));
}

std::string say_run(const core::enqueue_run& run) {
  const auto& s = run.settings;
  std::string text = run.queue.tenant + '/' + run.queue.queue + " group '" + run.group + "' key '"
                     + run.key + "' fairness '" + run.fairness.key + "' bodies '"
                     + std::string(run.tasks.body.view()) + "' of";
  for (auto size : run.tasks.sizes)
    text += ' ' + std::to_string(size);
  const std::vector<std::int64_t> numbers{
    run.priority,
    run.not_before.time_since_epoch().count(),
    run.allow_promotion,
    static_cast<std::int64_t>(run.duplicate),
    run.replace_payload,
    run.left_to_queue,
    run.fairness.weight,
    s.max_attempts,
    static_cast<std::int64_t>(s.retry.kind),
    s.retry.base.count(),
    s.retry.cap.count(),
    s.lease.count(),
    s.run_timeout.count(),
    s.progress_timeout.count(),
    s.retention.count(),
    s.dead_retention.count(),
    static_cast<std::int64_t>(s.when_dead)};
  text += " and";
  for (auto number : numbers)
    text += ' ' + std::to_string(number);
  return text;
}

std::string say_lost(core::peer_id peer, const core::task_lease& lease) {
  return peer_name(peer) + "lost " + say_task(lease.seq, lease.token);
}

std::string say_resumed(core::peer_id peer) {
  return peer_name(peer) + "resumed";
}

std::string
say_redelivered(core::peer_id peer, const core::task_lease& lease, std::uint32_t attempt) {
  return peer_name(peer) + "gets again " + say_task(lease.seq, lease.token) + " attempt "
         + std::to_string(attempt);
}

std::string say_saved(core::peer_id peer, const core::saved_checkpoint& saved) {
  return peer_name(peer) + "is told that " + std::to_string(saved.mark.number) + " of "
         + say_task(saved.seq, saved.mark.token) + " is saved";
}

namespace {

std::string say_mark(fencing_token token, std::uint32_t number) {
  return " after " + std::to_string(number) + " of t" + short_number(value(token));
}

} // namespace

std::string say_checkpoint(const reference_task& task) {
  return task.checkpoint ? say_mark(task.checkpoint->token, task.checkpoint->number) : "";
}

std::string say_checkpoint(const core::granted_run& run, sequence seq) {
  for (const auto& checkpoint : run.checkpoints)
    if (checkpoint.seq == seq)
      return say_mark(checkpoint.mark.token, checkpoint.mark.number);
  return "";
}

std::string say_timer(const core::task_lease& lease, monotonic_time deadline) {
  return "timer of " + say_task(lease.seq, lease.token) + " at "
         + std::to_string(deadline.time_since_epoch().count());
}

std::string say_timer_dropped(fencing_token token) {
  return "timer of t" + short_number(value(token)) + " dropped";
}

std::string say_parked(core::peer_id peer) {
  return peer_name(peer) + "is parked";
}

std::string say_available(core::peer_id peer) {
  return peer_name(peer) + "hears of work";
}

std::string say_stop(core::peer_id peer, const core::task_lease& lease, duration grace) {
  return peer_name(peer) + "is to stop " + say_task(lease.seq, lease.token) + " within "
         + std::to_string(grace.count()) + " ms";
}

std::string say_changed(const core::change_answered& answer) {
  static const std::vector<std::string> results{
    "changed", "requested", "unchanged", "guarded", "key taken", "not found"};
  return peer_name(answer.peer) + "wanted a change #" + std::to_string(answer.number) + " of "
         + short_number(answer.seq) + ": " + results.at(static_cast<std::size_t>(answer.result))
         + ", " + std::string(to_string(answer.state));
}

std::string say_bulk(const core::bulk_answered& answer) {
  return peer_name(answer.peer) + "changed many #" + std::to_string(answer.number) + ": "
         + std::to_string(answer.changed) + (answer.more ? " and there are more" : "");
}

std::string say_described(const core::inquiry& why, const told_task& task) {
  return inquirer(why) + say_task(task.seq, task.token) + " is "
         + std::string(to_string(task.state)) + " at attempt " + std::to_string(task.attempt);
}

std::string say_event(task_event::kind what, task_state state) {
  return std::string(to_string(what)) + ", then " + std::string(to_string(state));
}

std::string say_attempt(std::uint32_t attempt, const std::string& worker) {
  return attempt == 0 && worker.empty() ? ""
                                        : ", attempt " + std::to_string(attempt) + " at " + worker;
}

std::string say_explained(const told_reason& told) {
  auto text = peer_name(told.peer) + "asked #" + std::to_string(told.number) + " why "
              + short_number(told.seq) + " does not run: reason "
              + std::to_string(static_cast<int>(told.reason)) + " until "
              + std::to_string(told.until.time_since_epoch().count());
  if (told.blocker != 0)
    text +=
      " behind " + short_number(told.blocker) + ' ' + std::string(to_string(told.blocker_state));
  if (!told.worker.empty())
    text += " at " + told.worker + " for " + std::to_string(told.lease_left.count());
  return text;
}

std::string say_queue(const core::queue_answered& answer) {
  const auto& s = answer.settings;
  const auto& d = s.config.defaults;
  return peer_name(answer.peer) + "set #" + std::to_string(answer.number) + " queue "
         + answer.queue.queue + ": depth " + std::to_string(s.config.max_depth) + " leased "
         + std::to_string(s.config.max_leased) + " attempts " + std::to_string(d.max_attempts)
         + " lease " + std::to_string(d.lease.count()) + (s.paused ? " paused " : "")
         + s.pause_reason;
}

std::string say_tripped(const core::breaker_tripped& tripped) {
  return "queue " + tripped.queue.queue + " is paused: " + tripped.reason;
}

std::string say_queue_refused(core::peer_id peer, std::uint64_t number, errc code) {
  return peer_name(peer) + "is refused to set #" + std::to_string(number) + ": "
         + std::string(to_string(code));
}

std::string say_progress(const core::progress_told& told) {
  return peer_name(told.peer) + "is told that " + std::to_string(told.seq) + " at attempt "
         + std::to_string(told.attempt) + " is at " + std::to_string(told.percent) + " "
         + told.note;
}

std::string say_unknown(const core::inquiry& why, sequence seq) {
  return inquirer(why) + short_number(seq) + " is unknown";
}

} // namespace codeq::model
