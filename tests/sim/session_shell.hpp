// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/claim_router.hpp"
#include "protocol/convert.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::sim {

class shard_shell;

/// Moves messages between a connection and the shards as the session actor does.
class session_shell {
public:
  struct parts {
    core::peer_id peer = 0;
    protocol::node_introduction node;
    connection_ptr link;
    std::vector<shard_shell*> shards;
    /// Told once when the session is over.
    std::function<void(session_shell&)> on_end;
  };

  /// Leased tasks on their way.
  struct batch {
    shard_id shard{};
    std::uint32_t count = 0;
    bool redelivered = false;
    /// Empty when the shard said it before.
    std::optional<bool> more;
    protocol::wire_frame frame;
  };

  session_shell(world& all, process& home, parts made);

  // Called by others; each becomes a message to the session.
  void take(const protocol::wire_frame& frame);
  void deliver(const batch& tasks);
  void send_later(const protocol::wire_frame& frame);
  void drained(shard_id shard);
  void has_work(shard_id shard);
  void credits_returned(shard_id shard, std::uint32_t credits);
  void end_later(const error& reason);

  /// The connection is gone.
  void connection_lost();

  [[nodiscard]] const parts& made_of() const { return parts_; }

private:
  void later(timeline::action what);
  void read(const protocol::wire_frame& frame);
  void claim(const protocol::claim_request& m);
  void goodbye();
  void carry_out(const coordinator::claim_router::moves& moves);
  void end(const error& reason);

  template <class S>
  void forward(const protocol::frame<S>& m);

  /// Passes on what an operator asks of one shard.
  template <class S>
  void ask_shard(const protocol::frame<S>& m);

  world& world_;
  parts parts_;
  mailbox box_;
  coordinator::claim_router router_;
  std::shared_ptr<const worker_identity> worker_;
  duration lease_wish_{0};
  std::uint32_t batch_tasks_ = 0;
  bool over_ = false;
};

} // namespace codeq::sim
