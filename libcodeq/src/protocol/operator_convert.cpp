// SPDX-License-Identifier: Apache-2.0
#include "protocol/operator_convert.hpp"

#include "codeq/limits.hpp"

#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/shared_data.hpp"
#include "task.capnp.h"

#include <memory>

namespace codeq::protocol {

namespace {

using key_ptr = std::shared_ptr<const core::key_name>;

error unknown_kind(const char* what, unsigned found) {
  return {
    errc::unsupported,
    std::string(what) + " " + std::to_string(found) + " is not known to this coordinator"};
}

/// The key that names a task; null when its sequence does.
template <class Request>
result<key_ptr> read_key(Request request, shard_place place) {
  if (!request.hasKey())
    return key_ptr{};
  auto from = request.getKey();
  auto name = std::make_shared<core::key_name>();
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
  switch (from.getChange()) {
  case schema::TaskChange::CANCEL:
    return change_command{core::cancel{by.peer, number, seq, std::move(*key)}};
  case schema::TaskChange::PROMOTE:
    return change_command{core::promote{by.peer, number, seq, std::move(*key)}};
  case schema::TaskChange::REDRIVE:
    if (*key)
      return needs_id("redrive");
    return change_command{core::redrive{by.peer, number, seq}};
  case schema::TaskChange::PURGE:
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
  switch (from.getHow()) {
  case schema::ForceKind::REVOKE:
    c.how = core::force::kind::revoke;
    ok = check_size("text of a revoke", size, 0);
    break;
  case schema::ForceKind::COMPLETE:
    c.how = core::force::kind::complete;
    ok = check_size("result", size, limits::result_bytes_max);
    break;
  case schema::ForceKind::FAIL:
    c.how = core::force::kind::fail;
    ok = check_size("error text", size, limits::error_text_bytes_max);
    break;
  default:
    return unknown_kind("force", static_cast<unsigned>(from.getHow()));
  }
  if (!ok)
    return ok.error();
  c.text = bytes::from(string_of(from.getText()));
  return c;
}

result<core::configure_queue>
read_configure(schema::QueueSettings::Reader from, core::configure_queue c) {
  c.settings.defaults = encoding::read_settings(from.getDefaults());
  if (auto ok = check_settings(c.settings.defaults, 0); !ok)
    return ok.error();
  c.settings.max_depth = from.getMaxDepth();
  c.settings.max_leased = from.getMaxLeased();
  c.settings.keep_payload = from.getKeepPayload();
  return c;
}

result<queue_command> read_queue_request(schema::QueueRequest::Reader from, asked_at by) {
  auto queue = encoding::read_queue(from.getQueue());
  if (auto ok = check_queue(queue); !ok)
    return ok.error();
  auto number = from.getNumber();
  switch (from.which()) {
  case schema::QueueRequest::SHOW:
    return queue_command{core::show_queue{by.peer, number, queue}};
  case schema::QueueRequest::SET: {
    auto c = read_configure(from.getSet(), {by.peer, number, queue, {}});
    if (!c)
      return c.error();
    return queue_command{std::move(*c)};
  }
  case schema::QueueRequest::PAUSE:
    return queue_command{core::pause_queue{by.peer, number, queue, true}};
  case schema::QueueRequest::RESUME:
    return queue_command{core::pause_queue{by.peer, number, queue, false}};
  }
  return unknown_kind("queue request", static_cast<unsigned>(from.which()));
}

result<core::task_filter> read_filter(schema::TaskFilter::Reader from) {
  core::task_filter filter;
  filter.tenant = encoding::read_text(from.getTenant());
  filter.queue = encoding::read_text(from.getQueue());
  if (auto ok = check_name("tenant", filter.tenant); !ok)
    return ok.error();
  if (!filter.queue.empty())
    if (auto ok = check_name("queue", filter.queue); !ok)
      return ok.error();
  if (auto ok = check_count("limit", from.getLimit(), 1, limits::bulk_tasks_max); !ok)
    return ok.error();
  filter.limit = from.getLimit();
  filter.after = from.getAfter();
  filter.below = from.getBelow();
  filter.is_blocking = from.getBlocking();
  filter.newest_first = from.getNewestFirst();
  if (from.isAnyState())
    return filter;
  if (!from.isState() || from.getState() > schema::TaskState::CANCELLED)
    return unknown_kind("a filter's state", from.isState() ? unsigned(from.getState()) : 0);
  filter.state = static_cast<task_state>(from.getState());
  return filter;
}

result<core::change_many> read_bulk(schema::BulkRequest::Reader from, asked_at by) {
  if (from.getWhat() > schema::BulkKind::PURGE_ALL)
    return unknown_kind("bulk change", static_cast<unsigned>(from.getWhat()));
  auto filter = read_filter(from.getFilter());
  if (!filter)
    return filter.error();
  if (filter->state)
    return out_of_range(
      "state", std::string(to_string(*filter->state)), "left out: the kind of change says it");
  if (filter->newest_first)
    return out_of_range("newest_first", "true", "false in a change of many tasks");
  auto what = static_cast<core::change_many::kind>(from.getWhat());
  return core::change_many{by.peer, from.getNumber(), what, std::move(*filter)};
}

} // namespace

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
    auto filter = read_filter(from.getFilter());
    if (!filter)
      return filter.error();
    return core::list_tasks{by.peer, from.getNumber(), std::move(*filter)};
  });
}

result<core::explain_task> to_command(const explain_request& message, asked_at by) {
  return message.read([&](auto from) -> result<core::explain_task> {
    return core::explain_task{by.peer, from.getNumber(), from.getTask().getSeq()};
  });
}

result<core::tell_history> to_command(const events_request& message, asked_at by) {
  return message.read([&](auto from) -> result<core::tell_history> {
    return core::tell_history{by.peer, from.getNumber(), from.getTask().getSeq()};
  });
}

} // namespace codeq::protocol
