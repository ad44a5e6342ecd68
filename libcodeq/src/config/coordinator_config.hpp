// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"

#include "config/option_set.hpp"

#include <filesystem>
#include <string>

namespace codeq::config {

/// Everything that `codeq-coordinator` is told from outside.
struct coordinator_config {
  coordinator_node_options node;
  /// Gets the port in decimal once the node listens; empty: none is written.
  std::filesystem::path port_file;
  /// The same for the HTTP gateway's port.
  std::filesystem::path http_port_file;
  /// A level that the log knows.
  std::string log_level = "info";
};

/// Reads flags, environment and file; refuses what could not be served, such as an address that is
/// not loopback.
[[nodiscard]] parsed<coordinator_config> parse_coordinator(const command_line& line);

} // namespace codeq::config
