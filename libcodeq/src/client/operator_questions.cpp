// SPDX-License-Identifier: Apache-2.0
#include "client/operator_questions.hpp"

#include "core/commands/routing.hpp"
#include "encoding/operator_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/messages.hpp"
#include "protocol/shared_data.hpp"

#include <algorithm>
#include <utility>

namespace codeq::client {

namespace {

using protocol::data_of;
using protocol::ms_of;
using protocol::text_of;

/// A request `S` whose number is set when it is sent.
template <class S, class Fill>
question ask(Fill fill, std::size_t words = 128) {
  return [fill = std::move(fill), words](std::uint64_t number) {
    auto build = [&](typename S::Builder request) {
      request.setNumber(number);
      fill(request);
    };
    return protocol::frame<S>::build(build, words).to_wire();
  };
}

void write_task(schema::TaskId::Builder to, task_id task) {
  to.setShard(value(task.shard));
  to.setSeq(task.seq);
}

template <class Request>
void write_address(Request to, const task_address& task) {
  write_task(to.initTask(), task.task);
  if (!task.key)
    return;
  auto key = to.initKey();
  encoding::write_queue(key.initQueue(), task.key->queue);
  key.setGroup(data_of(task.key->group));
  key.setKey(data_of(task.key->key));
}

/// A request for a queue; `what` sets the member of the union.
template <class What>
question ask_queue(std::uint16_t shard, const queue_address& queue, What what) {
  return ask<schema::QueueRequest>([shard, queue, what](auto request) {
    request.setShard(shard);
    encoding::write_queue(request.initQueue(), queue);
    what(request);
  });
}

void write_weight_changes(schema::QueueRequest::Builder to, const weight_changes& weights) {
  encoding::write_weights(
    to.initWeightChanges(static_cast<capnp::uint>(weights.size())), weights);
}

void write_filter(
  schema::TaskFilter::Builder to, const queue_address& of, const walk_position& at) {
  to.setTenant(text_of(of.tenant));
  to.setQueue(text_of(of.queue));
  to.setAfter(at.after);
  to.setLimit(at.limit);
  to.setBelow(at.below);
  to.setNewestFirst(at.newest_first);
  to.setAnyState();
}

/// Writes the fields of a filter that only lists have.
void write_list_filter(schema::TaskFilter::Builder to, const task_filter& filter) {
  to.setBlocking(filter.is_blocking);
  if (filter.state)
    to.setState(encoding::to_schema(*filter.state));
  if (!filter.group.empty())
    to.setGroup(data_of(filter.group));
  if (!filter.key.empty())
    to.setKey(data_of(filter.key));
  if (!filter.error.empty())
    to.setError(text_of(filter.error));
  auto workers = to.initWorkers(static_cast<capnp::uint>(filter.workers.size()));
  for (capnp::uint i = 0; i < workers.size(); ++i)
    workers.set(i, text_of(filter.workers[i]));
  auto headers = to.initHeaders(static_cast<capnp::uint>(filter.headers.size()));
  capnp::uint i = 0;
  for (const auto& [name, value] : filter.headers) {
    headers[i].setName(text_of(name));
    headers[i++].setValue(text_of(value));
  }
  to.setEnqueuedSinceMs(ms_of(filter.enqueued.since));
  to.setEnqueuedUntilMs(ms_of(filter.enqueued.until));
  to.setEndedSinceMs(ms_of(filter.ended.since));
  to.setEndedUntilMs(ms_of(filter.ended.until));
}

} // namespace

task_address address_of(const task_key& key, std::uint16_t shard_count) {
  const auto& name = key.group.empty() ? key.key : key.group;
  return {{core::shard_of_name(key.queue, name, shard_count), 0}, key};
}

question ask_status(const task_address& task, bool with_body) {
  return ask<schema::StatusRequest>([task, with_body](auto request) {
    write_address(request, task);
    request.setWithBody(with_body);
  });
}

question ask_change(const task_address& task, task_change what) {
  return ask<schema::ChangeRequest>([task, what](auto request) {
    write_address(request, task);
    request.setChange(encoding::to_schema(what));
  });
}

question ask_force(task_id task, force_kind how, const std::string& text) {
  auto fill = [task, how, text](auto request) {
    write_task(request.initTask(), task);
    request.setHow(encoding::to_schema(how));
    request.setText(data_of(text));
  };
  return ask<schema::ForceRequest>(fill, text.size() / 8 + 64);
}

question ask_explain(task_id task) {
  return ask<schema::ExplainRequest>([task](auto r) { write_task(r.initTask(), task); });
}

question ask_events(task_id task) {
  return ask<schema::EventsRequest>([task](auto r) { write_task(r.initTask(), task); });
}

question ask_stats() {
  return ask<schema::StatsRequest>([](auto) {});
}

question ask_audit(const audit_filter& filter, std::optional<std::uint16_t> of_shard) {
  return ask<schema::AuditRequest>([filter, of_shard](auto request) {
    request.setShard(of_shard.value_or(0));
    request.setOfShard(of_shard.has_value());
    request.setSinceMs(filter.since.time_since_epoch().count());
    if (filter.after) {
      request.setAfterMs(filter.after->at.time_since_epoch().count());
      request.setAfterOperation(filter.after->operation);
    }
    request.setLimit(static_cast<std::uint32_t>(filter.limit));
    request.setTenant(text_of(filter.tenant));
  });
}

question ask_workers() {
  return ask<schema::WorkersRequest>([](auto) {});
}

question ask_drain(const std::string& worker, bool is_drained) {
  return ask<schema::WorkersRequest>([worker, is_drained](auto request) {
    if (is_drained)
      request.setDrain(text_of(worker));
    else
      request.setResume(text_of(worker));
  });
}

question ask_backups() {
  return ask<schema::BackupRequest>([](auto r) { r.setList(true); });
}

question ask_backup(const backup_wish& wish) {
  return ask<schema::BackupRequest>([wish](auto r) {
    r.setStart(wish.starts);
    r.setRun(wish.run);
    r.setIsHold(wish.hold.has_value());
    r.setHoldMs(static_cast<std::uint32_t>(wish.hold.value_or(duration{0}).count()));
  });
}

question ask_log_level(const std::string& level) {
  return ask<schema::LogLevelRequest>([level](auto r) { r.setLevel(level); });
}

question show_queue(std::uint16_t shard, const queue_address& queue) {
  return ask_queue(shard, queue, [](auto request) { request.setShow(); });
}

question explain_queue(std::uint16_t shard, const queue_address& queue) {
  return ask_queue(shard, queue, [](auto request) { request.setExplain(); });
}

question show_fairness(
  std::uint16_t shard, const queue_address& queue, const core::fairness_part& part) {
  return ask_queue(shard, queue, [part](auto request) {
    auto to = request.initFairness();
    to.setAfter(data_of(part.after));
    to.setFromStart(part.from_start);
    to.setLimit(part.limit);
  });
}

question set_queue(
  std::uint16_t shard,
  const queue_address& queue,
  const queue_config& part,
  operation whole,
  const std::optional<weight_changes>& weights) {
  return ask_queue(shard, queue, [part, whole, weights](auto request) {
    request.setOperation(static_cast<std::uint64_t>(whole));
    encoding::write_config(request.initSet(), part);
    if (weights)
      write_weight_changes(request, *weights);
  });
}

question weigh_keys(
  std::uint16_t shard,
  const queue_address& queue,
  const weight_changes& weights,
  operation whole) {
  return ask_queue(shard, queue, [weights, whole](auto request) {
    request.setOperation(static_cast<std::uint64_t>(whole));
    request.setWeigh();
    write_weight_changes(request, weights);
  });
}

question
pause_queue(std::uint16_t shard, const queue_address& queue, bool paused, operation whole) {
  return ask_queue(shard, queue, [paused, whole](auto request) {
    request.setOperation(static_cast<std::uint64_t>(whole));
    if (paused)
      request.setPause();
    else
      request.setResume();
  });
}

question list_tasks(const task_filter& filter, const walk_position& at) {
  return ask<schema::ListRequest>([filter, at](auto request) {
    request.setShard(at.shard);
    auto to = request.initFilter();
    write_filter(to, {filter.tenant, filter.queue}, at);
    write_list_filter(to, filter);
  });
}

question change_many(
  core::bulk_kind what, const queue_address& of, const walk_position& at, operation whole) {
  return ask<schema::BulkRequest>([what, of, at, whole](auto request) {
    request.setOperation(static_cast<std::uint64_t>(whole));
    request.setShard(at.shard);
    request.setWhat(encoding::to_schema(what));
    write_filter(request.initFilter(), of, at);
  });
}

question change_listed(
  core::bulk_kind what,
  const queue_address& of,
  std::uint16_t shard,
  std::vector<core::dead_task> tasks,
  operation whole) {
  auto words = 128 + tasks.size() * 2;
  auto fill = [what, of, shard, tasks = std::move(tasks), whole](auto request) {
    request.setOperation(static_cast<std::uint64_t>(whole));
    request.setShard(shard);
    request.setWhat(encoding::to_schema(what));
    walk_position all;
    all.limit = static_cast<std::uint32_t>(std::max<std::size_t>(tasks.size(), 1));
    write_filter(request.initFilter(), of, all);
    auto list = request.initTasks(static_cast<capnp::uint>(tasks.size()));
    for (capnp::uint i = 0; i < list.size(); ++i) {
      list[i].setSeq(tasks[i].seq);
      list[i].setToken(value(tasks[i].token));
    }
  };
  return ask<schema::BulkRequest>(std::move(fill), words);
}

} // namespace codeq::client
