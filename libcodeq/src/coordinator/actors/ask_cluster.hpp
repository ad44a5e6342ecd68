// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/cluster_status.hpp"
#include "codeq/result.hpp"

#include "coordinator/actors/coordinator_actors.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace codeq::coordinator {

/// Maximum time for the answer of the replicas, which ask the thread that talks to etcd.
inline constexpr duration cluster_timeout = std::chrono::seconds(6);

/// Asks the replicas for the state of the cluster, after a change if there is one, and calls `done`
/// once on the actor `self`. A change is in the audit log then, if it is stored. Errors: of the
/// change; `timeout`.
template <class Self>
void ask_cluster(
  Self self,
  const replicas_actor& replicas,
  const cluster_question& question,
  std::function<void(const result<cluster_status>&)> done) {
  self->request(replicas, cluster_timeout, question)
    .then(
      [done](const cluster_told& told) { done(told.status); },
      [done](const caf::error&) {
        done(error{
          errc::timeout,
          "this coordinator has not told the state of its cluster within "
            + std::to_string(cluster_timeout.count()) + " ms"});
      });
}

/// Asks the replicas for the counts of the cluster's shards, and calls `done` once on the actor
/// `self`; with none when they do not answer in time.
template <class Self>
void ask_shards(
  Self self,
  const replicas_actor& replicas,
  std::function<void(std::vector<base::cluster_shard_counts>)> done) {
  self->request(replicas, cluster_timeout, ask_cluster_shards{})
    .then(
      [done](const cluster_shards_told& told) { done(told.shards); },
      [done](const caf::error&) { done({}); });
}

} // namespace codeq::coordinator
