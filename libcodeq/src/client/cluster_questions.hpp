// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"

#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "protocol/messages.hpp"

/// The question for the state of a cluster, and its answers.
namespace codeq::client {

[[nodiscard]] question ask_cluster(const cluster_change& change);

[[nodiscard]] result<answered<cluster_status>>
read_cluster(const protocol::cluster_reply& reply);

/// Adds another coordinator's answer. A shard is taken as its primary has told it, else as the
/// coordinator with the latest epoch.
void add(cluster_status& to, cluster_status part);

} // namespace codeq::client
