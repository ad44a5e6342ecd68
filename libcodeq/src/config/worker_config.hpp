// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/credentials.hpp"
#include "codeq/limits.hpp"

#include "config/option_set.hpp"
#include "config/queue_wish.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace codeq::config {

/// The complete configuration of `codeq-worker`. Fields as in `worker_node_options`.
struct worker_config {
  std::vector<std::string> coordinators = {"127.0.0.1:7400"};
  /// Never empty.
  std::string name;
  std::string tenant = "default";
  std::size_t slots = limits::slots_default;
  /// Default: the same as `slots`.
  std::size_t prefetch = limits::slots_default;
  std::size_t batch = limits::reports_per_request_max;
  duration drain = limits::drain_default;
  std::vector<std::string> libraries;
  /// `QUEUE=command args`.
  std::vector<std::string> programs;
  credentials access;
  /// Options of single queues.
  std::vector<queue_wish> queues;
  /// Queues to serve; empty: all queues that have handlers.
  std::vector<std::string> only;
  /// Print the handled queues and end.
  bool list_handlers = false;
  /// The one queue to serve for a parent process; empty in a worker.
  std::string isolated;
  /// As in `worker_node_options`; empty: none.
  std::string metrics;
  std::filesystem::path metrics_token_file;
  std::filesystem::path metrics_certificate;
  std::filesystem::path metrics_key;
  /// A level that the log knows.
  std::string log_level = "info";
  /// A format that the log knows.
  std::string log_format = "text";
};

/// Parses flags, environment and file. At least one handler library or program is required.
[[nodiscard]] parsed<worker_config> parse_worker(const command_line& line);

} // namespace codeq::config
