// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/event.hpp"
#include "core/state/shard_state.hpp"

#include <vector>

/// A segment is on the disk, with the bodies of all its tasks, until the last of them has ended and
/// is not dead. A few tasks that are dead, or wait for a retry for a minute or more, must not keep
/// it there: when an eighth or less is left, they are copied into records of their own, and the
/// segment is closed.
///
/// A snapshot copies: what it writes holds either the segment or the copies and the fates of the
/// others, never both. The bodies are read before: each snapshot finds sparse segments among those
/// that changed, `take_sparse` names them to the one who reads, `core::copy_survivors` brings the
/// bodies. All of this is volatile; a restart finds the sparse segments again.
namespace codeq::core {

/// True when few tasks are left of the segment, each of them dead or waiting long for its retry.
[[nodiscard]] bool is_sparse(const shard_state& state, const segment& s);

/// Notes the segment if it is sparse.
void note_sparse(shard_state& state, const segment& s);

/// Takes sparse segments, as many as may be copied at once.
[[nodiscard]] std::vector<survivors> take_sparse(shard_state& state);

/// Takes the copies that can still be made, as the records that a snapshot writes.
[[nodiscard]] std::vector<segment_appended> take_copies(shard_state& state);

/// Takes the tasks out of their segments, which are left without a task to keep. Returns the asides
/// that are to take their places. @pre each is of a sparse segment, all survivors of which are
/// among them
[[nodiscard]] std::vector<segment>
leave_segments(shard_state& state, const std::vector<segment_appended>& copied);

/// Adds the asides. One that has the first task of its segment replaces the segment.
void add_asides(shard_state& state, std::vector<segment> asides);

} // namespace codeq::core
