// SPDX-License-Identifier: Apache-2.0
#include "ctl/http_answers.hpp"

#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "ctl/command_options.hpp"
#include "http/json/json_reader.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

/// How the value of a member is changed.
enum class value_change : std::uint8_t {
  /// Its members get other names, too.
  renamed,
  /// Stays as it is, since it is no answer but somebody's text.
  kept,
  dropped,
  /// The members of this object stand in its place.
  opened,
  /// A time, in milliseconds since 1970.
  time,
  /// Seconds, in milliseconds.
  seconds,
  /// A word with `-` in place of `_`.
  spelled,
  /// A JSON value, as a string.
  quoted,
  /// Names of queues, as objects.
  queues,
};

struct member_rule {
  std::string_view from;
  /// Empty: as `from`, in our spelling.
  std::string_view to{};
  value_change how = value_change::renamed;
};

/// Members without a rule only get our spelling.
constexpr member_rule common_rules[]{
  // Other names of `queue`, `state` and `key`, and what tells nothing.
  {"command", {}, value_change::dropped},
  {"status", {}, value_change::dropped},
  {"lastKnownLocation", {}, value_change::dropped},
  {"idempotencyKey", {}, value_change::dropped},
  {"updatedAt", {}, value_change::dropped},
  {"resultKey", {}, value_change::dropped},
  {"perSeconds", {}, value_change::dropped},
  // Texts of producers and workers.
  {"payload", {}, value_change::kept},
  {"headers", {}, value_change::kept},
  {"checkpoint", {}, value_change::kept},
  {"result", {}, value_change::kept},
  {"tenantId", "tenant"},
  {"workerId", "worker"},
  {"fencingToken", "token"},
  {"error", "error_text"},
  {"attempts", "attempt"},
  {"taskId", "id"},
  {"lastTaskId", "last_task"},
  {"nominalTime", "nominal"},
  {"delayed", "scheduled"},
  {"inProgress", "leased"},
  {"dlq", "dead"},
  {"oldestReadyAgeMs", "oldest_ready_ms"},
  {"settings", {}, value_change::opened},
  {"retry", {}, value_change::opened},
  {"kind", "retry", value_change::spelled},
  {"baseMs", "retry_base_ms"},
  {"capMs", "retry_cap_ms"},
  {"perMs", "period_ms"},
  {"leaseSeconds", "lease_ms", value_change::seconds},
  {"retentionSeconds", "retention_ms", value_change::seconds},
  {"deadRetentionSeconds", "dead_retention_ms", value_change::seconds},
};

constexpr member_rule task_rules[]{
  {"at", "at_ms", value_change::time},
  {"until", "until_ms", value_change::time},
  {"createdAt", "enqueued_at_ms", value_change::time},
  {"eligibleAt", "eligible_at_ms", value_change::time},
  {"endedAt", "ended_at_ms", value_change::time},
  {"firstDiedAt", "first_died_ms", value_change::time},
  {"lastDiedAt", "last_died_ms", value_change::time},
};

constexpr member_rule schedule_rules[]{
  {"task", {}, value_change::opened},
  {"payload", {}, value_change::quoted},
};

constexpr member_rule worker_rules[]{
  {"workerId", "name"},
  {"queues", {}, value_change::queues},
  {"startedAt", "since_ms", value_change::time},
};

std::span<const member_rule> rules_of(answer_form form) {
  switch (form) {
  case answer_form::schedules:
    return schedule_rules;
  case answer_form::workers:
    return worker_rules;
  case answer_form::tasks:
    break;
  }
  return task_rules;
}

member_rule rule_of(std::string_view name, answer_form form) {
  for (auto rules : {rules_of(form), std::span<const member_rule>(common_rules)}) {
    auto at = std::find_if(
      rules.begin(), rules.end(), [&](const member_rule& one) { return one.from == name; });
    if (at != rules.end())
      return *at;
  }
  return {name};
}

/// In the spelling of our names, for example `oldest_ready` for `oldestReady`.
std::string our_spelling(std::string_view name) {
  std::string text;
  for (char c : name) {
    const auto is_upper = c >= 'A' && c <= 'Z';
    if (is_upper)
      text += '_';
    text += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

std::vector<std::string_view> elements_of(std::string_view raw) {
  auto found = http::elements_of(raw, std::numeric_limits<std::size_t>::max());
  return found ? std::move(*found) : std::vector<std::string_view>();
}

void write_members(base::json_writer& out, http::json_object& from, answer_form form);

void write_value(base::json_writer& out, std::string_view raw, answer_form form) {
  if (raw.starts_with('[')) {
    out.begin_array();
    for (auto element : elements_of(raw))
      write_value(out, element, form);
    out.end_array();
    return;
  }
  auto object = raw.starts_with('{') ? http::json_object::parse(raw) : std::nullopt;
  if (!object) {
    out.raw(raw);
    return;
  }
  out.begin_object();
  write_members(out, *object, form);
  out.end_object();
}

void write_time(base::json_writer& out, std::string_view raw) {
  auto at = raw.starts_with('"') ? base::parse_rfc3339(http::unquote_json(raw)) : std::nullopt;
  if (at)
    out.number(std::int64_t{at->time_since_epoch().count()});
  else
    out.raw(raw);
}

void write_seconds(base::json_writer& out, std::string_view raw) {
  constexpr std::int64_t milliseconds = 1000;
  std::int64_t seconds = 0;
  auto [stop, failure] = std::from_chars(raw.data(), raw.data() + raw.size(), seconds);
  if (failure == std::errc{} && stop == raw.data() + raw.size())
    out.number(seconds * milliseconds);
  else
    out.raw(raw);
}

void write_word(base::json_writer& out, std::string_view raw) {
  std::string word(raw);
  std::replace(word.begin(), word.end(), '_', '-');
  out.raw(word);
}

void write_queues(base::json_writer& out, std::string_view raw) {
  out.begin_array();
  for (auto name : elements_of(raw)) {
    out.begin_object();
    out.key("queue").raw(name);
    out.end_object();
  }
  out.end_array();
}

void write_member(
  base::json_writer& out,
  const http::json_object::member& member,
  const member_rule& rule,
  answer_form form) {
  if (rule.how == value_change::dropped)
    return;
  const auto is_opened = rule.how == value_change::opened;
  auto inner = is_opened ? http::json_object::parse(member.raw) : std::nullopt;
  if (inner)
    return write_members(out, *inner, form);
  out.key(rule.to.empty() ? our_spelling(member.name) : std::string(rule.to));
  switch (rule.how) {
  case value_change::kept:
    out.raw(member.raw);
    break;
  case value_change::time:
    write_time(out, member.raw);
    break;
  case value_change::seconds:
    write_seconds(out, member.raw);
    break;
  case value_change::spelled:
    write_word(out, member.raw);
    break;
  case value_change::quoted:
    out.text(member.raw);
    break;
  case value_change::queues:
    write_queues(out, member.raw);
    break;
  case value_change::renamed:
  case value_change::dropped:
  case value_change::opened:
    write_value(out, member.raw, form);
    break;
  }
}

void write_members(base::json_writer& out, http::json_object& from, answer_form form) {
  for (const auto& member : from.members())
    write_member(out, member, rule_of(member.name, form), form);
}

/// The header fields that say what the sum of a cluster is without, and the members for them.
constexpr std::pair<std::string_view, std::string_view> missing_members[]{
  {"Codeq-Missing-Coordinators", "missingCoordinators"},
  {"Codeq-Missing-Shards", "missingShards"},
};

bool is_missing_member(std::string_view name) {
  return std::any_of(std::begin(missing_members), std::end(missing_members), [&](const auto& one) {
    return one.second == name;
  });
}

/// Names of header fields do not depend on the case.
bool is_same_field(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) {
    return lower(x) == lower(y);
  });
}

bool is_count(std::string_view text) {
  return !text.empty()
         && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

enqueue_kind kind_of(const std::string& outcome) {
  for (auto kind : {enqueue_kind::existing, enqueue_kind::deferred, enqueue_kind::promoted,
                    enqueue_kind::unchanged, enqueue_kind::running, enqueue_kind::duplicate})
    if (outcome == to_string(kind))
      return kind;
  return enqueue_kind::created;
}

/// 0 for a member that is missing.
template <class Number>
Number count_of(http::json_object& from, std::string_view name) {
  return static_cast<Number>(std::max(from.integer(name).value_or(0), std::int64_t{0}));
}

/// Reads each object of an array; false when it is not an array of objects that `read` accepts.
template <class T>
bool read_each(
  http::json_object& from,
  std::string_view name,
  std::vector<T>& to,
  bool (*read)(http::json_object&, T&)) {
  for (auto element : from.elements(name)) {
    auto object = http::json_object::parse(element);
    if (!object || !read(*object, to.emplace_back()))
      return false;
  }
  return from.ok();
}

bool read_node(http::json_object& from, cluster_node& to) {
  to.name = from.text("name");
  to.address = from.text("address");
  to.http_address = from.text("http_address");
  to.zone = from.text("zone");
  to.is_present = from.flag("present").value_or(false);
  to.has_answered = from.flag("answers").value_or(false);
  to.is_draining = from.flag("draining").value_or(false);
  to.free_bytes = count_of<std::uint64_t>(from, "free_bytes");
  to.refuses_tasks = from.flag("refuses_tasks").value_or(false);
  to.etcd_silent = duration{count_of<std::int64_t>(from, "etcd_silent_ms")};
  to.unreached = from.texts("unreached");
  return from.ok() && !to.name.empty();
}

bool read_copy(http::json_object& from, cluster_copy& to) {
  to.node = from.text("node");
  to.is_in_sync = from.flag("in_sync").value_or(false);
  to.is_known = from.has("epoch");
  to.epoch = count_of<std::uint32_t>(from, "epoch");
  to.position = count_of<std::uint64_t>(from, "position");
  to.lag = count_of<std::uint64_t>(from, "lag");
  return from.ok() && !to.node.empty();
}

bool read_shard(http::json_object& from, cluster_shard& to) {
  const auto number = from.integer("shard").value_or(-1);
  if (number < 0 || number >= static_cast<std::int64_t>(limits::shards_max))
    return false;
  to.shard = shard_id{static_cast<std::uint16_t>(number)};
  to.primary = from.text("primary");
  to.is_served = from.flag("served").value_or(false);
  to.epoch = count_of<std::uint32_t>(from, "epoch");
  to.pinned = from.text("pinned");
  to.waits_for = from.text("waits_for");
  return read_each(from, "copies", to.copies, &read_copy);
}

} // namespace

std::string as_printed(std::string_view json, answer_form form) {
  if (!http::is_json(json))
    return std::string(json);
  base::json_writer out;
  write_value(out, json, form);
  return out.take();
}

std::string counts_as_printed(std::string_view json) {
  auto object = http::json_object::parse(json);
  if (!object)
    return std::string(json);
  base::json_writer out;
  out.begin_object().begin_array("queues");
  if (object->has("queues")) {
    for (auto element : elements_of(object->raw("queues")))
      if (auto queue = http::json_object::parse(element)) {
        out.begin_object();
        if (object->has("tenantId"))
          out.key("tenant").raw(object->raw("tenantId"));
        write_members(out, *queue, answer_form::tasks);
        out.end_object();
      }
  } else if (object->raw("exists") != "false") {
    out.begin_object();
    for (const auto& member : object->members())
      if (!is_missing_member(member.name))
        write_member(out, member, rule_of(member.name, answer_form::tasks), answer_form::tasks);
    out.end_object();
  }
  out.end_array();
  for (const auto& [field, member] : missing_members)
    if (object->has(member))
      out.key(our_spelling(member)).raw(object->raw(member));
  return out.end_object().take();
}

std::string with_missing(
  std::string json, const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string members;
  for (const auto& [name, member] : missing_members)
    for (const auto& [field, value] : fields)
      if (is_same_field(field, name) && is_count(value))
        members += ",\"" + std::string(member) + "\":" + value;
  const auto object = members.empty() ? std::nullopt : http::json_object::parse(json);
  if (!object)
    return json;
  const auto is_bare = json.find_first_not_of(" \t\r\n{}") == std::string::npos;
  json.insert(json.find_last_of('}'), is_bare ? members.substr(1) : members);
  return json;
}

std::string outcome_as_printed(std::string_view json) {
  auto object = http::json_object::parse(json);
  auto all = object && object->has("results") ? elements_of(object->raw("results"))
                                              : std::vector<std::string_view>{json};
  return as_printed(all.size() == 1 ? all.front() : json, answer_form::tasks);
}

std::string events_as_printed(std::string_view json, task_id task) {
  auto object = http::json_object::parse(json);
  if (!object)
    return std::string(json);
  base::json_writer out;
  out.begin_object().field("id", to_string(task));
  write_members(out, *object, answer_form::tasks);
  return out.end_object().take();
}

error unreadable_answer() {
  return {errc::protocol_error, "the gateway's answer cannot be read"};
}

errc code_named(std::string_view name, errc otherwise) {
  for (auto code = std::uint8_t{1}; code <= static_cast<std::uint8_t>(errc::unavailable); ++code)
    if (to_string(static_cast<errc>(code)) == name)
      return static_cast<errc>(code);
  return otherwise;
}

result<void> take_ids(std::string_view answer, std::vector<enqueued_task>& to) {
  auto object = http::json_object::parse(answer);
  auto items = object ? object->elements("results") : std::vector<std::string_view>();
  std::optional<error> refused;
  for (auto item : items) {
    auto result = http::json_object::parse(item);
    if (!result)
      return unreadable_answer();
    auto task = result->object("task");
    if (!task) {
      if (!refused)
        refused = error{
          code_named(result->text("code"), errc::invalid_argument), result->text("error")};
      continue;
    }
    auto id = parse_task_id(task->text("id"));
    if (!id)
      return unreadable_answer();
    to.push_back({*id, kind_of(task->text("outcome"))});
  }
  if (!refused)
    return {};
  if (!to.empty())
    refused->context +=
      "; " + std::to_string(to.size()) + " of " + std::to_string(items.size()) + " were added";
  return *refused;
}

std::optional<cluster_status> read_cluster_status(std::string_view json) {
  auto from = http::json_object::parse(json);
  if (!from)
    return std::nullopt;
  cluster_status status;
  status.name = from->text("cluster");
  status.node = from->text("node");
  status.copies = count_of<std::uint32_t>(*from, "copies");
  status.min_in_sync = count_of<std::uint32_t>(*from, "min_in_sync");
  const auto is_read = read_each(*from, "nodes", status.nodes, &read_node)
                       && read_each(*from, "shards", status.shards, &read_shard);
  return is_read && !status.name.empty() ? std::optional(std::move(status)) : std::nullopt;
}

result<task_end> read_end(task_id id, std::string_view json) {
  auto both = http::json_object::parse(json);
  auto task = both ? both->object("task") : std::nullopt;
  auto result = both ? both->object("result") : std::nullopt;
  if (!task || !result)
    return unreadable_answer();
  const auto& names = base::state_names;
  auto state = std::find(names.begin(), names.end(), task->text("state"));
  if (state == names.end())
    return unreadable_answer();
  ended_task status;
  status.id = id;
  status.state = static_cast<task_state>(state - names.begin());
  status.attempt = static_cast<std::uint32_t>(task->integer("attempts").value_or(0));
  auto raw = result->raw("result");
  // A result that is not JSON is sent as a string.
  if (raw.starts_with('"'))
    status.result = result->text("result");
  else if (raw != "null")
    status.result = raw;
  status.error_text = result->text("error");
  return task_end{.status = std::move(status)};
}

} // namespace codeq::ctl
