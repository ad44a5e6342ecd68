// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "coordinator/shard/shard_messages.hpp"
#include "replication.capnp.h"

#include <cstddef>

/// The bytes of messages between shards. Commands: `take_follow_ups`, `confirm_follow_ups`,
/// `watch_ends`, `note_ends`, `adopt_settings`, `settings_adopted`, `pause_queue`, `ask_permits`,
/// `give_permits`, and `cancel` of a sequence.
namespace codeq::coordinator {

/// Writes a message to the shard `to`, as a part of the `ReplicaMessage` to it. @pre its command is
/// one of those
void write_neighbour(
  schema::NeighbourMessage::Builder out, shard_id to, const neighbour_message& m);

/// About the number of words that `write_neighbour` needs.
[[nodiscard]] std::size_t neighbour_words(const neighbour_message& m);

/// Reads a message to the shard `to`. Errors: `protocol_error`; `corruption` of follow-ups.
[[nodiscard]] result<neighbour_message>
read_neighbour(schema::NeighbourMessage::Reader in, shard_id to);

} // namespace codeq::coordinator
