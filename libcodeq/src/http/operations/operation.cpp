// SPDX-License-Identifier: Apache-2.0
#include "http/operations/operation.hpp"

#include "base/rfc3339.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/json_reader.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace codeq::http {

namespace {

std::int64_t ms_of(timestamp at) {
  return at.time_since_epoch().count();
}

template <class Enum, std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

/// Tasks as text: `SEQ/TOKEN` behind each other, so that a part stays small.
std::string to_text(const std::vector<core::dead_task>& tasks) {
  std::string text;
  for (const auto& task : tasks)
    text += std::to_string(task.seq) + "/" + std::to_string(value(task.token)) + " ";
  return text;
}

/// Reads numbers from a text, each behind the separator that follows the one before.
class number_reader {
public:
  explicit number_reader(std::string text) : text_(std::move(text)), rest_(text_) {}

  [[nodiscard]] bool is_over() const { return rest_.empty() || !ok_; }

  [[nodiscard]] bool ok() const { return ok_; }

  std::uint64_t read(char separator) {
    std::uint64_t number = 0;
    auto [stop, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    auto length = static_cast<std::size_t>(stop - rest_.data());
    ok_ = ok_ && failure == std::errc{} && length < rest_.size() && rest_[length] == separator;
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    return number;
  }

private:
  std::string text_;
  std::string_view rest_;
  bool ok_ = true;
};

bool read_tasks(std::string text, std::vector<core::dead_task>& to) {
  number_reader numbers(std::move(text));
  while (!numbers.is_over()) {
    auto seq = numbers.read('/');
    to.push_back({seq, fencing_token{numbers.read(' ')}});
  }
  return numbers.ok();
}

std::string to_text(const std::vector<canary_task>& tasks) {
  std::string text;
  for (const auto& one : tasks)
    text += std::to_string(one.shard) + ":" + std::to_string(one.task.seq) + "/"
            + std::to_string(value(one.task.token)) + " ";
  return text;
}

bool read_canary(std::string text, std::vector<canary_task>& to) {
  number_reader numbers(std::move(text));
  while (!numbers.is_over()) {
    canary_task one;
    one.shard = static_cast<std::uint16_t>(numbers.read(':'));
    one.task.seq = numbers.read('/');
    one.task.token = fencing_token{numbers.read(' ')};
    to.push_back(one);
  }
  return numbers.ok();
}

void write_filter(base::json_writer& json, const task_filter& filter) {
  json.begin_object("filter").field("queue", filter.queue);
  if (filter.state)
    json.field("state", to_string(*filter.state));
  json.field("group", filter.group).field("key", filter.key).field("error", filter.error);
  json.begin_array("workers");
  for (const auto& worker : filter.workers)
    json.text(worker);
  json.end_array().begin_object("headers");
  for (const auto& [name, value] : filter.headers)
    json.field(name, value);
  json.end_object()
    .field("enqueuedSinceMs", ms_of(filter.enqueued.since))
    .field("enqueuedUntilMs", ms_of(filter.enqueued.until))
    .field("endedSinceMs", ms_of(filter.ended.since))
    .field("endedUntilMs", ms_of(filter.ended.until))
    .end_object();
}

timestamp time_in(json_object& json, std::string_view name) {
  return timestamp{duration{json.integer(name).value_or(0)}};
}

std::uint64_t count_in(json_object& json, std::string_view name) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(json.integer(name).value_or(0), 0));
}

constexpr auto states = std::to_array<task_state>(
  {task_state::scheduled,
   task_state::gated,
   task_state::ready,
   task_state::leased,
   task_state::completed,
   task_state::dead,
   task_state::cancelled});

bool read_filter(json_object& json, task_filter& filter) {
  filter.queue = json.text("queue");
  filter.group = json.text("group");
  filter.key = json.text("key");
  filter.error = json.text("error");
  filter.workers = json.texts("workers");
  if (auto headers = json.object("headers"))
    for (const auto& name : headers->names())
      filter.headers.emplace(name, headers->text(name));
  filter.enqueued = {time_in(json, "enqueuedSinceMs"), time_in(json, "enqueuedUntilMs")};
  filter.ended = {time_in(json, "endedSinceMs"), time_in(json, "endedUntilMs")};
  if (!json.has("state"))
    return json.ok();
  auto is_named = [name = json.text("state")](task_state one) { return to_string(one) == name; };
  auto state = std::find_if(states.begin(), states.end(), is_named);
  if (state == states.end())
    return false;
  filter.state = *state;
  return json.ok();
}

template <class Enum, std::size_t N>
bool read_choice(
  json_object& json,
  std::string_view name,
  const std::array<std::string_view, N>& names,
  Enum& to) {
  auto found = std::find(names.begin(), names.end(), json.text(name));
  to = static_cast<Enum>(found - names.begin());
  return found != names.end();
}

void write_events(base::json_writer& json, const std::vector<operation_event>& events) {
  json.begin_array("events");
  for (const auto& event : events)
    json.begin_object()
      .field("atMs", ms_of(event.at))
      .field("what", event.what)
      .field("subject", event.subject)
      .field("remote", event.remote)
      .end_object();
  json.end_array();
}

bool read_events(json_object& json, std::vector<operation_event>& to) {
  for (auto raw : json.elements("events")) {
    auto event = json_object::parse(raw);
    if (!event)
      return false;
    to.push_back(
      {time_in(*event, "atMs"),
       event->text("what"),
       event->text("subject"),
       event->text("remote")});
    if (!event->ok())
      return false;
  }
  return json.ok();
}

/// The fields that a record and its view for users name and write alike.
void write_counts(base::json_writer& json, const bulk_operation& o) {
  json.field("id", o.id)
    .field("kind", name_of(operation_kinds, o.request.kind))
    .field("status", name_of(operation_statuses, o.status))
    .field("phase", name_of(operation_phases, o.phase))
    .field("reason", o.reason)
    .field("rate", o.request.rate)
    .field("limit", o.request.limit)
    .field("done", o.done)
    .field("unchanged", o.unchanged);
  if (o.total)
    json.field("total", *o.total);
}

void write_time(base::json_writer& json, std::string_view name, timestamp at) {
  if (at != timestamp{})
    json.field(name, base::to_rfc3339(at));
}

/// The filter in the words of the list routes.
void write_filter_view(base::json_writer& json, const bulk_operation& o) {
  const auto& filter = o.request.filter;
  json.begin_object("filter");
  auto add = [&json](std::string_view name, const std::string& text) {
    if (!text.empty())
      json.field(name, text);
  };
  add("queue", filter.queue);
  if (filter.state)
    json.field("state", to_string(*filter.state));
  add("group", filter.group);
  add("key", filter.key);
  if (!filter.workers.empty())
    json.field("worker", filter.workers.front());
  add("error", filter.error);
  if (!filter.headers.empty()) {
    json.begin_object("headers");
    for (const auto& [name, value] : filter.headers)
      json.field(name, value);
    json.end_object();
  }
  write_time(json, "since", filter.enqueued.since);
  write_time(json, "until", filter.enqueued.until);
  write_time(json, "diedSince", filter.ended.since);
  write_time(json, "diedUntil", filter.ended.until);
  json.end_object();
}

void write_canary_view(base::json_writer& json, const bulk_operation& o) {
  if (!o.request.canary)
    return;
  json.begin_object("canary")
    .field("maxFailedPercent", *o.request.canary)
    .field("ran", o.canary_ran)
    .field("failed", o.canary_failed)
    .field("waiting", o.canary.size())
    .end_object();
}

} // namespace

std::vector<std::string> find_outdated(std::vector<ended_operation> ended, timestamp now) {
  std::sort(ended.begin(), ended.end(), [](const ended_operation& a, const ended_operation& b) {
    return std::pair(a.ended_at, a.id) < std::pair(b.ended_at, b.id);
  });
  std::map<std::string, std::size_t> kept;
  for (const auto& one : ended)
    ++kept[one.tenant];
  auto left = ended.size();
  std::vector<std::string> outdated;
  for (const auto& one : ended) {
    auto& of_tenant = kept[one.tenant];
    bool is_kept = one.ended_at >= now - limits::operation_kept_for
                   && of_tenant <= limits::operations_kept_max
                   && left <= limits::operations_kept_of_all_max;
    if (is_kept)
      continue;
    outdated.push_back(one.id);
    --of_tenant;
    --left;
  }
  return outdated;
}

std::string to_record(const bulk_operation& o) {
  base::json_writer json;
  json.begin_object().field("tenant", o.request.tenant);
  write_counts(json, o);
  write_filter(json, o.request.filter);
  if (o.request.canary)
    json.field("canary", *o.request.canary);
  json.field("startedAtMs", ms_of(o.started_at))
    .field("number", std::to_string(o.number))
    .field("subject", o.by.subject)
    .field("bearerTenant", o.by.bearer_tenant)
    .field("remote", o.by.remote)
    .field("isListed", o.by.is_listed)
    .field("endedAtMs", ms_of(o.ended_at))
    .field("shard", o.shard)
    .field("after", o.after)
    .field("part", to_text(o.part))
    .field("partAfter", o.part_after)
    .field("partHasMore", o.part_has_more)
    .field("canaryTasks", to_text(o.canary))
    .field("canaryRan", o.canary_ran)
    .field("canaryFailed", o.canary_failed);
  write_events(json, o.events);
  json.end_object();
  return json.take();
}

error unknown_operation(const std::string& tenant, const std::string& id) {
  return {
    errc::unknown_task,
    "operation not found: tenant " + quote(tenant) + " has no operation " + quote(id)
      + "; GET /v1/codeq/admin/operations lists them"};
}

result<bulk_operation> read_operation(std::string_view record) {
  const error unreadable{errc::corruption, "the record of an operation cannot be read"};
  auto json = json_object::parse(record);
  auto filter = json ? json->object("filter") : std::nullopt;
  if (!filter)
    return unreadable;
  bulk_operation o;
  o.id = json->text("id");
  o.request.tenant = json->text("tenant");
  bool ok = read_choice(*json, "kind", operation_kinds, o.request.kind)
            && read_choice(*json, "status", operation_statuses, o.status)
            && read_choice(*json, "phase", operation_phases, o.phase)
            && read_filter(*filter, o.request.filter) && read_events(*json, o.events)
            && read_tasks(json->text("part"), o.part)
            && read_canary(json->text("canaryTasks"), o.canary);
  o.request.filter.tenant = o.request.tenant;
  o.request.rate = count_in(*json, "rate");
  o.request.limit = count_in(*json, "limit");
  if (json->has("canary"))
    o.request.canary = static_cast<std::uint32_t>(count_in(*json, "canary"));
  if (json->has("total"))
    o.total = count_in(*json, "total");
  o.reason = json->text("reason");
  o.done = count_in(*json, "done");
  o.unchanged = count_in(*json, "unchanged");
  o.started_at = time_in(*json, "startedAtMs");
  // It uses all 64 bits.
  number_reader number(json->text("number") + ' ');
  o.number = number.read(' ');
  o.by = {
    json->text("subject"),
    json->text("bearerTenant"),
    json->text("remote"),
    json->flag("isListed").value_or(false)};
  o.ended_at = time_in(*json, "endedAtMs");
  o.shard = static_cast<std::uint16_t>(count_in(*json, "shard"));
  o.after = count_in(*json, "after");
  o.part_after = count_in(*json, "partAfter");
  o.part_has_more = json->flag("partHasMore").value_or(false);
  o.canary_ran = count_in(*json, "canaryRan");
  o.canary_failed = count_in(*json, "canaryFailed");
  if (!ok || !number.ok() || !json->ok() || o.id.empty())
    return unreadable;
  return o;
}

void write_operation(
  base::json_writer& json,
  const bulk_operation& o,
  std::uint16_t shards,
  std::string_view problem) {
  write_counts(json, o);
  write_filter_view(json, o);
  write_canary_view(json, o);
  json.field("matched", o.done + o.unchanged)
    .field("subject", o.by.subject)
    .field("shard", o.shard)
    .field("shards", shards)
    .field("problem", problem);
  write_time(json, "startedAt", o.started_at);
  write_time(json, "endedAt", o.ended_at);
  json.begin_array("events");
  for (const auto& event : o.events) {
    json.begin_object();
    write_time(json, "at", event.at);
    json.field("what", event.what)
      .field("subject", event.subject)
      .field("remote", event.remote)
      .end_object();
  }
  json.end_array();
}

} // namespace codeq::http
