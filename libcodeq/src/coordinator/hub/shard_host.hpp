// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"

#include <map>

namespace codeq::coordinator {

/// Stands for one shard of a cluster towards sessions and the gateway, which keep its handle while
/// the shard comes and goes: it knows who is attached, and attaches them to a shard that comes.
class shard_host_state {
public:
  static constexpr const char* name = "shard_host";

  void start(shard_host_actor::pointer self, shard_id shard) {
    self_ = self;
    id_ = shard;
  }

  /// Passes a message on to the shard; without one it is dropped.
  template <class Message>
  void pass_on(const Message& m) {
    if (shard_)
      self_->send(shard_, m);
  }

  void attach(const attach_peer& m);
  void detach(const detach_peer& m);
  void note_queues(const shard_command& m);
  [[nodiscard]] caf::result<base::coordinator_counts> stats(const ask_shard_stats& m);
  [[nodiscard]] caf::result<bool> stop();

  /// Tells all peers.
  void tell(places_changed m);

  /// The shard comes, or leaves when `m` names none.
  void host(const host_shard& m);

private:
  /// The claim of the peer has ended, and is in no need of tasks.
  void forget_queues(core::peer_id peer);
  void attach_to_shard(const attach_peer& m);

  shard_host_actor::pointer self_ = nullptr;
  shard_id id_{};
  /// Null while the shard is not here.
  shard_actor shard_;
  std::map<core::peer_id, attach_peer> peers_;
};

[[nodiscard]] shard_host_actor::behavior_type
shard_host(shard_host_actor::stateful_pointer<shard_host_state> self, shard_id shard);

} // namespace codeq::coordinator
