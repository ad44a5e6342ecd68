// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/command.hpp"
#include "replication.capnp.h"

#include <cstddef>

/// The messages between shards about permits, as parts of a `NeighbourMessage`.
namespace codeq::coordinator {

void write_permits(schema::NeighbourMessage::AskPermits::Builder out, const core::ask_permits& c);
void write_permits(
  schema::NeighbourMessage::GivePermits::Builder out, const core::give_permits& c);

/// About the number of words of the message's lists.
[[nodiscard]] std::size_t permit_words(const core::ask_permits& c);
[[nodiscard]] std::size_t permit_words(const core::give_permits& c);

/// Reads what the shard `from` says. Errors: `protocol_error` for permits that no task can need.
[[nodiscard]] result<core::command>
read_permits(schema::NeighbourMessage::AskPermits::Reader in, shard_id from);
[[nodiscard]] result<core::command>
read_permits(schema::NeighbourMessage::GivePermits::Reader in, shard_id from);

} // namespace codeq::coordinator
