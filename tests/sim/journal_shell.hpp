// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/effect.hpp"
#include "sim/sim_disk.hpp"
#include "sim/world.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::sim {

class session_shell;
class shard_shell;

/// Moves turns to the disk as the journal does: gathers while it writes, and tells shards only what
/// is written.
class journal_shell {
public:
  journal_shell(world& all, process& home, sim_disk& disk);

  /// Called from a shard.
  void gather(shard_shell& from, std::uint64_t number, turn_writes turn);

  /// The process ends: what it was writing may or may not have reached the disk.
  void lose_power_over_writing();

private:
  struct request {
    shard_shell* from;
    std::uint64_t number;
    turn_writes turn;
  };

  void write();
  void finish();
  void put_on_disk();

  world& world_;
  process& home_;
  sim_disk& disk_;
  storage::durability mode_;
  mailbox box_;
  std::vector<request> group_;
  std::vector<request> writing_;
  bool sync_armed_ = false;
};

/// What a shard leaves to the store. `view` is empty when the task has left the shard's memory, and
/// fates below the marks do not count.
struct stored_inquiry {
  core::inquiry why;
  sequence seq = 0;
  std::optional<core::task_view> view;
  std::shared_ptr<const core::purge_marks> purged;
  /// Shard time.
  timestamp now;
};

/// Reads back what the shard does not hold, as the reader does.
class reader_shell {
public:
  reader_shell(world& all, process& home, sim_disk& disk);

  /// Called from a shard; `bodies` has an empty entry for each run that is to be read.
  void fetch(
    shard_id shard,
    session_shell& to,
    core::tasks_granted granted,
    std::vector<core::encoded_tasks> bodies);

  /// Called from a shard.
  void answer(shard_id shard, session_shell& to, stored_inquiry asked);

private:
  void send_bodies(
    shard_id shard,
    session_shell& to,
    core::tasks_granted& granted,
    std::vector<core::encoded_tasks>& bodies);
  void describe(
    shard_id shard, session_shell& to, const stored_inquiry& asked, const core::task_view& view);
  static void
  answer_unknown(shard_id shard, session_shell& to, const core::inquiry& why, sequence seq);

  sim_disk& disk_;
  mailbox box_;
};

} // namespace codeq::sim
