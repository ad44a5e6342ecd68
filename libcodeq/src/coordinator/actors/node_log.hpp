// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "coordinator/session/registrar.hpp"
#include "observe/line_pace.hpp"
#include "observe/log.hpp"

#include <cstdint>
#include <string>

namespace codeq::coordinator {

/// Maximum number of log lines about the refused nodes of one address.
inline constexpr std::uint32_t refusal_lines_per_second = 10;

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

  /// `remote` has a port at its end.
  void refused(const std::string& remote, const error& reason, observe::line_pace::time_point now);

private:
  observe::line_pace refusal_lines_{refusal_lines_per_second};
};

} // namespace codeq::coordinator
