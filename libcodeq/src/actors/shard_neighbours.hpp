// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/command.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>

#include <cstdint>
#include <vector>

/// What shards say to each other.
namespace codeq::actors {

/// Follow-ups of the shard `from`, to be owned by the one that gets this.
struct hand_over {
  shard_id from{};
  std::uint64_t number = 0;
  std::uint64_t answered_below = 0;
  std::vector<core::enqueue_run> runs;
};

/// The shard `by` has the follow-ups of that number, durably.
struct handed_over {
  shard_id by{};
  std::uint64_t number = 0;
};

/// What SHARDS understand of each other.
using shard_neighbour_actor = caf::typed_actor<
  // Adds follow-ups once, however often they come; answered by `handed_over`.
  caf::reacts_to<hand_over>,
  // Lets go of follow-ups that their shard has.
  caf::reacts_to<handed_over>>;

/// All shards of the coordinator, by number; sent once, when the last one was started.
struct meet_shards {
  std::vector<shard_neighbour_actor> shards;
};

} // namespace codeq::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::hand_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::handed_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::meet_shards)
