// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "core/commands/effect.hpp"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

namespace codeq::http {

/// The requests about leases that are not answered yet: reports, checkpoints and heartbeats. Each
/// callback is called once, when the request is no longer kept, since it may make the next request.
/// Pure.
class lease_requests {
public:
  using lease_name = std::tuple<shard_id, sequence, fencing_token>;

  using then = std::function<void(result<void>)>;

  /// Keeps the report of a lease.
  void add_report(const lease_name& lease, then done);

  /// Keeps a checkpoint until it is durable.
  void add_checkpoint(const lease_name& lease, then done);

  /// Why a heartbeat has failed; no error while nothing is known.
  using beat = std::shared_ptr<result<void>>;

  /// Keeps a heartbeat, which a shard answers only when the lease is over.
  [[nodiscard]] beat add_beat(const lease_name& lease);

  /// The shard has answered what it was asked after the heartbeat. Errors: `stale_lease`, or the
  /// reason of `fail`.
  [[nodiscard]] result<void> end_beat(const lease_name& lease, const beat& sent);

  // Answers of a shard.

  void take(shard_id shard, const core::reports_answered& answered);
  void take(shard_id shard, const core::leases_lost& lost);
  void take(shard_id shard, const core::checkpoints_saved& saved);

  /// One checkpoint, of which only the token is known, is durable; or it was refused.
  void take_saved(shard_id shard, fencing_token token, const result<void>& how = {});

  /// Fails the requests for these shards. @pre `shards` ascend
  void fail(std::span<const shard_id> shards, const error& reason);

  /// Fails all reports and checkpoints, and forgets the heartbeats.
  void fail_all(const error& reason);

private:
  std::multimap<lease_name, then> reports_;
  /// In the order in which they were sent.
  std::multimap<lease_name, then> checkpoints_;
  std::multimap<lease_name, beat> beats_;
};

} // namespace codeq::http
