// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/coordinator_actors.hpp"
#include "core/effect.hpp"
#include "security/principal.hpp"
#include "storage/retention_filter.hpp"
#include "storage/write_set.hpp"

#include <caf/typed_actor.hpp>

#include <cstdint>
#include <memory>
#include <vector>

/// The actor interfaces of those that touch the store: journal, log syncer, reader and keeper.
namespace codeq::actors {

/// One shard's part of a group commit.
struct commit_request {
  shard_internal_actor shard;
  std::uint64_t number = 0;
  std::shared_ptr<const storage::write_set> writes;
  /// What may be dropped once these writes are synced; null when they hold no checkpoint.
  std::shared_ptr<const storage::shard_horizon> horizon{};
};

/// Writes the group that has gathered.
struct write_group {};

/// It is time to have the log synced, in `os` mode.
struct sync_journal {};

/// A shard will soon have given all numbers of the epoch.
struct raise_epoch {
  shard_internal_actor shard;
};

/// The JOURNAL actor interface: the only writer of the store. It has a thread of its own
/// when it waits for the disk.
using journal_actor = caf::typed_actor<
  // Gathers a shard's writes into the next group.
  caf::reacts_to<commit_request>,
  // Raises the store's epoch, durably, then tells the shard.
  caf::reacts_to<raise_epoch>,
  // Commits the group, then tells its shards.
  caf::reacts_to<write_group>,
  // Has what was written since the last time synced.
  caf::reacts_to<sync_journal>>;

/// Asks to bring everything to the disk that was committed before.
struct sync_log {};

/// What was asked for is on the disk, or why nobody can tell.
struct log_synced {
  result<void> how{};
};

/// The LOG SYNCER actor interface: waits for the disk so that the journal of `os` mode need not;
/// detached.
using log_syncer_actor = caf::typed_actor<
  // Syncs the log.
  caf::replies_to<sync_log>::with<log_synced>>;

/// Asks for the bodies of granted tasks that the shard has not in its cache.
struct fetch_bodies {
  shard_id shard{};
  session_actor session;
  core::tasks_granted granted;
  /// One per run; empty where the body has to be read.
  std::vector<core::encoded_tasks> bodies;
};

/// Asks for what is on disk about a task at a shard time. `view` is empty when only its fate can
/// tell.
struct answer_inquiry {
  shard_id shard{};
  session_actor session;
  core::inquiry why;
  sequence seq = 0;
  std::shared_ptr<const core::task_view> view;
  /// Fates below these marks do not count; null when there is none.
  std::shared_ptr<const core::purge_marks> purged{};
  timestamp now{};
  /// Who asks; null when everybody may see everything.
  std::shared_ptr<const security::principal> asker{};
};

/// The READER actor interface: reads what was committed and answers the session itself; detached,
/// so that no scheduled actor does I/O.
using reader_actor = caf::typed_actor<
  // Reads bodies and sends the batch.
  caf::reacts_to<fetch_bodies>,
  // Reads a text or a fate and sends the answer.
  caf::reacts_to<answer_inquiry>>;

/// Looks whether ended tasks take too much space, once in a while.
struct look_at_retention {};

/// The KEEPER actor interface: gives the space of ended tasks back; detached, since it waits.
using keeper_actor = caf::typed_actor<
  // Has what may be dropped rewritten, when that is worth it.
  caf::reacts_to<look_at_retention>>;

} // namespace codeq::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::commit_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::raise_epoch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::write_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::sync_journal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::sync_log)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::log_synced)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::fetch_bodies)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::answer_inquiry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::look_at_retention)
