// SPDX-License-Identifier: Apache-2.0
#include "client/operator_replies.hpp"

#include "client/status_convert.hpp"
#include "encoding/limit_structs.hpp"
#include "encoding/operator_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/error_code.hpp"
#include "protocol/schedule_convert.hpp"
#include "protocol/shared_data.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace codeq::client {

namespace {

using encoding::read_text;
using protocol::string_of;

/// Parses a reply: an error from the coordinator is the answer; otherwise `fill(reader, value)`
/// parses it, and its errors mean that the reply cannot be used.
template <class T, class S, class Fill>
result<answered<T>> read_reply(const protocol::frame<S>& reply, Fill&& fill) {
  return reply.read([&](auto from) -> result<answered<T>> {
    auto code = protocol::from_schema(from.getCode());
    if (code != errc::none) {
      auto context = read_text(from.getContext());
      if (context.empty())
        context = code == errc::unknown_task ? "no such task, or it is past its retention"
                                             : "the coordinator refused";
      return answered<T>{error{code, std::move(context)}};
    }
    T value;
    if (result<void> ok = fill(from, value); !ok)
      return ok.error();
    return answered<T>{std::move(value)};
  });
}

/// Converts an enumerator and stores it. Errors: `protocol_error` when this version does not know
/// it.
template <class Enum>
result<void> take_known(const char* what, encoding::schema_enum<Enum> found, Enum& to) {
  to = encoding::from_schema<Enum>(found);
  if (encoding::is_known<Enum>(found))
    return {};
  return error{
    errc::protocol_error,
    "unknown " + std::string(what) + " " + std::to_string(static_cast<unsigned>(found))};
}

/// Reads the common fields of `StatusReply` and `TaskView`.
template <class Reader>
result<void> read_common(Reader from, task_summary& to) {
  auto state = read_state(from.getState());
  if (!state)
    return state.error();
  to.state = *state;
  to.tenant = read_text(from.getQueue().getTenant());
  to.queue = read_text(from.getQueue().getQueue());
  to.priority = from.getPriority();
  to.attempt = from.getAttempt();
  to.max_attempts = from.getMaxAttempts();
  to.token = fencing_token{from.getToken()};
  to.enqueued_at = timestamp{duration{from.getEnqueuedAtMs()}};
  if (from.getEligibleAtMs() != 0)
    to.eligible_at = timestamp{duration{from.getEligibleAtMs()}};
  to.worker = read_text(from.getWorker());
  to.lost_in_row = from.getLostInRow();
  to.group = string_of(from.getGroup());
  to.key = string_of(from.getKey());
  to.cancel_requested = from.getCancelRequested();
  to.fairness_key = string_of(from.getFairnessKey());
  to.fairness_weight = from.getFairnessWeight();
  to.limits = encoding::read_limits(from.getLimits());
  return {};
}

task_id read_id(schema::TaskId::Reader from) {
  return {static_cast<shard_id>(from.getShard()), from.getSeq()};
}

/// The largest value means longer than can be said.
duration time_of(std::uint64_t ms) {
  constexpr auto most = static_cast<std::uint64_t>(duration::max().count());
  return duration{static_cast<duration::rep>(std::min(ms, most))};
}

result<void> fill_explanation(schema::ExplainReply::Reader from, task_explanation& to) {
  if (auto ok = take_known("reason", from.getReason(), to.reason); !ok)
    return ok;
  auto shard = static_cast<shard_id>(from.getShard());
  if (auto ok = read_common(from.getView(), to.task); !ok)
    return ok;
  to.task.id = {shard, from.getView().getSeq()};
  to.until = timestamp{duration{from.getUntilMs()}};
  to.blocker = {shard, from.getBlocker()};
  auto state = read_state(from.getBlockerState());
  if (!state)
    return state.error();
  to.blocker_state = *state;
  to.lease_left = duration{static_cast<duration::rep>(from.getLeaseLeftMs())};
  to.workers = from.getWorkers();
  to.limit = read_text(from.getLimitName());
  to.limit_key = string_of(from.getLimitKey());
  to.limit_before = from.getLimitBefore();
  to.waits_at_worker = from.getWaitsAtWorker();
  to.fairness_key = string_of(from.getFairnessKey());
  to.fairness_before = from.getFairnessBefore();
  to.fairness_wait = time_of(from.getFairnessWaitMs());
  to.queue = encoding::read_config(from.getQueue());
  // A coordinator of an older version knows its shard's part only.
  if (to.queue.max_leased == 0)
    to.queue.max_leased = to.queue.max_leased_part;
  if (to.queue.max_depth == 0)
    to.queue.max_depth = to.queue.max_depth_part;
  to.pause_reason = read_text(from.getQueue().getPauseReason());
  return {};
}

void fill_fairness(schema::QueueReply::Fairness::Reader from, fairness_page& to) {
  to.active_keys = from.getActiveKeys();
  to.more = from.getMore();
  for (auto share : from.getKeys())
    to.keys.push_back(
      {string_of(share.getKey()),
       share.getWeight(),
       share.getReady(),
       share.getSharePpm(),
       time_of(share.getExpectedRunMs()),
       time_of(share.getWaitMs())});
}

limit_wait read_held(schema::QueueReply::Held::Reader from) {
  limit_wait wait;
  wait.limit = read_text(from.getLimit());
  wait.at.key = string_of(from.getKey());
  wait.at.held = from.getTasks();
  wait.at.leased = from.getLeased();
  if (from.getHasNextStart())
    wait.at.next_start = timestamp{duration{from.getNextStartMs()}};
  wait.at.closed_until = timestamp{duration{from.getClosedUntilMs()}};
  return wait;
}

result<void> fill_waits(schema::QueueReply::Waits::Reader from, queue_explanation& to) {
  for (auto count : from.getReasons()) {
    auto reason = task_reason::next;
    if (auto ok = take_known("reason", count.getReason(), reason); !ok)
      return ok;
    to.waiting[reason] += count.getTasks();
  }
  to.leased = from.getLeased();
  to.workers = from.getWorkers();
  to.blocking = from.getBlocking();
  for (auto limit : from.getLimits())
    to.limits.push_back(read_held(limit));
  for (auto key : from.getKeys())
    to.keys.push_back(read_held(key));
  to.has_all_keys = !from.getPartialKeys();
  to.starts_per_minute = from.getStartsPerMinute();
  to.limits_need = time_of(from.getLimitsNeedMs());
  to.max_leased_need = time_of(from.getMaxLeasedNeedMs());
  return {};
}

limit_info read_limit(schema::LimitReply::Limit::Reader from) {
  limit_info info;
  info.limit.name = read_text(from.getName());
  info.definition = encoding::read_rule(from.getRule());
  info.leased = from.getLeased();
  info.held = from.getHeld();
  info.keys = from.getKeys();
  info.keys_above = from.getKeysAbove();
  return info;
}

limit_key_info read_limit_key(schema::LimitReply::Key::Reader from) {
  limit_key_info info;
  info.key = string_of(from.getKey());
  info.leased = from.getLeased();
  info.held = from.getHeld();
  if (from.getHasNextStart())
    info.next_start = timestamp{duration{from.getNextStartMs()}};
  info.closed_until = timestamp{duration{from.getClosedUntilMs()}};
  return info;
}

result<void> fill_event(schema::EventsReply::Event::Reader from, task_event& to) {
  if (auto ok = take_known("kind of event", from.getKind(), to.what); !ok)
    return ok;
  if (auto ok = take_known("author of an event", from.getBy(), to.by); !ok)
    return ok;
  auto state = read_state(from.getState());
  if (!state)
    return state.error();
  to.at = timestamp{duration{from.getAtMs()}};
  to.state = *state;
  to.until = timestamp{duration{from.getUntilMs()}};
  to.attempt = from.getAttempt();
  to.token = fencing_token{from.getToken()};
  to.worker = read_text(from.getWorker());
  to.text = string_of(from.getText());
  to.subject = read_text(from.getSubject());
  return {};
}

schedule_time read_time(schema::ScheduleTime::Reader from) {
  return {
    read_text(from.getNominal()),
    timestamp{duration{from.getAtMs()}},
    read_text(from.getLocal())};
}

result<void>
fill_occurrence(schema::ScheduleOccurrence::Reader from, schedule_occurrence& to) {
  to.number = from.getNumber();
  to.when = read_time(from.getWhen());
  to.decided_at = timestamp{duration{from.getDecidedAtMs()}};
  to.count = from.getCount();
  if (from.getTask().getSeq() != 0)
    to.task = read_id(from.getTask());
  if (from.getEndedAtMs() != 0)
    to.ended_at = timestamp{duration{from.getEndedAtMs()}};
  if (auto ok = take_known("cause of an occurrence", from.getCause(), to.cause); !ok)
    return ok;
  return take_known("state of an occurrence", from.getState(), to.state);
}

result<void> fill_schedule(schema::ScheduleReply::View::Reader from, schedule_info& to) {
  auto spec = protocol::read_spec(from.getSpec());
  if (!spec)
    return spec.error();
  to.spec = std::move(*spec);
  to.name = {to.spec.task.tenant, read_text(from.getName())};
  to.paused = from.getPaused();
  for (auto time : from.getNext())
    to.next.push_back(read_time(time));
  if (from.hasLatest())
    if (auto ok = fill_occurrence(from.getLatest(), to.latest.emplace()); !ok)
      return ok;
  to.running = from.getRunning();
  to.has_waiting = from.getHasWaiting();
  to.occurrences = from.getOccurrences();
  return {};
}

result<void> fill_command(schema::AuditReply::Command::Reader from, audited_command& to) {
  if (auto ok = take_known("operator's command", from.getAction(), to.action); !ok)
    return ok;
  to.at = timestamp{duration{from.getAtMs()}};
  to.operation = from.getOperation();
  to.tenant = read_text(from.getTenant());
  to.queue = read_text(from.getQueue());
  if (from.getTask() != 0)
    to.task = task_id{static_cast<shard_id>(from.getShard()), from.getTask()};
  to.changed = from.getChanged();
  to.subject = read_text(from.getSubject());
  to.bearer_tenant = read_text(from.getBearerTenant());
  to.remote = read_text(from.getRemote());
  to.detail = read_text(from.getDetail());
  return {};
}

result<void> fill_timeline(schema::EventsReply::Reader from, task_timeline& to) {
  for (auto event : from.getEvents())
    if (auto ok = fill_event(event, to.events.emplace_back()); !ok)
      return ok;
  auto state = read_state(from.getState());
  if (!state)
    return state.error();
  to.dropped = from.getDropped();
  to.state = *state;
  to.until = timestamp{duration{from.getUntilMs()}};
  return {};
}

queue_stats read_counts(schema::StatsReply::QueueStats::Reader from) {
  queue_stats stats;
  stats.queue = encoding::read_queue(from.getQueue());
  stats.scheduled = from.getScheduled();
  stats.gated = from.getGated();
  stats.ready = from.getReady();
  stats.leased = from.getLeased();
  stats.completed = from.getCompleted();
  stats.dead = from.getDead();
  stats.lost = from.getLost();
  stats.dead_now = from.getDeadNow();
  stats.cancelled = from.getCancelled();
  stats.paused = from.getPaused();
  stats.oldest_ready = duration{static_cast<duration::rep>(from.getOldestReadyMs())};
  stats.max_depth = from.getMaxDepth();
  stats.max_leased = from.getMaxLeased();
  stats.held = from.getHeld();
  for (auto one : from.getReadyByPriority())
    if (one.getPriority() < stats.ready_by_priority.size())
      stats.ready_by_priority[one.getPriority()] = one.getTasks();
  return stats;
}

worker_info read_worker(schema::WorkersReply::Worker::Reader from) {
  worker_info worker;
  worker.name = read_text(from.getName());
  worker.is_connected = from.getConnected();
  worker.free_slots = from.getFreeSlots();
  worker.leases = from.getLeases();
  for (auto queue : from.getQueues())
    worker.queues.push_back(encoding::read_queue(queue));
  worker.queue_count = from.getQueueCount();
  worker.is_draining = from.getDraining();
  for (auto lease : from.getRunning())
    worker.running.push_back(
      {read_id(lease.getTask()),
       encoding::read_queue(lease.getQueue()),
       timestamp{duration{lease.getGrantedAtMs()}},
       duration{static_cast<duration::rep>(lease.getLeaseLeftMs())},
       lease.getWaits()});
  return worker;
}

} // namespace

result<answered<task_status>> read_status(const protocol::status_reply& reply) {
  return read_reply<task_status>(reply, [](auto from, task_status& to) -> result<void> {
    if (auto ok = read_common(from, to); !ok)
      return ok;
    to.id = read_id(from.getTask());
    put_text(to, string_of(from.getText()));
    if (from.getHasProgress())
      to.progress = task_progress{
        to.id, to.attempt, from.getProgressPercent(), string_of(from.getProgressNote())};
    return {};
  });
}

result<answered<change_outcome>> read_change(const protocol::change_reply& reply) {
  return read_reply<change_outcome>(reply, [](auto from, change_outcome& to) -> result<void> {
    if (auto ok = take_known("result of a change", from.getResult(), to.what); !ok)
      return ok;
    auto state = read_state(from.getState());
    if (!state)
      return state.error();
    to.state = *state;
    to.id = read_id(from.getTask());
    return {};
  });
}

result<answered<queue_part>> read_queue(const protocol::queue_reply& reply) {
  return read_reply<queue_part>(reply, [](auto from, queue_part& to) -> result<void> {
    auto settings = from.getSettings();
    to.settings = {
      encoding::read_config(settings),
      settings.getPaused(),
      read_text(settings.getPauseReason())};
    to.is_known = !from.getIsUnknown();
    if (from.hasFairness())
      fill_fairness(from.getFairness(), to.fairness);
    if (!from.hasWaits())
      return {};
    to.explanation.exists = to.is_known;
    return fill_waits(from.getWaits(), to.explanation);
  });
}

result<answered<bulk_part>> read_bulk(const protocol::bulk_reply& reply) {
  return read_reply<bulk_part>(reply, [](auto from, bulk_part& to) -> result<void> {
    to = {from.getChanged(), from.getAfter(), from.getMore()};
    return {};
  });
}

result<answered<list_part>> read_list(const protocol::list_reply& reply) {
  return read_reply<list_part>(reply, [](auto from, list_part& to) -> result<void> {
    for (auto view : from.getTasks()) {
      auto& status = to.tasks.emplace_back();
      status.id.seq = view.getSeq();
      if (auto ok = read_common(view, status); !ok)
        return ok;
      if (view.getEndedAtMs() != 0)
        status.ended_at = timestamp{duration{view.getEndedAtMs()}};
      status.error_text = string_of(view.getError());
    }
    to.after = from.getAfter();
    to.more = from.getMore();
    to.knows_all_filters = from.getKnowsAllFilters();
    return {};
  });
}

result<answered<task_explanation>> read_explain(const protocol::explain_reply& reply) {
  return read_reply<task_explanation>(reply, fill_explanation);
}

result<answered<task_timeline>> read_events(const protocol::events_reply& reply) {
  return read_reply<task_timeline>(reply, fill_timeline);
}

result<answered<schedules_part>> read_schedules(const protocol::schedule_reply& reply) {
  return read_reply<schedules_part>(reply, [](auto from, schedules_part& to) -> result<void> {
    for (auto view : from.getSchedules())
      if (auto ok = fill_schedule(view, to.schedules.emplace_back()); !ok)
        return ok;
    for (auto entry : from.getHistory())
      if (auto ok = fill_occurrence(entry, to.history.emplace_back()); !ok)
        return ok;
    to.more = from.getMore();
    return take_known("result of a schedule's request", from.getResult(), to.what);
  });
}

result<answered<limits_part>> read_limits(const protocol::limit_reply& reply) {
  return read_reply<limits_part>(reply, [](auto from, limits_part& to) -> result<void> {
    for (auto limit : from.getLimits())
      to.limits.push_back(read_limit(limit));
    for (auto key : from.getKeys())
      to.keys.push_back(read_limit_key(key));
    to.more = from.getMore();
    for (auto one : from.getWaiting()) {
      auto& read = to.waiting.emplace_back(
        core::limit_key_forecast{string_of(one.getKey()), one.getTasks(), {}});
      if (one.getHasRoom())
        read.room = one.getRoom();
    }
    to.has_all_waiting = from.getAllWaiting();
    to.is_out_of_keys = from.getOutOfKeys();
    return {};
  });
}

result<answered<backup_status>> read_backup(const protocol::backup_reply& reply) {
  return read_reply<backup_status>(reply, [](auto from, backup_status& to) -> result<void> {
    to.number = from.getBackup();
    to.bytes = from.getBytes();
    to.files = from.getFiles();
    to.problem = read_text(from.getProblem());
    to.is_fixed = from.getIsFixed();
    to.hold = from.getHold();
    to.node = read_text(from.getNode());
    return take_known("state of a backup", from.getState(), to.state);
  });
}

result<answered<std::vector<backup_status>>>
read_backup_of_one(const protocol::backup_reply& reply) {
  auto told = read_backup(reply);
  if (!told)
    return told.error();
  if (!told->answer)
    return answered<std::vector<backup_status>>{told->answer.error()};
  return answered<std::vector<backup_status>>{std::vector{std::move(*told->answer)}};
}

void add(std::vector<backup_status>& to, std::vector<backup_status> part) {
  std::move(part.begin(), part.end(), std::back_inserter(to));
  std::sort(to.begin(), to.end(), [](const backup_status& a, const backup_status& b) {
    return a.node < b.node;
  });
}

result<answered<std::string>> read_log_level(const protocol::log_level_reply& reply) {
  return read_reply<std::string>(reply, [](auto from, std::string& to) -> result<void> {
    to = read_text(from.getLevel());
    return {};
  });
}

result<answered<audit_part>> read_audit(const protocol::audit_reply& reply) {
  return read_reply<audit_part>(reply, [](auto from, audit_part& to) -> result<void> {
    for (auto command : from.getCommands())
      if (auto ok = fill_command(command, to.commands.emplace_back()); !ok)
        return ok;
    if (from.getMore())
      to.after = audit_place{timestamp{duration{from.getAfterMs()}}, from.getAfterOperation()};
    to.is_of_shard = from.getOfShard();
    return {};
  });
}

result<answered<std::vector<backup_info>>> read_backups(const protocol::backup_reply& reply) {
  return read_reply<std::vector<backup_info>>(
    reply, [](auto from, std::vector<backup_info>& to) -> result<void> {
      for (auto backup : from.getBackups())
        to.push_back(
          {backup.getNumber(),
           timestamp{duration{backup.getAtMs()}},
           backup.getBytes(),
           backup.getFiles()});
      return {};
    });
}

result<answered<std::vector<worker_info>>> read_workers(const protocol::workers_reply& reply) {
  return read_reply<std::vector<worker_info>>(
    reply, [](auto from, std::vector<worker_info>& to) -> result<void> {
      for (auto worker : from.getWorkers())
        to.push_back(read_worker(worker));
      return {};
    });
}

result<answered<coordinator_stats>> read_stats(const protocol::stats_reply& reply) {
  return read_reply<coordinator_stats>(reply, [](auto from, coordinator_stats& to) -> result<void> {
    for (auto queue : from.getQueues())
      to.queues.push_back(read_counts(queue));
    for (auto gauge : from.getGauges())
      to.gauges[read_text(gauge.getName())] = gauge.getValue();
    to.shards = from.getShards();
    to.are_shards_known = from.getTellsShards();
    return {};
  });
}

} // namespace codeq::client
