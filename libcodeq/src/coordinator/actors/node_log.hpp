// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "coordinator/session/registrar.hpp"
#include "observe/line_pace.hpp"
#include "observe/log.hpp"

#include <chrono>
#include <string>

namespace codeq::coordinator {

/// Minimum time between two log lines about nodes of one address that are refused with one code.
inline constexpr std::chrono::minutes refusal_line_interval{1};

/// The level of a line about a node that comes or goes. Tools and short-lived producers do so all
/// the time.
[[nodiscard]] inline observe::log_level node_line_level(bool is_worker) {
  return is_worker ? observe::log_level::info : observe::log_level::debug;
}

/// Writes the log lines about nodes that connect, disconnect and are refused.
class node_log {
public:
  /// A node has a session from now on; `remote` is its address.
  void connected(const session_opening& opening, const std::string& remote) const;

  /// The same of another coordinator of the cluster, which has no session.
  void connected(const protocol::node_introduction& coordinator, const std::string& remote) const;

  void disconnected(schema::Role role, const std::string& name) const;

  /// `remote` has a port at its end. A coordinator whose token is not known comes again and again.
  void refused(const std::string& remote, const error& reason, observe::line_pace::time_point now);

private:
  /// An owner is an address and an error code.
  observe::line_pace refusal_lines_{1, refusal_line_interval};
};

} // namespace codeq::coordinator
