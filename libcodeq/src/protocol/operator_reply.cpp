// SPDX-License-Identifier: Apache-2.0
#include "protocol/operator_reply.hpp"

#include "encoding/limit_structs.hpp"
#include "encoding/operator_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/error_code.hpp"
#include "protocol/shared_data.hpp"

#include <algorithm>
#include <limits>

namespace codeq::protocol {

namespace {

/// Writes the common fields of `StatusReply` and `TaskView`.
template <class Builder>
void write_common(Builder to, const core::task_view& view) {
  encoding::write_queue(to.initQueue(), view.queue);
  to.setPriority(view.priority);
  to.setState(encoding::to_schema(view.entry.state));
  to.setAttempt(view.entry.attempt);
  to.setMaxAttempts(view.max_attempts);
  to.setToken(value(view.entry.token));
  to.setEnqueuedAtMs(ms_of(view.enqueued_at));
  to.setEligibleAtMs(ms_of(view.eligible_at));
  to.setWorker(text_of(view.worker));
  to.setLostInRow(view.entry.lost);
  to.setGroup(data_of(view.group));
  to.setKey(data_of(view.key));
  if (!view.fairness.key.empty())
    to.setFairnessKey(data_of(view.fairness.key));
  to.setFairnessWeight(view.fairness.weight);
  encoding::write_limits_of(to, view.limits);
  to.setCancelRequested(view.entry.state == task_state::leased && view.entry.cancelling);
}

void write_progress(schema::StatusReply::Builder to, const core::lease_progress& progress) {
  to.setHasProgress(true);
  to.setProgressPercent(progress.percent);
  to.setProgressNote(data_of(progress.note));
}

void write_view(schema::TaskView::Builder to, const core::task_view& view) {
  to.setSeq(view.seq);
  write_common(to, view);
  to.setEndedAtMs(ms_of(view.ended_at));
  if (!view.error_text.empty())
    to.setError(data_of(view.error_text));
}

void write_settings(schema::QueueSettings::Builder to, const core::queue_settings& settings) {
  encoding::write_config(to, settings.config);
  to.setPaused(settings.paused);
  to.setPauseReason(text_of(settings.pause_reason));
}

void write_fairness(schema::QueueReply::Fairness::Builder to, const fairness_page& page) {
  to.setActiveKeys(page.active_keys);
  to.setMore(page.more);
  auto keys = to.initKeys(count_of(page.keys.size()));
  for (capnp::uint i = 0; i < keys.size(); ++i) {
    const auto& share = page.keys[i];
    keys[i].setKey(data_of(share.key));
    keys[i].setWeight(share.weight);
    keys[i].setReady(share.ready);
    keys[i].setSharePpm(share.share_ppm);
    keys[i].setExpectedRunMs(static_cast<std::uint64_t>(share.expected_run.count()));
    keys[i].setWaitMs(static_cast<std::uint64_t>(share.wait.count()));
  }
}

void write_held(schema::QueueReply::Held::Builder to, const limit_wait& wait) {
  to.setLimit(text_of(wait.limit));
  to.setKey(data_of(wait.at.key));
  to.setTasks(wait.at.held);
  to.setLeased(wait.at.leased);
  to.setHasNextStart(wait.at.next_start.has_value());
  to.setNextStartMs(ms_of(wait.at.next_start.value_or(timestamp{})));
  to.setClosedUntilMs(ms_of(wait.at.closed_until));
}

void write_waits(schema::QueueReply::Waits::Builder to, const queue_explanation& why) {
  auto reasons = to.initReasons(count_of(why.waiting.size()));
  capnp::uint next = 0;
  for (const auto& [reason, tasks] : why.waiting) {
    reasons[next].setReason(encoding::to_schema(reason));
    reasons[next++].setTasks(tasks);
  }
  to.setLeased(why.leased);
  to.setWorkers(why.workers);
  to.setBlocking(why.blocking);
  auto limits = to.initLimits(count_of(why.limits.size()));
  for (capnp::uint i = 0; i < limits.size(); ++i)
    write_held(limits[i], why.limits[i]);
  auto keys = to.initKeys(count_of(why.keys.size()));
  for (capnp::uint i = 0; i < keys.size(); ++i)
    write_held(keys[i], why.keys[i]);
  to.setPartialKeys(!why.has_all_keys);
  to.setStartsPerMinute(why.starts_per_minute);
  const auto never = why.limits_need == duration::max();
  to.setLimitsNeedMs(
    never ? std::numeric_limits<std::uint64_t>::max()
          : static_cast<std::uint64_t>(why.limits_need.count()));
  to.setMaxLeasedNeedMs(static_cast<std::uint64_t>(why.max_leased_need.count()));
}

void write_priorities(schema::StatsReply::QueueStats::Builder to, const queue_stats& q) {
  const auto& ready = q.ready_by_priority;
  const auto used = ready.size() - static_cast<std::size_t>(std::ranges::count(ready, 0u));
  auto priorities = to.initReadyByPriority(count_of(used));
  capnp::uint next = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i] == 0)
      continue;
    priorities[next].setPriority(static_cast<std::uint8_t>(i));
    priorities[next++].setTasks(ready[i]);
  }
}

void write_counts(schema::StatsReply::QueueStats::Builder to, const queue_stats& q) {
  encoding::write_queue(to.initQueue(), q.queue);
  to.setScheduled(q.scheduled);
  to.setGated(q.gated);
  to.setReady(q.ready);
  to.setLeased(q.leased);
  to.setCompleted(q.completed);
  to.setDead(q.dead);
  to.setLost(q.lost);
  to.setDeadNow(q.dead_now);
  to.setCancelled(q.cancelled);
  to.setPaused(q.paused);
  to.setOldestReadyMs(static_cast<std::uint64_t>(q.oldest_ready.count()));
  to.setMaxDepth(q.max_depth);
  to.setMaxLeased(q.max_leased);
  to.setHeld(q.held);
  write_priorities(to, q);
}

void write_worker(schema::WorkersReply::Worker::Builder to, const worker_info& worker) {
  to.setName(text_of(worker.name));
  to.setConnected(worker.is_connected);
  to.setFreeSlots(worker.free_slots);
  to.setLeases(worker.leases);
  auto queues = to.initQueues(count_of(worker.queues.size()));
  for (capnp::uint i = 0; i < queues.size(); ++i)
    encoding::write_queue(queues[i], worker.queues[i]);
  to.setQueueCount(worker.queue_count);
  auto running = to.initRunning(count_of(worker.running.size()));
  for (capnp::uint i = 0; i < running.size(); ++i) {
    const auto& lease = worker.running[i];
    running[i].initTask().setShard(value(lease.task.shard));
    running[i].getTask().setSeq(lease.task.seq);
    encoding::write_queue(running[i].initQueue(), lease.queue);
    running[i].setGrantedAtMs(ms_of(lease.since));
    running[i].setLeaseLeftMs(static_cast<std::uint64_t>(lease.left.count()));
    running[i].setWaits(lease.is_waiting);
  }
  to.setDraining(worker.is_draining);
}

void write_event(schema::EventsReply::Event::Builder to, const task_event& event) {
  to.setAtMs(ms_of(event.at));
  to.setKind(encoding::to_schema(event.what));
  to.setAttempt(static_cast<std::uint16_t>(event.attempt));
  to.setToken(value(event.token));
  to.setWorker(text_of(event.worker));
  to.setText(data_of(event.text));
  to.setBy(encoding::to_schema(event.by));
  to.setState(encoding::to_schema(event.state));
  to.setUntilMs(ms_of(event.until));
  to.setSubject(text_of(event.subject));
}

void write_command(schema::AuditReply::Command::Builder to, const audited_command& command) {
  to.setAtMs(ms_of(command.at));
  to.setOperation(command.operation);
  to.setAction(encoding::to_schema(command.action));
  to.setTenant(text_of(command.tenant));
  to.setQueue(text_of(command.queue));
  if (command.task) {
    to.setShard(value(command.task->shard));
    to.setTask(command.task->seq);
  }
  to.setChanged(command.changed);
  to.setSubject(text_of(command.subject));
  to.setBearerTenant(text_of(command.bearer_tenant));
  to.setRemote(text_of(command.remote));
  to.setDetail(text_of(command.detail));
}

} // namespace

status_reply make_status_reply(
  shard_id shard, std::uint64_t number, const core::task_view& view, const task_texts& texts) {
  return status_reply::build(
    [&](auto r) {
      r.setNumber(number);
      r.initTask().setShard(value(shard));
      r.getTask().setSeq(view.seq);
      write_common(r, view);
      r.setText(data_of(texts.text.view()));
      r.setLeaseLeftMs(static_cast<std::uint64_t>(view.lease_left.count()));
      if (view.progress)
        write_progress(r, *view.progress);
      if (!texts.body.empty())
        r.setBody(data_of(texts.body.view()));
    },
    (texts.text.size() + texts.body.size()) / 8 + 256);
}

change_reply make_change_reply(shard_id shard, const core::change_answered& answer) {
  return change_reply::build([&](auto r) {
    r.setNumber(answer.number);
    r.setResult(encoding::to_schema(answer.result));
    r.setState(encoding::to_schema(answer.state));
    r.initTask().setShard(value(shard));
    r.getTask().setSeq(answer.seq);
  });
}

queue_reply make_queue_reply(const core::queue_answered& answer) {
  constexpr std::size_t key_words = 8;
  // With ten keys and ten limits of common lengths.
  constexpr std::size_t explanation_words = 512;
  const auto& config = answer.settings.config;
  std::size_t words = 64 + encoding::limit_words(config.limits)
                      + encoding::fairness_words(config);
  if (answer.fairness)
    for (const auto& share : answer.fairness->keys)
      words += key_words + share.key.size() / sizeof(capnp::word);
  if (answer.explanation)
    words += explanation_words;
  return queue_reply::build(
    [&](auto r) {
      r.setNumber(answer.number);
      r.setCode(to_schema(answer.allowed.error().code));
      r.setContext(text_of(answer.allowed.error().context));
      write_settings(r.initSettings(), answer.settings);
      r.setIsUnknown(answer.is_unknown);
      if (answer.fairness)
        write_fairness(r.initFairness(), *answer.fairness);
      if (answer.explanation)
        write_waits(r.initWaits(), *answer.explanation);
    },
    words);
}

bulk_reply make_bulk_reply(const core::bulk_answered& answer) {
  return bulk_reply::build([&](auto r) {
    r.setNumber(answer.number);
    r.setChanged(answer.changed);
    r.setAfter(answer.after);
    r.setMore(answer.more);
  });
}

list_reply make_list_reply(const core::tasks_listed& answer) {
  constexpr std::size_t task_words = 48;
  std::size_t text_words = 0;
  for (const auto& task : answer.tasks)
    text_words += task.error_text.size() / 8;
  return list_reply::build(
    [&](auto r) {
      r.setNumber(answer.number);
      auto tasks = r.initTasks(count_of(answer.tasks.size()));
      for (capnp::uint i = 0; i < tasks.size(); ++i)
        write_view(tasks[i], answer.tasks[i]);
      r.setAfter(answer.after);
      r.setMore(answer.more);
      r.setKnowsAllFilters(true);
    },
    answer.tasks.size() * task_words + text_words + 32);
}

explain_reply make_explain_reply(shard_id shard, const core::task_explained& answer) {
  return explain_reply::build(
    [&](auto r) {
      r.setNumber(answer.number);
      r.setShard(value(shard));
      r.setReason(encoding::to_schema(answer.reason));
      write_view(r.initView(), answer.view);
      r.setUntilMs(ms_of(answer.until));
      r.setBlocker(answer.blocker);
      r.setBlockerState(encoding::to_schema(answer.blocker_state));
      r.setLeaseLeftMs(static_cast<std::uint64_t>(answer.lease_left.count()));
      write_settings(r.initQueue(), answer.queue);
      r.setWorkers(answer.workers);
      r.setWaitsAtWorker(answer.waits_at_worker);
      if (answer.reason == task_reason::limited) {
        r.setLimitName(text_of(answer.limit));
        r.setLimitKey(data_of(answer.limit_key));
        r.setLimitBefore(answer.limit_before);
      }
      if (answer.reason == task_reason::fairness) {
        r.setFairnessKey(data_of(answer.fairness_key));
        r.setFairnessBefore(answer.fairness_before);
        r.setFairnessWaitMs(static_cast<std::uint64_t>(answer.fairness_wait.count()));
      }
    },
    256);
}

events_reply make_events_reply(std::uint64_t number, const task_timeline& timeline) {
  return events_reply::build([&](auto r) {
    r.setNumber(number);
    auto list = r.initEvents(count_of(timeline.events.size()));
    for (capnp::uint i = 0; i < list.size(); ++i)
      write_event(list[i], timeline.events[i]);
    r.setDropped(timeline.dropped);
    r.setState(encoding::to_schema(timeline.state));
    r.setUntilMs(ms_of(timeline.until));
  });
}

audit_reply make_audit_reply(std::uint64_t number, const audit_page& page, bool is_of_shard) {
  constexpr std::size_t command_words = 64;
  return audit_reply::build(
    [&](auto r) {
      r.setNumber(number);
      auto list = r.initCommands(count_of(page.commands.size()));
      for (capnp::uint i = 0; i < list.size(); ++i)
        write_command(list[i], page.commands[i]);
      r.setMore(page.after.has_value());
      r.setOfShard(is_of_shard);
      if (!page.after)
        return;
      r.setAfterMs(ms_of(page.after->at));
      r.setAfterOperation(page.after->operation);
    },
    page.commands.size() * command_words + 32);
}

backup_reply make_backup_reply(std::uint64_t number, const result<backup_status>& status) {
  return backup_reply::build([&](auto r) {
    r.setNumber(number);
    if (!status) {
      r.setCode(to_schema(status.error().code));
      r.setContext(text_of(status.error().context));
      return;
    }
    r.setState(encoding::to_schema(status->state));
    r.setBackup(status->number);
    r.setBytes(status->bytes);
    r.setFiles(status->files);
    r.setProblem(text_of(status->problem));
    r.setIsFixed(status->is_fixed);
    r.setHold(status->hold);
    r.setNode(text_of(status->node));
  });
}

log_level_reply make_log_level_reply(std::uint64_t number, const result<std::string>& level) {
  return log_level_reply::build([&](auto r) {
    r.setNumber(number);
    if (level)
      return r.setLevel(text_of(*level));
    r.setCode(to_schema(level.error().code));
    r.setContext(text_of(level.error().context));
  });
}

backup_reply
make_backups_reply(std::uint64_t number, const result<std::vector<backup_info>>& backups) {
  return backup_reply::build([&](auto r) {
    r.setNumber(number);
    if (!backups) {
      r.setCode(to_schema(backups.error().code));
      r.setContext(text_of(backups.error().context));
      return;
    }
    auto list = r.initBackups(count_of(backups->size()));
    for (capnp::uint i = 0; i < list.size(); ++i) {
      const auto& backup = (*backups)[i];
      list[i].setNumber(backup.number);
      list[i].setBytes(backup.bytes);
      list[i].setFiles(backup.files);
      list[i].setAtMs(ms_of(backup.at));
    }
  });
}

workers_reply
make_workers_reply(std::uint64_t number, const std::vector<base::worker_counts>& workers) {
  return workers_reply::build([&](auto r) {
    r.setNumber(number);
    auto list = r.initWorkers(count_of(workers.size()));
    for (capnp::uint i = 0; i < list.size(); ++i)
      write_worker(list[i], workers[i]);
  });
}

stats_reply make_stats_reply(std::uint64_t number, const base::coordinator_counts& stats) {
  return stats_reply::build([&](auto r) {
    r.setNumber(number);
    auto queues = r.initQueues(count_of(stats.queues.size()));
    for (capnp::uint i = 0; i < stats.queues.size(); ++i)
      write_counts(queues[i], stats.queues[i]);
    auto gauges = r.initGauges(count_of(stats.gauges.size()));
    capnp::uint i = 0;
    for (const auto& [name, value] : stats.gauges) {
      gauges[i].setName(text_of(name));
      gauges[i++].setValue(value);
    }
    r.setTellsShards(true);
    r.setShards(static_cast<std::uint16_t>(stats.shards));
  });
}

} // namespace codeq::protocol
