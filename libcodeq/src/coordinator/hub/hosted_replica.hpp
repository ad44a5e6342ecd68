// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/actors/shard_driver.hpp"
#include "coordinator/replica/replica_driver.hpp"
#include "storage/replica/delta_spool.hpp"
#include "storage/replica/shard_copy.hpp"
#include "storage/replica/shard_sweep.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

namespace codeq::coordinator {

class replica_hub;

/// A shard that is to be served, and what its actor gets.
struct served_shard {
  std::shared_ptr<core::shard_state> state;
  std::shared_ptr<base::clock> clock;
  shard_journal_actor journal;
  std::shared_ptr<const shard_authority> authority;
  neighbours_actor neighbours;
  replication::epoch_number epoch = 0;
};

/// One replica of this coordinator, and the shard while it is served here. Owned by the hub, whose
/// thread it uses; what waits for the disk is done by the hub's workers.
class hosted_replica final : public replica_host {
public:
  /// @pre `hub` and `memory` outlive the replica
  hosted_replica(replica_hub& hub, replica_driver_options options, ring_memory& memory);

  hosted_replica(const hosted_replica&) = delete;
  hosted_replica& operator=(const hosted_replica&) = delete;
  ~hosted_replica() override;

  [[nodiscard]] shard_id shard() const { return shard_; }

  [[nodiscard]] replication::replica_id id() const { return id_; }

  [[nodiscard]] replica_driver& driver() { return *driver_; }

  /// The directory of its own in that of the spools.
  [[nodiscard]] std::filesystem::path spool_directory() const;

  /// Gives the shard away: takes no more requests, and lets `to` take over when what was taken is
  /// durable and answered, or after `drain_max`.
  void hand_over(replication::replica_id to);

  /// The shard was drained, or had its time for it.
  void drained(const shard_internal_actor& shard, replication::replica_id to);

  /// A turn of a shard. Dropped unless it is the one that is served.
  void propose(const committer_actor& from, turn_commit turn);

  /// Tells the shard, if it is served here, that others are served anew.
  void tell_moved(const neighbours_moved& m) const;

  /// The sweep of the replica's data, for a copy or since the replica is dropped.
  void read_removals(const replication::copy_id& id) override;
  [[nodiscard]] bool takes_copies() const override;

  void send(replication::replica_id to, const replication::message& what) override;
  void send(replication::replica_id to, const copy_message& what) override;
  void gather(turn_commit turn) override;
  void compare_and_set(
    const replication::membership& old, const replication::membership& next) override;
  void spool(const replication::entry& e) override;
  void read_spool(replication::replica_id to, replication::position after) override;
  void keep_spool(std::optional<std::uint64_t> from) override;
  void open_copy(const replication::copy_id& id) override;
  void read_part(const replication::copy_id& id) override;
  void close_copy(const replication::copy_id& id) override;
  void recover(replication::epoch_number epoch, timestamp shard_time) override;
  void drop_recovery() override;
  void serve(replication::epoch_number epoch) override;
  void stop_serving() override;
  void acknowledged(std::uint64_t number) override;
  [[nodiscard]] timestamp shard_time() override;
  [[nodiscard]] bool reaches_etcd() const override;

private:
  class authority;

  void end_shard();

  replica_hub& hub_;
  shard_id shard_;
  replication::replica_id id_;
  /// Used by the spooler's thread.
  std::shared_ptr<storage::delta_spool> spool_;
  /// Used by the copier's thread.
  std::map<replication::copy_id, std::shared_ptr<storage::shard_copy>> copies_;
  std::shared_ptr<storage::shard_sweep> sweep_;
  replication::copy_id swept_for_{};

  // While the shard is served, or recovered for it.
  std::shared_ptr<core::shard_state> recovered_;
  /// Counts the recoveries that were begun or dropped; the end of an older one is void.
  std::uint64_t recoveries_ = 0;
  std::shared_ptr<base::clock> clock_;
  std::shared_ptr<authority> authority_;
  /// Null while the shard is not served here.
  shard_internal_actor served_;
  /// The shard takes no more requests, since it is handed over.
  bool is_draining_ = false;
  monotonic_time recovery_began_{};
  /// Last, since it calls this object when it begins.
  std::optional<replica_driver> driver_;
};

} // namespace codeq::coordinator
