// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/registrar.hpp"
#include "coordinator/shared/shared_board.hpp"
#include "sim/audit/auditor.hpp"
#include "sim/network.hpp"
#include "sim/sim_disk.hpp"
#include "sim/sim_session.hpp"
#include "sim/sim_shard.hpp"
#include "sim/sim_store.hpp"
#include "sim/world.hpp"
#include "storage/recovery/recovery.hpp"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace codeq::sim {

/// One start of the coordinator: recovers from the disk, drives the registrar, and moves messages
/// between connections, sessions, shards and the journal as the actors do.
class coordinator_process final : public coordinator::registrar_port {
public:
  coordinator_process(world& all, sim_disk& disk, auditor& audit);

  /// The latest shard time of a shard.
  [[nodiscard]] timestamp shard_now(shard_id shard) { return shards_[value(shard)]->now(); }

  [[nodiscard]] timestamp earliest_shard_now();

  /// Accepts a new connection; its first frame has to be a hello.
  void accept(const connection_ptr& made);

  /// Accepts nothing more and commits everything, as on SIGTERM.
  void stop();

  /// Checks that no hello waits too long for its answer.
  void check_hellos();

  [[nodiscard]] bool has_stopped() const;

  /// Ends the process at once; writes that the journal had begun may or may not reach the disk.
  void kill();

  [[nodiscard]] sim_shard& shard(std::size_t i) { return *shards_[i]; }

  [[nodiscard]] std::size_t shard_count() const { return shards_.size(); }

  void open_session(std::uint64_t hello, coordinator::session_opening opening) override;

  void open_stream(
    std::uint64_t,
    const protocol::node_introduction&,
    const protocol::hello_ack&) override {}

  void end_stream(std::uint64_t, const error&) override {}

  void note_full(const std::string&) override {}

  void refuse(std::uint64_t hello, const error& reason) override;
  void probe(core::peer_id peer, std::uint64_t hello) override;
  void end_session(core::peer_id peer, const error& reason) override;
  void detach(core::peer_id peer) override;

  /// The simulated nodes are of one tenant, so none makes room for another.
  [[nodiscard]] std::int64_t last_message(core::peer_id) const override { return 0; }

  void to_shards(core::command command) override;

  [[nodiscard]] std::shared_ptr<const security::principal>
  authenticate(const std::string&) const override {
    return nullptr;
  }

  [[nodiscard]] result<void> review(const security::principal&) const override { return {}; }

  /// The simulated nodes have no tokens.
  void review_after(duration) override {}

private:
  /// A connection whose hello was not answered yet.
  struct open_hello {
    connection_ptr from;
    virtual_time since;
  };

  void recover_shard(shard_id id);
  /// Every start does, since a power cut may take the definitions.
  void define_limits();
  void take_hello(const connection_ptr& from, const protocol::wire_frame& frame);
  void connect(core::peer_id peer, sim_session& session);

  world& world_;
  sim_disk& disk_;
  auditor& auditor_;
  process process_;
  storage::store_record identity_;
  mailbox registrar_box_;
  coordinator::registrar registrar_;
  sim_journal journal_;
  sim_reader reader_;
  std::shared_ptr<core::ready_board> board_;
  bool may_have_lost_ = false;
  std::vector<std::unique_ptr<sim_shard>> shards_;
  /// By peer. Sessions that ended stay, because planned events may still refer to them.
  std::map<core::peer_id, std::unique_ptr<sim_session>> sessions_;
  std::uint64_t last_hello_ = 0;
  std::map<std::uint64_t, open_hello> hellos_;
  /// Unanswered probes of each session's node; true once the node has answered.
  std::multimap<core::peer_id, std::shared_ptr<bool>> pongs_;
  /// Sessions whose node did not answer a probe in time.
  std::set<core::peer_id> silent_;
};

} // namespace codeq::sim
