// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/queue.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include "config/option_set.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Options for limits. The target of an option must outlive it.
namespace codeq::ctl {

/// Precedes the name of a header of a task, where the value of that header is meant.
inline constexpr std::string_view header_mark = "header=";

/// `--limit NAME[:KEY[:COST]]`, which names a limit of a task; repeatable.
[[nodiscard]] config::option limit_of_task_option(std::vector<task_limit>& uses);

/// `--limit NAME[:KEY|:header=NAME[:COST]]`, a limit that a queue gives to its tasks, repeatable,
/// and `--no-limits`, which takes all of them away. Either sets `given`.
[[nodiscard]] std::vector<config::option>
limits_of_queue_options(std::optional<std::vector<queue_limit>>& given);

/// The limits as the option takes them, for example "smtp, mail:header=customer"; "none".
[[nodiscard]] std::string limits_text(const std::vector<queue_limit>& given);

/// Parses `NAME`, `NAME:KEY` or `NAME:KEY:COST`. With two colons or more the text behind the last
/// one is the cost, so a key that has a colon needs a cost. Errors: `invalid_argument`,
/// `too_large`.
[[nodiscard]] result<task_limit> parse_task_limit(const std::string& text);

/// The definition of a limit, as `limit set` gives it.
struct limit_options {
  limit_address name{};
  std::optional<std::uint32_t> concurrency{};
  /// Starts, and the period in which they are spread.
  std::optional<start_rate> rate{};
  std::optional<std::uint32_t> burst{};
  bool is_dry_run = false;

  /// Reports missing options, and those that do not fit together.
  [[nodiscard]] result<void> check() const;

  /// @pre check()
  [[nodiscard]] limit_definition definition() const;
};

/// The limit's name as a positional argument.
[[nodiscard]] config::option limit_option(std::string& target);

[[nodiscard]] std::vector<config::option> limit_grammar(limit_options& to);

/// For example `100/1s, burst 20`; `-` for none.
[[nodiscard]] std::string rate_text(const std::optional<start_rate>& rate);

/// When the next task of a key of a limit can start, not before now; empty as it is there.
[[nodiscard]] std::optional<timestamp> next_start_of(const limit_key_info& key);

/// When the next task of a key of a limit can start, for people; "if raised" when no lease has to
/// end, so that the concurrency is too low for it.
[[nodiscard]] std::string start_text(const limit_key_info& key);

/// Until when a key of a limit is closed, for people; "-" when it is open.
[[nodiscard]] std::string closed_text(const limit_key_info& key);

} // namespace codeq::ctl
