// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"

#include "config/option_set.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace codeq::config {

/// `codeqctl enqueue`: everything but the payload is in `task`.
struct enqueue_command {
  task_spec task;
  /// Empty or `-` reads stdin.
  std::string payload = "-";
  std::size_t count = 1;
  /// Wait until the tasks end, at most this long.
  std::optional<duration> wait;
};

/// `codeqctl get`.
struct get_command {
  task_id task;
};

/// `codeqctl result`.
struct result_command {
  task_id task;
  std::optional<duration> wait;
};

/// `codeqctl cancel`, `codeqctl promote` and `codeqctl redrive`.
struct change_command {
  task_id task;
  task_change change = task_change::cancel;
};

/// `codeqctl stats`.
struct stats_command {};

/// Everything that `codeqctl` is told from outside.
struct ctl_config {
  std::vector<std::string> coordinators = {"127.0.0.1:7400"};
  bool json = false;
  /// For a connection and for each answer.
  duration timeout = std::chrono::seconds(10);
  std::variant<stats_command, enqueue_command, get_command, result_command, change_command>
    command;
};

/// Reads flags, environment and file.
[[nodiscard]] parsed<ctl_config> parse_ctl(const command_line& line);

} // namespace codeq::config
