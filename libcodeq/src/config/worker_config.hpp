// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/limits.hpp"

#include "config/option_set.hpp"
#include "config/queue_wish.hpp"

#include <string>
#include <vector>

namespace codeq::config {

/// Everything that `codeq-worker` is told from outside. Fields as in `worker_node_options`.
struct worker_config {
  std::vector<std::string> coordinators = {"127.0.0.1:7400"};
  /// Never empty.
  std::string name;
  std::string tenant = "default";
  std::size_t slots = limits::slots_default;
  /// As many as slots, unless told otherwise.
  std::size_t prefetch = limits::slots_default;
  duration drain = limits::drain_default;
  std::vector<std::string> libraries;
  /// `QUEUE=command args`.
  std::vector<std::string> programs;
  credentials access;
  /// How single queues are served.
  std::vector<queue_wish> queues;
  /// Queues to serve; empty is all that have handlers.
  std::vector<std::string> only;
  /// Say what is handled, and end.
  bool list_handlers = false;
  /// The one queue to serve for a parent process; empty in a worker.
  std::string isolated;
  /// A level that the log knows.
  std::string log_level = "info";
};

/// Reads flags, environment and file. At least one handler library or program is required.
[[nodiscard]] parsed<worker_config> parse_worker(const command_line& line);

} // namespace codeq::config
