// SPDX-License-Identifier: Apache-2.0
#include "protocol/operator_convert.hpp"

#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "encoding/operator_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/shared_data.hpp"
#include "task.capnp.h"

#include <capnp/any.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::protocol {

namespace {

using key_ptr = std::shared_ptr<const task_key>;

error unknown_kind(const char* what, unsigned found) {
  return {
    errc::unsupported,
    std::string(what) + " " + std::to_string(found) + " is not known to this coordinator"};
}

/// The key that identifies a task; null when the sequence identifies it.
template <class Request>
result<key_ptr> read_key(Request request, shard_place place) {
  if (!request.hasKey())
    return key_ptr{};
  auto from = request.getKey();
  auto name = std::make_shared<task_key>();
  name->queue = encoding::read_queue(from.getQueue());
  if (auto ok = check_queue(name->queue); !ok)
    return ok.error();
  if (from.getKey().size() == 0)
    return out_of_range("key", "empty", "1 byte or more");
  if (auto ok = check_size("key", from.getKey().size(), limits::key_bytes_max); !ok)
    return ok.error();
  if (auto ok = check_size("group", from.getGroup().size(), limits::group_bytes_max); !ok)
    return ok.error();
  name->group = string_of(from.getGroup());
  name->key = string_of(from.getKey());
  if (auto ok = check_place(name->queue, name->group, name->key, place); !ok)
    return ok.error();
  return key_ptr{std::move(name)};
}

result<change_command> read_change(schema::ChangeRequest::Reader from, asked_at by) {
  auto key = read_key(from, by.place);
  if (!key)
    return key.error();
  auto number = from.getNumber();
  auto seq = from.getTask().getSeq();
  auto needs_id = [&](const char* what) {
    return error{errc::invalid_argument, std::string(what) + " takes a task's id, not its key"};
  };
  switch (encoding::from_schema<task_change>(from.getChange())) {
  case task_change::cancel:
    return change_command{core::cancel{by.peer, number, seq, std::move(*key)}};
  case task_change::promote:
    return change_command{core::promote{by.peer, number, seq, std::move(*key)}};
  case task_change::redrive:
    if (*key)
      return needs_id("redrive");
    return change_command{core::redrive{by.peer, number, seq}};
  case task_change::purge:
    if (*key)
      return needs_id("purge");
    return change_command{core::purge{by.peer, number, seq}};
  }
  return unknown_kind("change", static_cast<unsigned>(from.getChange()));
}

result<core::force> read_force(schema::ForceRequest::Reader from, asked_at by) {
  core::force c{by.peer, from.getNumber(), from.getTask().getSeq(), {}, {}};
  auto size = from.getText().size();
  result<void> ok;
  c.how = encoding::from_schema<force_kind>(from.getHow());
  switch (c.how) {
  case force_kind::revoke:
    ok = check_size("text of a revoke", size, 0);
    break;
  case force_kind::complete:
    ok = check_size("result", size, limits::result_bytes_max);
    break;
  case force_kind::fail:
    ok = check_size("error text", size, limits::error_text_bytes_max);
    break;
  default:
    return unknown_kind("force", static_cast<unsigned>(from.getHow()));
  }
  if (!ok)
    return ok.error();
  c.text = bytes(string_of(from.getText()));
  return c;
}

/// Reads weights of `least` or more, which are checked before they are copied.
result<weight_changes>
read_weights(capnp::List<schema::FairnessWeight>::Reader weights, std::uint64_t least) {
  if (auto ok = check_count(
        "the number of fairness_weights", weights.size(), 0, limits::fairness_weights_max);
      !ok)
    return ok.error();
  for (auto one : weights) {
    if (auto ok = check_size("a fairness key", one.getKey().size(), limits::fairness_key_bytes_max);
        !ok)
      return ok.error();
    if (auto ok =
          check_count("a fairness weight", one.getWeight(), least, limits::fairness_weight_max);
        !ok)
      return ok.error();
  }
  auto read = encoding::read_weights(weights);
  if (read.size() != weights.size())
    return error{errc::invalid_argument, "fairness_weights: a key is given twice"};
  return read;
}

/// True unless the sender is of a version that has no weights of fairness keys. Their pointer is
/// null for an empty list, too; the struct of such a version ends before it.
bool knows_weights(schema::QueueSettings::Reader from) {
  constexpr capnp::uint pointers_before_weights = 5;
  return capnp::AnyStruct::Reader(from).getPointerSection().size() > pointers_before_weights;
}

/// Reads how the weights of a queue change with `set`; nothing when those of the settings replace
/// them.
result<std::optional<weight_changes>> read_weight_changes(schema::QueueRequest::Reader from) {
  if (knows_weights(from.getSet()) && !from.hasWeightChanges())
    return std::optional<weight_changes>();
  auto changes = read_weights(from.getWeightChanges(), 0);
  if (!changes)
    return changes.error();
  return std::optional(std::move(*changes));
}

result<core::configure_queue>
read_configure(schema::QueueSettings::Reader from, core::configure_queue c) {
  // Checks these first, so that nothing too long is copied.
  if (auto ok =
        check_count("the number of limits", from.getLimits().size(), 0, limits::task_limits_max);
      !ok)
    return ok.error();
  auto header_bytes = from.getFairnessHeader().size();
  if (auto ok = check_size("fairness_header", header_bytes, limits::fairness_key_bytes_max); !ok)
    return ok.error();
  c.config = encoding::read_unweighted_config(from);
  if (!c.weights) {
    auto weights = read_weights(from.getFairnessWeights(), 1);
    if (!weights)
      return weights.error();
    c.config.fairness_weights = std::move(*weights);
  }
  if (auto ok = check_settings(c.config.defaults, 0); !ok)
    return ok.error();
  auto losses = c.config.quarantine_after;
  if (auto ok = check_count("quarantine_after", losses, 0, limits::quarantine_after_max); !ok)
    return ok.error();
  if (auto ok = check_queue_limits(c.config.limits); !ok)
    return ok.error();
  const auto& breaker = c.config.pause_when_failing;
  if (auto ok = check_count(
        "percent of pause_when_failing", breaker.percent, 0, limits::breaker_percent_max);
      !ok)
    return ok.error();
  if (auto ok = check_duration(
        "window of pause_when_failing",
        breaker.window,
        limits::breaker_window_min,
        limits::breaker_window_max);
      !ok)
    return ok.error();
  return c;
}

result<core::fairness_part> read_fairness_part(schema::QueueRequest::FairnessPart::Reader from) {
  auto after = from.getAfter();
  if (auto ok = check_size("after", after.size(), limits::fairness_key_bytes_max); !ok)
    return ok.error();
  if (auto ok = check_count("limit", from.getLimit(), 1, limits::fairness_page_max); !ok)
    return ok.error();
  return core::fairness_part{string_of(after), from.getLimit(), from.getFromStart()};
}

result<queue_command> read_queue_request(schema::QueueRequest::Reader from, asked_at by) {
  auto queue = encoding::read_queue(from.getQueue());
  if (auto ok = check_queue(queue); !ok)
    return ok.error();
  auto number = from.getNumber();
  switch (from.which()) {
  case schema::QueueRequest::SHOW:
    return queue_command{core::show_queue{by.peer, number, queue}};
  case schema::QueueRequest::FAIRNESS: {
    auto part = read_fairness_part(from.getFairness());
    if (!part)
      return part.error();
    // How its slots are used says how long keys wait.
    return queue_command{core::show_queue{by.peer, number, queue, std::move(*part), true}};
  }
  case schema::QueueRequest::EXPLAIN:
    return queue_command{core::show_queue{by.peer, number, queue, {}, true}};
  case schema::QueueRequest::SET: {
    auto weights = read_weight_changes(from);
    if (!weights)
      return weights.error();
    auto c = read_configure(from.getSet(), {by.peer, number, queue, {}, {}, std::move(*weights)});
    if (!c)
      return c.error();
    return queue_command{std::move(*c)};
  }
  case schema::QueueRequest::WEIGH: {
    auto weights = read_weights(from.getWeightChanges(), 0);
    if (!weights)
      return weights.error();
    return queue_command{core::weigh_keys{by.peer, number, queue, std::move(*weights)}};
  }
  case schema::QueueRequest::PAUSE:
    return queue_command{core::pause_queue{by.peer, number, queue, true}};
  case schema::QueueRequest::RESUME:
    return queue_command{core::pause_queue{by.peer, number, queue, false}};
  }
  return unknown_kind("queue request", static_cast<unsigned>(from.which()));
}

time_window read_window(std::int64_t since_ms, std::int64_t until_ms) {
  return {timestamp{duration{since_ms}}, timestamp{duration{until_ms}}};
}

/// Reads the fields of a filter that only lists have.
result<void> read_list_filter(schema::TaskFilter::Reader from, task_filter& to) {
  if (auto ok = check_size("group", from.getGroup().size(), limits::group_bytes_max); !ok)
    return ok;
  if (auto ok = check_size("key", from.getKey().size(), limits::key_bytes_max); !ok)
    return ok;
  if (auto ok = check_size("error", from.getError().size(), limits::error_text_bytes_max); !ok)
    return ok;
  auto workers = from.getWorkers();
  auto headers = from.getHeaders();
  if (auto ok = check_count("workers", workers.size(), 0, limits::filter_workers_max); !ok)
    return ok;
  if (auto ok = check_count("headers", headers.size(), 0, limits::filter_headers_max); !ok)
    return ok;
  to.group = string_of(from.getGroup());
  to.key = string_of(from.getKey());
  to.error = encoding::read_text(from.getError());
  for (auto worker : workers)
    to.workers.push_back(encoding::read_text(worker));
  std::size_t header_bytes = 0;
  for (auto header : headers) {
    auto name = encoding::read_text(header.getName());
    auto value = encoding::read_text(header.getValue());
    if (name.empty())
      return out_of_range("a header's name", "empty", "at least 1 byte");
    header_bytes += name.size() + value.size();
    to.headers[std::move(name)] = std::move(value);
  }
  to.enqueued = read_window(from.getEnqueuedSinceMs(), from.getEnqueuedUntilMs());
  to.ended = read_window(from.getEndedSinceMs(), from.getEndedUntilMs());
  return check_size("headers", header_bytes, limits::headers_bytes_max);
}

/// True when the filter has a field that only lists may have.
bool has_list_fields(schema::TaskFilter::Reader from) {
  return from.hasGroup() || from.hasKey() || from.hasWorkers() || from.hasHeaders()
         || from.hasError() || from.getEnqueuedSinceMs() != 0 || from.getEnqueuedUntilMs() != 0
         || from.getEndedSinceMs() != 0 || from.getEndedUntilMs() != 0;
}

result<std::vector<core::dead_task>>
read_dead_tasks(capnp::List<schema::DeadTask>::Reader from, bool is_of_list) {
  std::uint64_t least = is_of_list ? 1 : 0;
  std::uint64_t most = is_of_list ? tuning::bulk_tasks_max : 0;
  if (auto ok = check_count("tasks", from.size(), least, most); !ok)
    return ok.error();
  std::vector<core::dead_task> tasks;
  tasks.reserve(from.size());
  for (auto task : from) {
    if (!tasks.empty() && task.getSeq() <= tasks.back().seq)
      return out_of_range("tasks", "not in order", "in ascending order");
    tasks.push_back({task.getSeq(), fencing_token{task.getToken()}});
  }
  return tasks;
}

result<core::task_part> read_part(schema::TaskFilter::Reader from) {
  core::task_part part;
  auto& filter = part.filter;
  filter.tenant = encoding::read_text(from.getTenant());
  filter.queue = encoding::read_text(from.getQueue());
  if (auto ok = check_name("tenant", filter.tenant); !ok)
    return ok.error();
  if (!filter.queue.empty())
    if (auto ok = check_name("queue", filter.queue); !ok)
      return ok.error();
  if (auto ok = check_count("limit", from.getLimit(), 1, tuning::bulk_tasks_max); !ok)
    return ok.error();
  // Sequences are below that bound.
  constexpr std::uint64_t bound_max = std::numeric_limits<std::int64_t>::max();
  if (auto ok = check_count("after", from.getAfter(), 0, bound_max); !ok)
    return ok.error();
  if (auto ok = check_count("below", from.getBelow(), 0, bound_max); !ok)
    return ok.error();
  part.limit = from.getLimit();
  part.after = from.getAfter();
  part.below = from.getBelow();
  filter.is_blocking = from.getBlocking();
  part.newest_first = from.getNewestFirst();
  if (from.isAnyState())
    return part;
  if (!from.isState() || !encoding::is_known<task_state>(from.getState()))
    return unknown_kind("a filter's state", from.isState() ? unsigned(from.getState()) : 0);
  filter.state = encoding::from_schema<task_state>(from.getState());
  return part;
}

result<core::change_many> read_bulk(schema::BulkRequest::Reader from, asked_at by) {
  if (!encoding::is_known<core::bulk_kind>(from.getWhat()))
    return unknown_kind("bulk change", static_cast<unsigned>(from.getWhat()));
  auto part = read_part(from.getFilter());
  if (!part)
    return part.error();
  if (part->filter.state)
    return out_of_range(
      "state", std::string(to_string(*part->filter.state)), "left out: the kind of change says it");
  if (part->newest_first)
    return out_of_range("newest_first", "true", "false in a change of many tasks");
  if (has_list_fields(from.getFilter()))
    return error{
      errc::invalid_argument,
      "a change of many tasks takes tenant and queue; list the tasks first"};
  auto what = encoding::from_schema<core::bulk_kind>(from.getWhat());
  auto tasks = read_dead_tasks(from.getTasks(), core::is_of_list(what));
  if (!tasks)
    return tasks.error();
  return core::change_many{
    by.peer, from.getNumber(), what, std::move(*part), std::move(*tasks)};
}

} // namespace

result<workers_wish> read_workers_request(const workers_request& message) {
  return message.read([](auto from) -> result<workers_wish> {
    workers_wish wish{from.getNumber(), encoding::read_text(from.getDrain())};
    wish.is_drained = !wish.worker.empty();
    if (!wish.is_drained)
      wish.worker = encoding::read_text(from.getResume());
    return wish;
  });
}

result<core::describe_task> to_command(const status_request& message, asked_at by) {
  return message.read([&](auto from) -> result<core::describe_task> {
    auto key = read_key(from, by.place);
    if (!key)
      return key.error();
    return core::describe_task{
      by.peer, from.getNumber(), from.getTask().getSeq(), std::move(*key), from.getWithBody()};
  });
}

result<change_command> to_command(const change_request& message, asked_at by) {
  return message.read([&](auto from) { return read_change(from, by); });
}

result<core::force> to_command(const force_request& message, asked_at by) {
  return message.read([&](auto from) { return read_force(from, by); });
}

result<queue_command> to_command(const queue_request& message, asked_at by) {
  return message.read([&](auto from) { return read_queue_request(from, by); });
}

result<core::change_many> to_command(const bulk_request& message, asked_at by) {
  return message.read([&](auto from) { return read_bulk(from, by); });
}

result<core::list_tasks> to_command(const list_request& message, asked_at by) {
  return message.read([&](auto from) -> result<core::list_tasks> {
    auto part = read_part(from.getFilter());
    if (!part)
      return part.error();
    if (auto ok = read_list_filter(from.getFilter(), part->filter); !ok)
      return ok.error();
    return core::list_tasks{by.peer, from.getNumber(), std::move(*part)};
  });
}

result<core::explain_task> to_command(const explain_request& message, asked_at by) {
  return message.read([&](auto from) -> result<core::explain_task> {
    return core::explain_task{by.peer, from.getNumber(), from.getTask().getSeq()};
  });
}

result<core::tell_audit> to_command(const audit_request& message, asked_at by) {
  return message.read([&](auto from) -> result<core::tell_audit> {
    if (auto ok = check_count("limit", from.getLimit(), 1, limits::audited_max); !ok)
      return ok.error();
    core::tell_audit c{by.peer, from.getNumber(), {}, from.getOfShard()};
    c.filter.since = timestamp{duration{from.getSinceMs()}};
    c.filter.limit = from.getLimit();
    c.filter.tenant = encoding::read_text(from.getTenant());
    if (!c.filter.tenant.empty())
      if (auto ok = check_name("tenant", c.filter.tenant); !ok)
        return ok.error();
    if (from.getAfterMs() != 0)
      c.filter.after =
        audit_place{timestamp{duration{from.getAfterMs()}}, from.getAfterOperation()};
    return c;
  });
}

result<core::tell_history> to_command(const events_request& message, asked_at by) {
  return message.read([&](auto from) -> result<core::tell_history> {
    return core::tell_history{by.peer, from.getNumber(), from.getTask().getSeq()};
  });
}

} // namespace codeq::protocol
