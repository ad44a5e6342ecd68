// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/queue.hpp"

#include "base/json_writer.hpp"
#include "config/option_set.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

/// The settings that `codeqctl queue set` changes, or that `enqueue` gives a task; unset ones stay.
struct queue_changes {
  std::optional<std::uint32_t> max_attempts{};
  std::optional<retry_kind> retry{};
  std::optional<duration> retry_base{};
  std::optional<duration> retry_cap{};
  std::optional<duration> lease{};
  std::optional<duration> run_timeout{};
  std::optional<duration> progress_timeout{};
  std::optional<duration> retention{};
  std::optional<duration> dead_retention{};
  std::optional<on_dead> when_dead{};
  std::optional<std::uint64_t> max_depth{};
  std::optional<std::uint64_t> max_leased{};
  std::optional<bool> keep_payload{};
  std::optional<std::uint32_t> quarantine_after{};
  std::optional<failure_breaker> pause_when_failing{};
  std::optional<std::vector<queue_limit>> limits{};
  std::optional<std::string> fairness_header{};
  weight_changes fairness_weights{};

  friend bool operator==(const queue_changes&, const queue_changes&) = default;

  /// The configuration after this change of `before`.
  [[nodiscard]] queue_config applied_to(queue_config before) const;

  /// Nothing but weights of fairness keys changes.
  [[nodiscard]] bool are_of_weights() const;

  /// How the weights of a queue change that is `before`; nothing when a change of other settings
  /// has to give all shards the same weights, since the shards differ.
  [[nodiscard]] std::optional<weight_changes> weights_beside(const queue_info& before) const;
};

/// The options for attempts, lease and retention of a queue or a task. `default_of` returns the end
/// of an option's help text, given the default of an unconfigured queue.
[[nodiscard]] std::vector<config::option>
settings_options(queue_changes& to, const std::function<std::string(const char*)>& default_of);

/// Adds the settings of a queue to the open JSON object.
void write_config(base::json_writer& out, const queue_config& config);

/// The same as names and values for people, without the limits.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
config_fields(const queue_config& config);

/// Parses `off`, or a percentage and a window such as `50%/1m`. Errors: `invalid_argument`.
[[nodiscard]] result<failure_breaker> parse_breaker(const std::string& text);

/// `--fairness-key header=NAME`, the header that has the fairness keys of a queue's tasks, and
/// `--no-fairness-key`, which takes it away. Either sets `given`.
[[nodiscard]] std::vector<config::option>
fairness_key_options(std::optional<std::string>& given);

/// "no limit" for 0.
[[nodiscard]] std::string limit_text(std::uint64_t limit);

} // namespace codeq::ctl
