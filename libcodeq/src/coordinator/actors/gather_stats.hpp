// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/coordinator_counts.hpp"
#include "coordinator/actors/coordinator_actors.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// Maximum time for a shard's reply with its counts.
inline constexpr duration stats_timeout = std::chrono::seconds(5);

/// Requests the counts of every shard and calls `done` once on the actor `self`, with the replies
/// in the order of the shards. Errors: `timeout`, since incomplete counts would be wrong. @pre
/// there is a shard
template <class Self>
void gather_stats(
  Self self,
  const std::vector<shard_actor>& shards,
  std::function<void(result<std::vector<base::coordinator_counts>>)> done,
  ask_shard_stats question = {}) {
  struct gathered {
    std::vector<base::coordinator_counts> parts;
    std::optional<error> failure;
    std::size_t missing = 0;
  };

  auto all = std::make_shared<gathered>();
  all->parts.resize(shards.size());
  all->missing = shards.size();
  auto finish_one = [all, done = std::move(done)] {
    if (--all->missing > 0)
      return;
    if (all->failure)
      done(std::move(*all->failure));
    else
      done(std::move(all->parts));
  };
  for (std::size_t i = 0; i < shards.size(); ++i) {
    self->request(shards[i], stats_timeout, question)
      .then(
        [all, i, finish_one](const base::coordinator_counts& part) {
          all->parts[i] = part;
          finish_one();
        },
        [all, i, finish_one](const caf::error&) {
          all->failure = error{
            errc::timeout,
            "shard " + std::to_string(i) + " has not said what it counts within "
              + std::to_string(stats_timeout.count()) + " ms"};
          finish_one();
        });
  }
}

} // namespace codeq::coordinator
