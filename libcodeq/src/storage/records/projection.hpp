// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/commands/event.hpp"
#include "storage/write_set.hpp"

namespace codeq::storage {

/// Adds the writes of an event to the set. All events of a turn go into one set, so that after a
/// crash either all of them are found or none.
void project(shard_id shard, const core::event& e, write_set& writes);

} // namespace codeq::storage
