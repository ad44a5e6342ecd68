// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/node_log.hpp"

#include "base/remote_block.hpp"

#include <string_view>

namespace codeq::coordinator {

namespace {

std::string_view role_name(schema::Role role) {
  switch (role) {
  case schema::Role::WORKER:
    return "worker";
  case schema::Role::PRODUCER:
    return "producer";
  case schema::Role::OPERATOR:
    return "operator";
  case schema::Role::COORDINATOR:
    return "coordinator";
  case schema::Role::GATEWAY:
    return "gateway";
  }
  return "unknown";
}

} // namespace

void node_log::connected(const session_opening& opening, const std::string& remote) const {
  const auto& node = opening.node;
  CODEQ_LOG_AT(
    node_line_level(node.role == schema::Role::WORKER),
    "{} connects name={} subject={} remote={} queues={} patterns={}",
    role_name(node.role),
    node.identity.name,
    opening.session.bearer ? opening.session.bearer->subject : "-",
    remote,
    node.queues.size(),
    node.prefixes.size());
}

void node_log::connected(
  const protocol::node_introduction& coordinator, const std::string& remote) const {
  CODEQ_LOG_INFO(
    "coordinator connects name={} remote={} copies={}",
    coordinator.identity.name,
    remote,
    coordinator.carries_copies);
}

void node_log::disconnected(schema::Role role, const std::string& name) const {
  CODEQ_LOG_AT(node_line_level(role == schema::Role::WORKER), "node disconnects name={}", name);
}

void node_log::refused(
  const std::string& remote, const error& reason, observe::line_pace::time_point now) {
  const auto host = base::remote_block_of(remote.substr(0, remote.rfind(':')));
  // Not by the words, which may contain what the node has sent.
  const auto key = host + ' ' + std::string(to_string(reason.code));
  if (auto left_out = refusal_lines_.take(key, now))
    CODEQ_LOG_WARN(
      "registrar refuses node remote={} left_out={} reason=\"{}\"",
      remote,
      *left_out,
      to_string(reason));
}

} // namespace codeq::coordinator
