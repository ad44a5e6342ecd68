// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/map_source.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace codeq::coordinator {

/// The shards of the cluster that are served here, and where the others are. Kept by the replicas.
class served_shards final : public map_source {
public:
  /// The number of shards is that of the cluster. Their places are told later.
  explicit served_shards(std::uint32_t shards) { map_.set_shards(shards); }

  [[nodiscard]] std::optional<replication::epoch_number>
  served_epoch(shard_id shard) const override {
    const auto found = here_.find(shard);
    return found == here_.end() ? std::nullopt : std::optional(found->second);
  }

  [[nodiscard]] const cluster::cluster_map& map() const override { return map_; }

  /// The shard is served here in that epoch, in place of an earlier one.
  void add(shard_id shard, replication::epoch_number epoch) {
    here_.insert_or_assign(shard, epoch);
  }

  void remove(shard_id shard) { here_.erase(shard); }

  void set_map(cluster::cluster_map map) { map_ = std::move(map); }

  /// This coordinator was made the primary of a shard by force.
  void note_forced() { ++forced_; }

  /// How often, since the start. Called on any thread.
  [[nodiscard]] std::uint64_t forced() const { return forced_; }

  /// Called on any thread, as `etcd_answers`.
  void note_etcd(bool answers) { etcd_answers_ = answers; }

  /// Without etcd no shard gets another primary.
  [[nodiscard]] bool etcd_answers() const { return etcd_answers_; }

  /// Called on any thread, as `store_format`.
  void note_store_format(std::uint32_t store_format) { store_format_ = store_format; }

  /// The format of records that all coordinators of the cluster read.
  [[nodiscard]] std::uint32_t store_format() const { return store_format_; }

private:
  std::atomic<std::uint64_t> forced_ = 0;
  /// The coordinator starts only when etcd answers.
  std::atomic<bool> etcd_answers_ = true;
  std::atomic<std::uint32_t> store_format_ = 1;
  std::map<shard_id, replication::epoch_number> here_;
  cluster::cluster_map map_;
};

} // namespace codeq::coordinator
