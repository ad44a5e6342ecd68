// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "ctl/operator_api.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The answers of a gateway with the names, units and shapes that commands print for those of a
/// node port. What a gateway does not tell is left out, and what only it tells stays. A text that
/// is not a JSON object is returned unchanged.
namespace codeq::ctl {

enum class answer_form : std::uint8_t { tasks, schedules, workers };

/// The same answer. Times of `tasks` become milliseconds; those of `schedules` stay as they are.
[[nodiscard]] std::string as_printed(std::string_view json, answer_form form);

/// The counts of one queue, or a list of queues.
[[nodiscard]] std::string counts_as_printed(std::string_view json);

/// The outcome of a change of one task, which may stand in a list.
[[nodiscard]] std::string outcome_as_printed(std::string_view json);

/// The history of that task.
[[nodiscard]] std::string events_as_printed(std::string_view json, task_id task);

/// An answer with members that say what its header says to be missing in the sum of a cluster:
/// `missingCoordinators` and `missingShards`, both numbers, in the gateway's spelling.
[[nodiscard]] std::string with_missing(
  std::string json, const std::vector<std::pair<std::string, std::string>>& fields);

// For commands that read an answer.

[[nodiscard]] error unreadable_answer();

/// The code of that name, as a refusal has it; `otherwise` when there is none.
[[nodiscard]] errc code_named(std::string_view name, errc otherwise);

/// Takes the tasks in the answer to a batch enqueue that were accepted. Errors: the reason why the
/// first of the others was refused, and how many were accepted. @pre to.empty()
[[nodiscard]] result<void> take_ids(std::string_view answer, std::vector<enqueued_task>& to);

/// The state of a cluster, from an answer with our names; none when it is not one.
[[nodiscard]] std::optional<cluster_status> read_cluster_status(std::string_view json);

/// How a task ended, from the JSON of its result and of the task itself.
[[nodiscard]] result<task_end> read_end(task_id id, std::string_view json);

} // namespace codeq::ctl
