// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"

#include "config/option_set.hpp"

#include <filesystem>
#include <string>

namespace codeq::config {

/// The complete configuration of `codeq-coordinator`.
struct coordinator_config {
  coordinator_node_options node;
  /// File that the port is written to, in decimal, once the node listens; empty: none.
  std::filesystem::path port_file;
  /// The same for the HTTP gateway's port.
  std::filesystem::path http_port_file;
  /// A level that the log knows.
  std::string log_level = "info";
  /// A format that the log knows.
  std::string log_format = "text";
};

/// Parses flags, environment and file. Refuses insecure configurations, such as an address that is
/// not loopback without TLS and tokens.
[[nodiscard]] parsed<coordinator_config> parse_coordinator(const command_line& line);

} // namespace codeq::config
