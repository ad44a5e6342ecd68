// SPDX-License-Identifier: Apache-2.0
#include "codeq/cluster_status.hpp"
#include "codeq/limits.hpp"
#include "codeq/operator_types.hpp"

#include "base/enum_names.hpp"
#include "base/tuning.hpp"

#include <array>
#include <charconv>

namespace codeq {

namespace {

/// For example "7.2 s".
std::string in_seconds(duration left) {
  auto tenths = left.count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string in_words(std::uint32_t workers) {
  if (workers == 0)
    return "its workers";
  return workers == 1 ? "its 1 worker" : "its " + std::to_string(workers) + " workers";
}

std::string attempt_of(const task_summary& task, std::uint32_t attempt) {
  return std::to_string(attempt) + " of " + std::to_string(task.max_attempts);
}

/// Keys are any bytes; those that would spoil a line are shown as dots.
std::string quoted(std::string text) {
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
      c = '.';
  return '"' + text + '"';
}

std::string because(const std::string& text) {
  return text.empty() ? "" : " because: " + text;
}

std::string behind_others(std::uint64_t others) {
  return (others < tuning::turns_counted_max ? "behind " : "behind at least ")
         + std::to_string(others) + (others == 1 ? " other" : " others");
}

/// The condition under which the limit's key starts the next task.
std::string next_start_of(const task_explanation& why) {
  if (why.is_out_of_limit_keys)
    return "tenant " + why.task.tenant + " uses as many limit keys as it may on the shard of this "
           + "one (limit_keys_max is " + std::to_string(limits::limit_keys_max)
           + "), so that another one has to become unused first";
  if (why.until == timestamp{})
    return "a lease has to end first, or the concurrency to be raised";
  return "the next start is possible at " + to_string(why.until);
}

std::string turn_of(const task_explanation& why) {
  auto text = "waits for the turn of "
              + (why.fairness_key.empty() ? "the empty fairness key"
                                          : "its fairness key " + quoted(why.fairness_key))
              + ", " + behind_others(why.fairness_before);
  constexpr duration almost_a_tenth{99};
  if (why.fairness_wait >= duration::max() - almost_a_tenth)
    return text;
  return text + "; a task of the key starts within "
         + in_seconds(why.fairness_wait + almost_a_tenth);
}

template <class Number>
bool read_whole(std::string_view text, Number& to) {
  auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), to);
  return failure == std::errc{} && stop == text.data() + text.size();
}

} // namespace

std::string_view to_string(task_reason reason) noexcept {
  static constexpr std::array<std::string_view, 15> names{
    "deferred",
    "retry_waiting",
    "gated",
    "blocked",
    "queue_paused",
    "no_worker",
    "queue_at_max_leased",
    "no_free_slots",
    "next",
    "leased",
    "completed",
    "dead",
    "cancelled",
    "limited",
    "fairness"};
  return base::name_of(reason, names);
}

std::string to_string(const cluster_change& change) {
  switch (change.what) {
  case cluster_change::kind::none:
    break;
  case cluster_change::kind::move:
    return "move " + std::to_string(value(change.shard)) + " --to " + change.node;
  case cluster_change::kind::drain:
    return "drain " + change.node;
  case cluster_change::kind::undrain:
    return "undrain " + change.node;
  case cluster_change::kind::balance:
    return "balance";
  case cluster_change::kind::force_primary:
    return "force-primary " + std::to_string(value(change.shard)) + " --to " + change.node;
  }
  return {};
}

std::string_view to_string(operator_action action) noexcept {
  switch (action) {
  case operator_action::cancel:
    return "cancel";
  case operator_action::promote:
    return "promote";
  case operator_action::redrive:
    return "redrive";
  case operator_action::purge:
    return "purge";
  case operator_action::force_revoke:
    return "force revoke";
  case operator_action::force_complete:
    return "force complete";
  case operator_action::force_fail:
    return "force fail";
  case operator_action::queue_set:
    return "queue set";
  case operator_action::queue_pause:
    return "queue pause";
  case operator_action::queue_resume:
    return "queue resume";
  case operator_action::dead_redrive:
    return "dead redrive";
  case operator_action::dead_purge:
    return "dead purge";
  case operator_action::queue_purge:
    return "queue purge";
  case operator_action::tenant_purge:
    return "tenant purge";
  case operator_action::backup:
    return "backup";
  case operator_action::schedule_set:
    return "schedule set";
  case operator_action::schedule_pause:
    return "schedule pause";
  case operator_action::schedule_resume:
    return "schedule resume";
  case operator_action::schedule_delete:
    return "schedule delete";
  case operator_action::schedule_run:
    return "schedule run";
  case operator_action::schedule_backfill:
    return "schedule backfill";
  case operator_action::log_level:
    return "log-level";
  case operator_action::limit_set:
    return "limit set";
  case operator_action::limit_delete:
    return "limit delete";
  case operator_action::limit_close:
    return "limit close";
  case operator_action::limit_open:
    return "limit open";
  case operator_action::cluster_change:
    return "cluster";
  case operator_action::worker_drain:
    return "worker drain";
  case operator_action::worker_resume:
    return "worker resume";
  }
  return "unknown";
}

std::string to_string(const audit_place& place) {
  return std::to_string(place.at.time_since_epoch().count()) + "-"
         + std::to_string(place.operation);
}

std::optional<audit_place> parse_audit_place(std::string_view text) {
  auto middle = text.find('-');
  if (middle == std::string_view::npos)
    return std::nullopt;
  std::int64_t at = 0;
  audit_place place;
  if (!read_whole(text.substr(0, middle), at) || at <= 0)
    return std::nullopt;
  if (!read_whole(text.substr(middle + 1), place.operation))
    return std::nullopt;
  place.at = timestamp{duration{at}};
  return place;
}

std::string_view to_string(task_event::kind what) noexcept {
  static constexpr std::array<std::string_view, 18> names{
    "enqueued",
    "granted",
    "completed",
    "failed",
    "failed_permanently",
    "nacked",
    "abandoned",
    "lost",
    "revoked",
    "cancel_requested",
    "cancelled",
    "rescheduled",
    "redriven",
    "forced_to_complete",
    "forced_to_fail",
    "timed_out",
    "payload_replaced",
    "limited"};
  return base::name_of(what, names);
}

std::string_view to_string(task_event::author by) noexcept {
  static constexpr std::array<std::string_view, 4> names{
    "coordinator", "producer", "worker", "operator"};
  return base::name_of(by, names);
}

std::string to_sentence(const task_explanation& why) {
  const auto& task = why.task;
  auto behind = [&](const char* verb) {
    return std::string(verb) + " " + to_string(why.blocker) + " ("
           + std::string(to_string(why.blocker_state)) + ") of its group";
  };
  switch (why.reason) {
  case task_reason::deferred:
    return "deferred until " + to_string(why.until);
  case task_reason::retry_waiting:
    return "retry " + attempt_of(task, task.attempt + 1) + " at " + to_string(why.until)
           + (why.error_text.empty() ? "" : "; the last attempt failed" + because(why.error_text));
  case task_reason::gated:
    return behind("waits behind");
  case task_reason::blocked:
    return behind("blocked by") + "; redrive or purge that one";
  case task_reason::queue_paused:
    return "queue paused" + (why.pause_reason.empty() ? "" : ": " + why.pause_reason);
  case task_reason::no_worker:
    return "no connected worker claims from queue `" + task.queue + "` of tenant " + task.tenant
           + "; a worker over HTTP counts while it waits in a claim";
  case task_reason::queue_at_max_leased:
    return "the queue has as many leases as it may (max_leased is "
           + std::to_string(why.queue.max_leased) + ")";
  case task_reason::no_free_slots:
    return "no free slots at " + in_words(why.workers);
  case task_reason::next:
    return "handed out next";
  case task_reason::leased:
    return (why.waits_at_worker ? "waits for a free slot at " : "leased by ") + task.worker
           + ", attempt " + attempt_of(task, task.attempt)
           + "; lease ends in " + in_seconds(why.lease_left) + " without a heartbeat"
           + (task.cancel_requested ? "; a cancel was requested, and its handler may still complete"
                                    : "");
  case task_reason::completed:
    return "completed";
  case task_reason::dead:
    return "dead after attempt " + attempt_of(task, task.attempt) + because(why.error_text);
  case task_reason::cancelled:
    return "cancelled";
  case task_reason::limited:
    return "held back by limit " + why.limit
           + (why.limit_key.empty() ? "" : ", key " + quoted(why.limit_key)) + ", "
           + behind_others(why.limit_before) + "; " + next_start_of(why)
           + (why.limit_closed_until == timestamp{}
                ? ""
                : "; the key is closed until " + to_string(why.limit_closed_until));
  case task_reason::fairness:
    return turn_of(why);
  }
  return "unknown";
}

} // namespace codeq
