// SPDX-License-Identifier: Apache-2.0
#include "protocol/run_convert.hpp"

#include "codeq/limits.hpp"

#include "base/enum_names.hpp"
#include "encoding/limit_structs.hpp"
#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "protocol/bounds.hpp"
#include "protocol/shared_data.hpp"
#include "task.capnp.h"

#include <string>
#include <utility>

namespace codeq::protocol {

namespace {

/// The largest body whose payload and headers are within their limits: in the worst case each byte
/// of the headers is a header of its own, which takes four words.
constexpr std::size_t body_bytes_max =
  limits::payload_bytes_max + limits::headers_bytes_max * 4 * sizeof(capnp::word) + 64;

/// Checks a body against its limits; it is forwarded unchanged.
result<void> check_body(const bytes& body) {
  // Bytes that belong to no field would be stored and forwarded, too, so the whole size is checked.
  if (auto ok = check_size("body", body.size(), body_bytes_max); !ok)
    return ok;
  auto parsed = frame<schema::TaskBody>::parse(body);
  if (!parsed)
    return parsed.error();
  return parsed->read([](auto task) -> result<void> {
    auto payload_bytes = task.getPayload().size();
    if (auto ok = check_size("payload", payload_bytes, limits::payload_bytes_max); !ok)
      return ok;
    std::size_t header_bytes = 0;
    for (auto header : task.getHeaders()) {
      if (header.getName().size() == 0)
        return out_of_range("a header's name", "empty", "at least 1 byte");
      header_bytes += header.getName().size() + header.getValue().size();
    }
    return check_size("headers", header_bytes, limits::headers_bytes_max);
  });
}

/// Adds to the error which of the tasks is refused.
error refusal_at(const new_tasks& among, std::size_t place, const error& reason) {
  if (among.noun.empty() || reason.code == errc::protocol_error)
    return reason;
  return {
    reason.code, std::string(among.noun) + ' ' + std::to_string(place) + ": " + reason.context};
}

result<core::encoded_tasks> read_tasks(const bytes& body, const new_tasks& from) {
  auto sizes = encoding::read_sizes(from.tasks);
  if (!sizes)
    return malformed("the ends of the tasks do not fit their bytes");
  core::encoded_tasks tasks{share(body, from.tasks.getBytes()), std::move(*sizes)};
  std::size_t at = 0;
  for (std::size_t i = 0; i < tasks.count(); ++i) {
    if (auto ok = check_body(tasks.body.slice(at, tasks.sizes[i])); !ok)
      return refusal_at(from, i, ok.error());
    at += tasks.sizes[i];
  }
  return tasks;
}

/// When the tasks of a run may be claimed; the epoch (0) means now.
result<timestamp> read_not_before(schema::EnqueueRun::Reader run, timestamp now) {
  duration delay{static_cast<duration::rep>(run.getDelayMs())};
  if (run.getNotBeforeMs() != 0 && delay != duration{0})
    return error{errc::invalid_argument, "not_before and delay are both set; set one of them"};
  if (auto ok = check_duration("delay", delay, duration{0}, limits::not_before_ahead_max); !ok)
    return ok.error();
  if (delay != duration{0})
    return now + delay;
  timestamp not_before{duration{run.getNotBeforeMs()}};
  if (not_before < timestamp{} || not_before - limits::not_before_ahead_max > now)
    return out_of_range(
      "not_before",
      std::to_string(run.getNotBeforeMs()) + " ms",
      "after 1970 and within ten years from now");
  return not_before;
}

/// The given settings; those left to the queue keep their defaults.
result<task_settings> read_settings(schema::EnqueueRun::Reader run) {
  using bit = core::setting_bit;
  auto given = encoding::read_settings(run.getSettings());
  auto left_to_queue = run.getLeftToQueue();
  if (auto ok = check_settings(given, left_to_queue); !ok)
    return ok.error();
  const task_settings plain;
  auto clear = [&](bit b, auto task_settings::*field) {
    if ((left_to_queue & static_cast<std::uint16_t>(b)) != 0)
      given.*field = plain.*field;
  };
  clear(bit::max_attempts, &task_settings::max_attempts);
  clear(bit::retry, &task_settings::retry);
  clear(bit::lease, &task_settings::lease);
  clear(bit::run_timeout, &task_settings::run_timeout);
  clear(bit::progress_timeout, &task_settings::progress_timeout);
  clear(bit::retention, &task_settings::retention);
  clear(bit::dead_retention, &task_settings::dead_retention);
  clear(bit::on_dead, &task_settings::when_dead);
  return given;
}

result<void> read_key(schema::EnqueueRun::Reader run, core::enqueue_run& to) {
  // Checks sizes first, so that nothing too long is copied.
  auto group = run.getGroup().asChars();
  auto key = run.getKey().asChars();
  auto duplicate = encoding::from_schema<on_duplicate>(run.getOnDuplicate());
  if (!encoding::is_known<on_duplicate>(run.getOnDuplicate()))
    return out_of_range(
      "on_duplicate",
      std::to_string(static_cast<unsigned>(run.getOnDuplicate())),
      base::list_of(base::duplicate_names));
  auto ok = check_key(
    {group.begin(), group.size()}, {key.begin(), key.size()}, duplicate, run.getReplacePayload());
  if (!ok)
    return ok;
  if (key.size() > 0 && run.getCount() != 1)
    return out_of_range(
      "the number of tasks of a run with a key", std::to_string(run.getCount()), "1");
  to.group = string_of(run.getGroup());
  to.key = string_of(run.getKey());
  to.duplicate = duplicate;
  to.replace_payload = run.getReplacePayload();
  return {};
}

result<void> read_fairness(schema::EnqueueRun::Reader run, core::enqueue_run& to) {
  auto key = run.getFairnessKey();
  if (auto ok = check_fairness(key.size(), run.getFairnessWeight()); !ok)
    return ok;
  to.fairness = {string_of(key), run.getFairnessWeight()};
  return {};
}

result<void> read_limits(schema::EnqueueRun::Reader run, core::enqueue_run& to) {
  auto uses = run.getLimits();
  // Checks the number first, so that nothing too long is copied.
  if (auto ok = check_count("the number of limits", uses.size(), 0, limits::task_limits_max); !ok)
    return ok;
  to.limits = encoding::read_limits(uses);
  return check_limits(to.limits);
}

/// Reads a run without its tasks.
result<core::enqueue_run> read_run(schema::EnqueueRun::Reader run, timestamp now) {
  core::enqueue_run r;
  r.queue = encoding::read_queue(run.getQueue());
  r.priority = run.getPriority();
  if (auto ok = check_queue(r.queue); !ok)
    return ok.error();
  if (auto ok = check_count("priority", r.priority, 0, limits::priority_max); !ok)
    return ok.error();
  auto settings = read_settings(run);
  if (!settings)
    return settings.error();
  r.settings = *settings;
  r.left_to_queue = run.getLeftToQueue();
  auto not_before = read_not_before(run, now);
  if (!not_before)
    return not_before.error();
  r.not_before = *not_before;
  r.allow_promotion = run.getAllowPromotion();
  if (auto ok = read_key(run, r); !ok)
    return ok.error();
  if (auto ok = read_fairness(run, r); !ok)
    return ok.error();
  if (auto ok = read_limits(run, r); !ok)
    return ok.error();
  return r;
}

} // namespace

result<std::vector<core::enqueue_run>> read_runs(const bytes& body, new_tasks from, timestamp now) {
  auto tasks = read_tasks(body, from);
  if (!tasks)
    return tasks.error();
  std::vector<core::enqueue_run> runs;
  std::size_t next = 0;
  for (auto run : from.runs) {
    if (run.getCount() == 0 || run.getCount() > tasks->count() - next)
      return malformed("the runs do not fit the tasks");
    auto r = read_run(run, now);
    if (!r)
      return refusal_at(from, next, r.error());
    r->tasks = tasks->part(next, run.getCount());
    next += run.getCount();
    runs.push_back(std::move(*r));
  }
  if (next != tasks->count())
    return malformed("the runs do not fit the tasks");
  return runs;
}

} // namespace codeq::protocol
