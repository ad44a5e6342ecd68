// SPDX-License-Identifier: Apache-2.0
#include "http/operations/operation_run.hpp"

#include "base/assert.hpp"
#include "base/tuning.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <utility>

namespace codeq::http {

namespace {

constexpr std::uint64_t percent = 100;

/// Commands of operators change redriven and purged tasks as one list, others one by one.
bool is_of_list(operation_kind kind) {
  return kind == operation_kind::redrive || kind == operation_kind::purge;
}

enum class canary_fate : std::uint8_t { waits, ran, failed, left_alone };

canary_fate fate_of(const std::optional<task_status>& task, const core::dead_task& was) {
  // A task that is no longer stored has ended well: dead tasks are kept.
  if (!task || task->state == task_state::completed || task->state == task_state::cancelled)
    return canary_fate::ran;
  bool has_run = task->token != was.token;
  if (task->state == task_state::dead)
    return has_run ? canary_fate::failed : canary_fate::left_alone;
  // A redrive sets the attempt to 0; the attempt of a lease that is open has not failed yet.
  std::uint32_t open = task->state == task_state::leased ? 1 : 0;
  return has_run && task->attempt > open ? canary_fate::failed : canary_fate::waits;
}

} // namespace

operation_run operation_run::begin(bulk_operation o, std::uint16_t shards) {
  auto kind = o.request.kind;
  auto& filter = o.request.filter;
  filter.tenant = o.request.tenant;
  auto& window = is_of_list(kind) ? filter.ended : filter.enqueued;
  if (window.until == timestamp{} || window.until > o.started_at)
    window.until = o.started_at;
  if (is_of_list(kind))
    filter.state = task_state::dead;
  else if (kind == operation_kind::promote && !filter.state)
    filter.state = task_state::scheduled;
  if (o.request.canary)
    o.phase = operation_phase::counting;
  operation_run run(std::move(o), shards);
  run.add_event("start", run.o_.by, run.o_.started_at);
  return run;
}

operation_run operation_run::recover(bulk_operation stored, std::uint16_t shards) {
  operation_run run(std::move(stored), shards);
  run.stored_ = run.version_;
  if (!run.o_.part.empty())
    run.lose_change();
  return run;
}

operation_run::step operation_run::next(timestamp now) const {
  if (due_ > now)
    return wait{due_ - now};
  if (!is_saved())
    return save{version_};
  if (o_.status != operation_status::running)
    return idle{};
  if (o_.phase == operation_phase::counting)
    return list{o_.request.filter, {count_shard_, count_after_, tuning::bulk_tasks_max}};
  if (o_.phase == operation_phase::watching)
    return next_look();
  if (is_unsure_) {
    auto again = list_from(listed_, tuning::bulk_tasks_max);
    again.at.below = o_.part.back().seq + 1;
    return again;
  }
  if (o_.part.empty())
    return list_from(o_.after, next_part());
  if (paced_ > now)
    return wait{paced_ - now};
  return change{o_.shard, o_.part};
}

operation_run::look operation_run::next_look() const {
  look looking;
  auto end = std::min(o_.canary.size(), looked_ + limits::operation_looks_max);
  for (auto i = looked_; i < end; ++i)
    looking.tasks.push_back({static_cast<shard_id>(o_.canary[i].shard), o_.canary[i].task.seq});
  return looking;
}

std::uint64_t operation_run::canary_size() const {
  auto all = o_.total.value_or(0);
  if (o_.request.limit != 0)
    all = std::min(all, o_.request.limit);
  // Bounded, because each of them is looked at later.
  return std::clamp<std::uint64_t>(
    (all + percent - 1) / percent, 1, limits::operation_canary_tasks_max);
}

operation_run::list operation_run::list_from(sequence after, std::uint32_t limit) const {
  return {o_.request.filter, {o_.shard, after, limit}};
}

std::uint32_t operation_run::next_part() const {
  std::uint64_t part =
    is_of_list(o_.request.kind) ? tuning::bulk_tasks_max : limits::operation_single_changes_max;
  // Ten parts per second, so that a rate does not become one burst per second.
  constexpr std::uint64_t parts_per_second = 10;
  if (o_.request.rate != 0)
    part = std::clamp<std::uint64_t>(o_.request.rate / parts_per_second, 1, part);
  if (o_.request.limit != 0)
    part = std::min(part, o_.request.limit - std::min(o_.request.limit, o_.done));
  if (o_.phase == operation_phase::canary) {
    auto size = canary_size();
    part = std::min(part, size - std::min<std::uint64_t>(size, o_.canary.size()));
  }
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(part, 1));
}

bool operation_run::matches(const task_summary& task) const {
  // A filter without a state lists ended tasks, too.
  return is_of_list(o_.request.kind) || (!is_terminal(task.state) && !task.cancel_requested);
}

void operation_run::take_list(const client::list_part& part, timestamp now) {
  if (!part.knows_all_filters)
    return stop("the shard does not know all filters", now);
  problem_.clear();
  if (o_.phase == operation_phase::counting)
    return take_counted(part);
  if (is_unsure_)
    return take_again(part, now);
  begin_part(part, now);
}

void operation_run::take_counted(const client::list_part& part) {
  counted_ += part.tasks.size();
  count_after_ = part.more ? part.after : 0;
  count_shard_ += part.more ? 0 : 1;
  if (count_shard_ < shards_)
    return;
  o_.total = counted_;
  o_.phase = operation_phase::canary;
  touch();
}

void operation_run::begin_part(const client::list_part& part, timestamp now) {
  for (const auto& task : part.tasks)
    if (matches(task))
      o_.part.push_back({task.id.seq, task.token});
  if (o_.part.empty())
    return move_on(part.after, part.more, now);
  o_.part_after = part.after;
  o_.part_has_more = part.more;
  empty_lists_ = 0;
  touch();
}

void operation_run::take_again(const client::list_part& part, timestamp now) {
  auto is_of_part = [this](const task_summary& task) {
    auto at = std::lower_bound(
      o_.part.begin(), o_.part.end(), task.id.seq, [](const core::dead_task& one, sequence seq) {
        return one.seq < seq;
      });
    return at != o_.part.end() && at->seq == task.id.seq && at->token == task.token;
  };
  for (const auto& task : part.tasks)
    if (matches(task) && is_of_part(task))
      left_.push_back({task.id.seq, task.token});
  listed_ = part.after;
  if (part.more && part.after < o_.part.back().seq)
    return;
  is_unsure_ = false;
  o_.done += o_.part.size() - left_.size();
  for (const auto& task : o_.part) {
    const auto is_same = [&](const core::dead_task& one) { return one.seq == task.seq; };
    if (std::any_of(left_.begin(), left_.end(), is_same))
      continue;
    found_changed_.push_back({static_cast<shard_id>(o_.shard), task.seq});
    if (o_.phase == operation_phase::canary)
      o_.canary.push_back({o_.shard, task});
  }
  o_.part = std::exchange(left_, {});
  if (o_.part.empty())
    end_part(now);
}

void operation_run::take_change(std::uint64_t changed, timestamp now) {
  problem_.clear();
  is_unsure_ = false;
  auto size = o_.part.size();
  o_.done += changed;
  o_.unchanged += size - std::min<std::uint64_t>(changed, size);
  if (o_.phase == operation_phase::canary)
    for (const auto& task : o_.part)
      o_.canary.push_back({o_.shard, task});
  if (o_.request.rate != 0) {
    // Small delays are made up for, long ones are not.
    constexpr std::uint64_t milliseconds = 1000;
    auto pause = (size * milliseconds + o_.request.rate - 1) / o_.request.rate;
    auto from = paced_ == timestamp{} ? now : now - limits::operation_pace_slack;
    paced_ = std::max(paced_, from) + duration{static_cast<duration::rep>(pause)};
  }
  end_part(now);
}

void operation_run::end_part(timestamp now) {
  o_.part.clear();
  move_on(o_.part_after, o_.part_has_more, now);
  bool is_canary_full =
    o_.phase == operation_phase::canary && !is_over(o_.status) && o_.canary.size() >= canary_size();
  if (!is_canary_full)
    return;
  o_.phase = operation_phase::watching;
  touch();
}

void operation_run::move_on(sequence after, bool has_more, timestamp now) {
  o_.after = has_more ? after : 0;
  o_.shard += has_more ? 0 : 1;
  listed_ = o_.after;
  bool is_enough = o_.request.limit != 0 && o_.done >= o_.request.limit;
  if (o_.shard == shards_ || is_enough)
    return end_walk(now);
  // The place of a walk that finds little is stored, too.
  if (++empty_lists_ < limits::operation_empty_lists_max)
    return;
  empty_lists_ = 0;
  touch();
}

void operation_run::end_walk(timestamp now) {
  if (is_over(o_.status))
    return;
  change_status(operation_status::completed);
  o_.canary.clear();
  add_event("end", {}, now);
}

void operation_run::take_look(const std::vector<std::optional<task_status>>& found, timestamp now) {
  problem_.clear();
  std::vector<canary_task> waiting(
    o_.canary.begin(), o_.canary.begin() + static_cast<std::ptrdiff_t>(looked_));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& one = o_.canary[looked_ + i];
    auto fate = fate_of(found[i], one.task);
    o_.canary_ran += fate == canary_fate::ran || fate == canary_fate::failed ? 1 : 0;
    o_.canary_failed += fate == canary_fate::failed ? 1 : 0;
    if (fate == canary_fate::waits)
      waiting.push_back(one);
  }
  const auto kept = waiting.size();
  auto rest = o_.canary.begin() + static_cast<std::ptrdiff_t>(looked_ + found.size());
  waiting.insert(waiting.end(), rest, o_.canary.end());
  o_.canary = std::move(waiting);
  looked_ = kept;
  if (looked_ < o_.canary.size())
    return;
  looked_ = 0;
  due_ = now + limits::operation_look_pause;
  judge_canary(now);
}

void operation_run::judge_canary(timestamp now) {
  if (o_.status != operation_status::running)
    return;
  auto size = o_.canary_ran + o_.canary.size();
  bool is_bad = o_.canary_failed * percent > size * o_.request.canary.value_or(0);
  if (!o_.canary.empty() && !is_bad)
    return;
  auto reason = "the canary failed again in " + std::to_string(o_.canary_failed) + " of "
                + std::to_string(o_.canary_ran) + " runs, more than "
                + std::to_string(o_.request.canary.value_or(0)) + " %";
  o_.phase = operation_phase::changing;
  o_.canary.clear();
  touch();
  due_ = {};
  if (is_bad)
    stop(std::move(reason), now);
}

void operation_run::lose_change() {
  is_unsure_ = true;
  listed_ = o_.after;
  left_.clear();
}

void operation_run::fail(const error& why, timestamp now) {
  bool is_passing = is_retryable(why.code) || !is_saved();
  if (!is_passing)
    return stop(to_string(why), now);
  problem_ = to_string(why);
  due_ = now + limits::operation_retry_pause;
}

void operation_run::stop(std::string reason, timestamp now) {
  if (o_.status != operation_status::running)
    return;
  change_status(operation_status::paused);
  o_.reason = std::move(reason);
  add_event("stop", {}, now);
}

bool operation_run::pause(const operation_user& by, timestamp now) {
  if (o_.status != operation_status::running)
    return false;
  change_status(operation_status::paused);
  add_event("pause", by, now);
  return true;
}

bool operation_run::resume(const operation_user& by, timestamp now) {
  if (o_.status != operation_status::paused)
    return false;
  change_status(operation_status::running);
  o_.by = by;
  // Its tasks may have changed in the pause.
  if (!o_.part.empty())
    lose_change();
  add_event("resume", by, now);
  return true;
}

bool operation_run::cancel(const operation_user& by, timestamp now) {
  if (is_over(o_.status))
    return false;
  change_status(operation_status::cancelled);
  add_event("cancel", by, now);
  return true;
}

void operation_run::change_status(operation_status to) {
  o_.status = to;
  o_.reason.clear();
  problem_.clear();
  due_ = {};
  touch();
}

void operation_run::add_event(std::string what, const operation_user& by, timestamp now) {
  if (is_over(o_.status))
    o_.ended_at = now;
  o_.events.push_back({now, std::move(what), by.subject, by.remote});
  if (o_.events.size() > limits::operation_events_max)
    o_.events.erase(o_.events.begin() + 1);
}

} // namespace codeq::http
