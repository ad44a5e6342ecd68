// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/shared/shared_question.hpp"

#include <vector>

namespace codeq::coordinator {

/// The actor that asks the shards for their counts on behalf of all sessions, so that the parts of
/// all shards are in memory once, however many connections ask. It does not run on the thread of
/// the sockets, since a sum over many queues takes a while.
class counts_desk {
public:
  static constexpr const char* name = "counts desk";

  void start(counts_actor::pointer self, const std::vector<shard_actor>& shards);

  [[nodiscard]] caf::result<counts_told> ask(const ask_counts& m);

private:
  using question = shared_question<counts_told>;

  void connect(question& shared, ask_shard_stats asked);

  counts_actor::pointer self_ = nullptr;
  /// Indexed by shard number.
  std::vector<shard_actor> shards_;
  question counts_;
  question counts_with_leases_;
};

/// Ends with the actor `owner`. @pre there is a shard when it is asked
[[nodiscard]] counts_actor::behavior_type drive_counts_desk(
  counts_actor::stateful_pointer<counts_desk> self,
  const caf::strong_actor_ptr& owner,
  const std::vector<shard_actor>& shards);

} // namespace codeq::coordinator
