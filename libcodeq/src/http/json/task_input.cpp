// SPDX-License-Identifier: Apache-2.0
#include "http/json/task_input.hpp"

#include "base/json_writer.hpp"
#include "http/json/rfc3339.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace codeq::http {

namespace {

constexpr std::array<std::string_view, 4> retry_names{
  "fixed", "linear", "exponential", "exponential_jitter"};
constexpr std::array<std::string_view, 2> on_dead_names{"skip", "block"};
constexpr std::array<std::string_view, 4> duplicate_names{"existing", "reject", "defer", "promote"};

error invalid(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

/// Takes one of the names, if the member is there.
template <class Enum, std::size_t N>
result<void> take_choice(
  json_object& from,
  std::string_view name,
  const std::array<std::string_view, N>& names,
  Enum& to) {
  auto text = from.text(name);
  if (text.empty())
    return {};
  auto at = std::find(names.begin(), names.end(), text);
  if (at == names.end()) {
    std::string all;
    for (auto known : names)
      all += (all.empty() ? "" : ", ") + std::string(known);
    return invalid(std::string(name) + " is " + text + "; it must be one of " + all);
  }
  to = static_cast<Enum>(at - names.begin());
  return {};
}

/// Takes a number of units as milliseconds; what is too large stays too large.
void take_duration(
  json_object& from, std::string_view name, duration unit, std::optional<duration>& to) {
  auto number = from.integer(name);
  if (!number)
    return;
  auto most = std::numeric_limits<std::int64_t>::max() / unit.count() / 2;
  to = std::clamp(*number, -most, most) * unit;
}

void take_count(json_object& from, std::string_view name, std::uint64_t& to) {
  if (auto number = from.integer(name))
    to =
      *number < 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(*number);
}

/// One above the range stays above it.
std::uint32_t attempts_of(std::int64_t number) {
  return static_cast<std::uint32_t>(
    std::clamp<std::int64_t>(number, 0, std::int64_t{limits::attempts_max} + 1));
}

/// What the object leaves out is as in `policy`.
result<std::optional<retry_policy>> read_retry(json_object& from, retry_policy policy) {
  auto object = from.object("retry");
  if (!object)
    return std::optional<retry_policy>{};
  if (auto ok = take_choice(*object, "kind", retry_names, policy.kind); !ok)
    return ok.error();
  std::optional<duration> base;
  std::optional<duration> cap;
  take_duration(*object, "baseMs", duration{1}, base);
  take_duration(*object, "capMs", duration{1}, cap);
  policy.base = base.value_or(policy.base);
  policy.cap = cap.value_or(policy.cap);
  if (!object->ok())
    return invalid("invalid retry");
  return std::optional{policy};
}

result<void> read_times(json_object& from, task_spec& to) {
  if (from.has("runAt")) {
    auto when = parse_rfc3339(from.text("runAt"));
    if (!when)
      return invalid("invalid 'runAt' (use RFC3339)");
    to.not_before = *when;
  }
  std::optional<duration> delay;
  take_duration(from, "delayMs", duration{1}, delay);
  take_duration(from, "delaySeconds", std::chrono::seconds(1), delay);
  if (delay && *delay < duration{0})
    return invalid("invalid 'delaySeconds' (must be >= 0)");
  // Both may be named, as other clients do: the time counts then.
  if (delay && !to.not_before)
    to.delay = *delay;
  return {};
}

result<void> read_names(json_object& from, task_spec& to) {
  to.queue = from.text("command");
  if (!is_valid_name(to.queue))
    return invalid("invalid command");
  to.key = from.text("idempotencyKey");
  to.group = from.text("group");
  to.allow_promotion = from.flag("allowPromotion").value_or(false);
  to.replace_payload = from.flag("replacePayload").value_or(false);
  if (auto ok = take_choice(from, "onDuplicate", duplicate_names, to.duplicate); !ok)
    return ok;
  if (auto headers = from.object("headers"))
    for (const auto& name : headers->names())
      to.headers[name] = headers->text(name);
  return {};
}

result<void> read_limits(json_object& from, task_spec& to) {
  to.priority = static_cast<int>(
    std::clamp<std::int64_t>(from.integer("priority").value_or(0), 0, limits::priority_max));
  if (auto attempts = from.integer("maxAttempts"); attempts && *attempts != 0)
    to.max_attempts = attempts_of(*attempts);
  auto retry = read_retry(from, {});
  if (!retry)
    return retry.error();
  to.retry = *retry;
  constexpr std::chrono::seconds second{1};
  take_duration(from, "leaseMs", duration{1}, to.lease);
  take_duration(from, "leaseSeconds", second, to.lease);
  take_duration(from, "runTimeoutMs", duration{1}, to.run_timeout);
  take_duration(from, "progressTimeoutMs", duration{1}, to.progress_timeout);
  take_duration(from, "retentionSeconds", second, to.retention);
  take_duration(from, "deadRetentionSeconds", second, to.dead_retention);
  if (!from.has("onDead"))
    return {};
  on_dead when{};
  auto ok = take_choice(from, "onDead", on_dead_names, when);
  to.when_dead = when;
  return ok;
}

} // namespace

result<task_spec> read_task(json_object& from, const std::string& tenant) {
  task_spec task;
  task.tenant = tenant;
  if (!from.has("payload") && from.raw("payload").empty())
    return invalid("invalid body");
  if (auto ok = read_times(from, task); !ok)
    return ok.error();
  auto names = read_names(from, task);
  auto limits = read_limits(from, task);
  if (!from.ok())
    return invalid("invalid body");
  if (!names)
    return names.error();
  if (!limits)
    return limits.error();
  task.payload = std::string(from.raw("payload"));
  return task;
}

result<void> read_settings(json_object& from, queue_config& to) {
  constexpr std::chrono::seconds second{1};
  auto& defaults = to.defaults;
  if (auto attempts = from.integer("maxAttempts"))
    defaults.max_attempts = attempts_of(*attempts);
  auto retry = read_retry(from, defaults.retry);
  if (!retry)
    return retry.error();
  defaults.retry = retry->value_or(defaults.retry);
  auto take = [&](std::string_view name, duration unit, duration& field) {
    std::optional<duration> given;
    take_duration(from, name, unit, given);
    field = given.value_or(field);
  };
  take("leaseMs", duration{1}, defaults.lease);
  take("leaseSeconds", second, defaults.lease);
  take("runTimeoutMs", duration{1}, defaults.run_timeout);
  take("progressTimeoutMs", duration{1}, defaults.progress_timeout);
  take("retentionSeconds", second, defaults.retention);
  take("deadRetentionSeconds", second, defaults.dead_retention);
  if (auto ok = take_choice(from, "onDead", on_dead_names, defaults.when_dead); !ok)
    return ok;
  take_count(from, "maxDepth", to.max_depth);
  take_count(from, "maxLeased", to.max_leased);
  to.keep_payload = from.flag("keepPayload").value_or(to.keep_payload);
  if (!from.ok())
    return invalid("invalid body");
  return {};
}

void write_settings(base::json_writer& json, const queue_config& config) {
  auto seconds = [](duration d) {
    return std::chrono::duration_cast<std::chrono::seconds>(d).count();
  };
  const auto& defaults = config.defaults;
  json.begin_object()
    .field("maxAttempts", defaults.max_attempts)
    .key("retry")
    .begin_object()
    .field("kind", retry_names[static_cast<std::size_t>(defaults.retry.kind)])
    .field("baseMs", defaults.retry.base.count())
    .field("capMs", defaults.retry.cap.count())
    .end_object()
    .field("leaseSeconds", seconds(defaults.lease))
    .field("runTimeoutMs", defaults.run_timeout.count())
    .field("progressTimeoutMs", defaults.progress_timeout.count())
    .field("retentionSeconds", seconds(defaults.retention))
    .field("deadRetentionSeconds", seconds(defaults.dead_retention))
    .field("onDead", on_dead_names[static_cast<std::size_t>(defaults.when_dead)])
    .field("maxDepth", config.max_depth)
    .field("maxLeased", config.max_leased)
    .field("keepPayload", config.keep_payload)
    .end_object();
}

} // namespace codeq::http
