// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/member.hpp"
#include "etcd/client.hpp"

#include <functional>
#include <memory>

namespace codeq::cluster {

/// What a `member` tells its coordinator, called on the thread of the client of etcd.
struct member_events {
  std::function<void(shard_id, const shard_record&, bool is_applied)> shard_told;
  std::function<void(shard_id)> build_replica;
  std::function<void(shard_id, replication::replica_id)> drop_replica;
  std::function<void(shard_id, replication::replica_id to)> hand_over;
  std::function<void(const cluster_map&)> map_changed;
  std::function<void(std::uint32_t)> store_format_told = [](std::uint32_t) {};
  /// The process has to end.
  std::function<void(const std::string&)> must_end;
  std::function<void(const std::string&)> needs_repair;
  /// A line for the log, about a watch that was cut.
  std::function<void(const std::string&)> noted;
  /// etcd has not answered for `timing::etcd_silent`, for this reason.
  std::function<void(const std::string&)> etcd_lost = [](const std::string&) {};
  /// etcd answers again.
  std::function<void()> etcd_found = [] {};
  /// See `member_port::note_record`.
  std::function<void(const std::string&)> record_noted = [](const std::string&) {};
};

/// Drives a `member` with a client of etcd and a timer. Thread-safe; its functions return at once.
class member_driver {
public:
  /// Starts at once.
  member_driver(etcd::client::options etcd, member_options options, member_events events);
  ~member_driver();
  member_driver(const member_driver&) = delete;
  member_driver& operator=(const member_driver&) = delete;

  /// As in `member`.
  void compare_and_set(shard_id shard, replication::membership old, replication::membership next);
  void replica_built(shard_id shard, replication::replica_id replica);
  void serves(shard_id shard, replication::epoch_number epoch);
  void holds(shard_id shard, replication::replica_id replica);
  void set_disk(const node_disk& disk);
  void leave();
  /// Gives up the lease; then `done` is called, also when etcd does not answer.
  void end(std::function<void()> done);

  /// Called with the end of a change and, when it has no error, the state of the cluster.
  using status_told = std::function<void(const change_end&, result<cluster_status>)>;

  /// Has an operator's change stored, then calls `told` on the client's thread. Errors: as
  /// `member::change`.
  void change(
    const cluster_change& wanted, const std::optional<own_copy>& own, status_told told);

  /// Looks at the member, on the client's thread.
  void look(std::function<void(const member&)> at);

  /// To be kept on a disk, synced.
  [[nodiscard]] etcd::header known_etcd() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace codeq::cluster
