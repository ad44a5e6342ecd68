// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"

#include "config/option_set.hpp"
#include "ctl/command.hpp"

#include <string>

namespace codeq::ctl {

/// The parsed command line, environment and configuration file.
struct invocation {
  operator_options node{{"127.0.0.1:7400"}};
  /// URL of an HTTP gateway to use instead of the node port; empty: none.
  std::string http{};
  bool json = false;
  /// The tenant of commands that name none; empty: the token's.
  std::string tenant{};
  chosen_command run{};
};

/// Parses flags, environment and file.
[[nodiscard]] config::parsed<invocation> parse_command_line(const config::command_line& line);

} // namespace codeq::ctl
