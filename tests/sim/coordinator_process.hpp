// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "sim/auditor.hpp"
#include "sim/journal_shell.hpp"
#include "sim/network.hpp"
#include "sim/session_shell.hpp"
#include "sim/shard_shell.hpp"
#include "sim/sim_disk.hpp"
#include "sim/world.hpp"
#include "storage/recovery.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace codeq::sim {

/// One start of the coordinator: recovers from the disk, and moves messages between connections,
/// sessions, shards and the journal as the actors do. Also plays the registrar.
class coordinator_process {
public:
  coordinator_process(world& all, sim_disk& disk, auditor& audit);

  /// The latest shard time of a shard.
  [[nodiscard]] timestamp shard_now(shard_id shard) { return shards_[value(shard)]->now(); }

  [[nodiscard]] timestamp earliest_shard_now();

  /// Takes a new connection; the next frame on it has to be a hello.
  void accept(const connection_ptr& made);

  /// Ends the process at once; what the journal had begun to write may or may not be on the disk.
  void kill();

  [[nodiscard]] shard_shell& shard(std::size_t i) { return *shards_[i]; }

  [[nodiscard]] std::size_t shard_count() const { return shards_.size(); }

private:
  struct worker_name {
    std::uint64_t incarnation = 0;
    session_shell* session = nullptr;
    std::vector<std::uint64_t> superseded;
  };

  void take_hello(const connection_ptr& from, const protocol::wire_frame& frame);
  void welcome_worker(const connection_ptr& from, const protocol::node_introduction& node);
  void take_over(const connection_ptr& from, const protocol::node_introduction& node);
  void end_session_of(worker_name& name, const error& reason);
  void admit(const connection_ptr& from, const protocol::node_introduction& node);
  void refuse(const connection_ptr& from, const error& reason);
  void forget(session_shell& session);

  world& world_;
  sim_disk& disk_;
  auditor& auditor_;
  process process_;
  storage::store_record identity_;
  mailbox registrar_;
  journal_shell journal_;
  reader_shell reader_;
  std::vector<std::unique_ptr<shard_shell>> shards_;
  std::vector<std::unique_ptr<session_shell>> sessions_;
  std::map<std::string, worker_name> workers_;
  /// Whether the peer of a connection answered the latest ping.
  std::map<connection*, std::shared_ptr<bool>> pongs_;
};

} // namespace codeq::sim
