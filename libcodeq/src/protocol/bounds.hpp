// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/queue.hpp"
#include "codeq/result.hpp"
#include "codeq/task_limits.hpp"
#include "codeq/time.hpp"

#include "core/commands/queue_settings.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Checks of single fields, used by both producer and coordinator. Every refusal names field, value
/// and limit.
namespace codeq::protocol {

/// "FIELD is FOUND; it must be RULE", `invalid_argument`.
[[nodiscard]] error
out_of_range(std::string_view field, const std::string& found, const std::string& rule);

/// The same for a size in bytes, `too_large`.
[[nodiscard]] error too_long(std::string_view field, std::size_t found, std::size_t limit);

/// The error for a violation of the protocol; the connection is then closed.
[[nodiscard]] error malformed(const std::string& what);

[[nodiscard]] result<void> check_name(std::string_view field, const std::string& name);
[[nodiscard]] result<void> check_queue(const queue_address& queue);

/// Checks a field of at most `limit` bytes.
[[nodiscard]] result<void> check_size(std::string_view field, std::size_t found, std::size_t limit);

[[nodiscard]] result<void>
check_count(std::string_view field, std::uint64_t found, std::uint64_t least, std::uint64_t most);

[[nodiscard]] result<void>
check_duration(std::string_view field, duration found, duration least, duration most);

/// Checks the settings except those that are left to the queue.
[[nodiscard]] result<void>
check_settings(const task_settings& settings, std::uint16_t left_to_queue);

/// Checks key, group and the policy for duplicates.
[[nodiscard]] result<void>
check_key(std::string_view group, std::string_view key, on_duplicate duplicate, bool replaces);

/// Checks the size of a fairness key, and its weight.
[[nodiscard]] result<void> check_fairness(std::size_t key_bytes, std::uint32_t weight);

/// Checks the limits of a task: their number, names, keys and costs, and that none is named twice.
[[nodiscard]] result<void> check_limits(const std::vector<task_limit>& uses);

/// The same for the limits that a queue gives to its tasks, with their headers.
[[nodiscard]] result<void> check_queue_limits(const std::vector<queue_limit>& given);

/// Checks the actual costs that an ended attempt names: their number and values, and that no limit
/// is named twice.
[[nodiscard]] result<void> check_costs(const std::vector<task_limit>& costs);

/// Checks the definition of a limit.
[[nodiscard]] result<void> check_definition(const limit_definition& definition);

// Totals over all follow-ups of one completion.

[[nodiscard]] result<void> check_follow_up_count(std::size_t found);
[[nodiscard]] result<void> check_follow_up_bytes(std::size_t found);

} // namespace codeq::protocol
