// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"

#include "core/commands/audit_entry.hpp"
#include "protocol/messages.hpp"
#include "protocol/operator_convert.hpp"

#include <cstdint>

/// Converts messages about the coordinators of a cluster.
namespace codeq::protocol {

template <>
struct reply_of<schema::ClusterRequest> {
  using type = schema::ClusterReply;
};

[[nodiscard]] cluster_request
make_cluster_request(std::uint64_t number, const cluster_change& change);

/// A request, checked.
struct asked_cluster {
  std::uint64_t number = 0;
  cluster_change change{};
};

/// Errors: `protocol_error` for an unknown change.
[[nodiscard]] result<asked_cluster> read_cluster_request(const cluster_request& message);

[[nodiscard]] cluster_reply make_cluster_reply(std::uint64_t number, const cluster_status& status);

/// The status of a reply without an error. Errors: `protocol_error`.
[[nodiscard]] result<cluster_status> read_cluster_status(const cluster_reply& message);

[[nodiscard]] acting_for make_acting_for(const core::command_origin& origin);

/// Where the next command comes from; its time is not known. Errors: `protocol_error`.
[[nodiscard]] result<core::command_origin> read_acting_for(const acting_for& message);

} // namespace codeq::protocol
