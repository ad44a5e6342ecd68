// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/queue.hpp"
#include "codeq/task.hpp"

#include "base/json_writer.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

/// How tasks look on this surface.
namespace codeq::http {

/// Everything that the gateway tells of a task.
struct task_detail {
  task_status status;
  /// Remaining time of the lease; 0 when the task is not leased.
  duration lease_left{0};
  /// Nothing when it is not kept any more.
  std::optional<std::string> payload{};
  /// The headers that came with the payload; empty when there is no payload.
  std::map<std::string, std::string> headers{};
  /// The state that an earlier attempt saved. Only set for a task that was just claimed.
  std::string checkpoint{};
  /// When its state changed last; its enqueue when that is not known.
  std::optional<timestamp> updated_at{};
  /// The outcome of the enqueue that this answers; not set for other requests.
  std::optional<enqueue_kind> outcome{};
  /// Why the webhook of an enqueue was not stored with its task; empty when it was.
  std::string webhook_error{};
  /// False: it was stored, and nothing but its names and the outcome is known.
  bool is_known = true;
};

/// The gateway's name for a worker whose token has that subject; no other node can have it.
[[nodiscard]] std::string worker_name_of(std::string_view tenant, std::string_view subject);

/// True for such a name.
[[nodiscard]] bool is_http_worker(std::string_view worker_name) noexcept;

/// The subject in such a name, or the name itself when it is another node's.
[[nodiscard]] std::string_view subject_of(std::string_view worker_name) noexcept;

/// PENDING, IN_PROGRESS, COMPLETED or FAILED.
[[nodiscard]] std::string_view status_name(task_state state) noexcept;

/// How to show a task.
struct task_view {
  /// Shard time.
  timestamp now;
  /// A payload is shown as the JSON value that it is; otherwise as a string with its text.
  bool payload_as_json = false;
};

/// Writes a task as an object.
void write_task(base::json_writer& json, const task_detail& task, const task_view& view);

/// A list's task: what is known without its payload and texts.
void write_listed(base::json_writer& json, const task_summary& task);

/// A page of a queue's fairness keys, as an object.
void write_fairness(base::json_writer& json, const fairness_page& page);

/// Dead tasks of one kind of error.
void write_kind(base::json_writer& json, const dead_kind& kind);

/// Bytes as a JSON value: themselves when they are JSON, else a string, or `{"base64": "..."}` when
/// they are no text.
void write_value(base::json_writer& json, std::string_view bytes);

/// The report of a worker, written as
/// `{"taskId","status","state","result","error","artifacts","completedAt"}`.
struct result_record {
  task_id id;
  bool is_failure = false;
  /// The task's state by now; nothing when that could not be found out.
  std::optional<task_state> state = task_state::completed;
  /// As it is stored.
  std::string result{};
  std::string error_text{};
  timestamp at{};
  /// Whether a failed attempt is followed by another one. Not set when that is unknown.
  std::optional<bool> will_retry{};
  std::optional<timestamp> retry_at{};
};

void write_result(base::json_writer& json, const result_record& record);

/// Writes the members `result` and `artifacts` of a result as it is stored; without artifacts the
/// latter is null when `always` is set, and missing otherwise.
void write_stored_result(base::json_writer& json, std::string_view stored, bool always);

/// Text, or what says that it is none.
[[nodiscard]] std::string shown_text(std::string_view text);

void write_explanation(base::json_writer& json, const task_explanation& why);
void write_timeline(base::json_writer& json, const task_timeline& timeline);

/// The text under which a result is stored; both are JSON already, and empty for none.
[[nodiscard]] std::string
stored_result(std::string_view result, std::string_view artifacts = {});

} // namespace codeq::http
