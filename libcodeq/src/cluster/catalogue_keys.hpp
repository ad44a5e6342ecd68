// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace codeq::cluster {

/// The keys of all clusters begin with it.
inline constexpr std::string_view catalogue_root = "/codeq/";

/// The keys of one cluster in etcd.
///
///   /codeq/CLUSTER/cluster      := cluster_record
///   /codeq/CLUSTER/controller   := controller_record, leased
///   /codeq/CLUSTER/nodes/NAME   := node_record, leased
///   /codeq/CLUSTER/shards/N     := shard_record, N decimal without leading zeros
class catalogue_keys {
public:
  /// @pre is_valid_name(cluster)
  explicit catalogue_keys(std::string_view cluster);

  /// All keys of the cluster begin with it, and no keys of another one.
  [[nodiscard]] const std::string& prefix() const { return prefix_; }

  [[nodiscard]] std::string cluster() const { return prefix_ + "cluster"; }

  [[nodiscard]] std::string controller() const { return prefix_ + "controller"; }

  [[nodiscard]] std::string node(std::string_view name) const;
  [[nodiscard]] std::string shard(shard_id number) const;

  struct cluster_key {
    bool operator==(const cluster_key&) const = default;
  };

  struct controller_key {
    bool operator==(const controller_key&) const = default;
  };

  struct node_key {
    std::string name;

    bool operator==(const node_key&) const = default;
  };

  struct shard_key {
    shard_id number{};

    bool operator==(const shard_key&) const = default;
  };

  /// Of a newer version, or of nobody; it is left alone.
  struct other_key {
    bool operator==(const other_key&) const = default;
  };

  using parsed = std::variant<cluster_key, controller_key, node_key, shard_key, other_key>;

  [[nodiscard]] parsed parse(std::string_view key) const;

private:
  std::string prefix_;
};

} // namespace codeq::cluster
