// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "replication/membership.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace codeq::cluster {

/// Where a shard is served.
struct shard_place {
  std::string node;
  std::string address;
  /// Empty when the node serves no HTTP.
  std::string http_address;
  replication::epoch_number epoch = 0;
  /// Of the shard's record; a higher one is newer.
  std::uint64_t version = 0;

  bool operator==(const shard_place&) const = default;
};

/// Places of shards, as a coordinator tells a client: all that it knows after the hello, then those
/// that change. They travel in messages of their own; an answer `not_owner` has only a text.
struct map_news {
  /// Number of shards of the cluster.
  std::uint32_t shards = 0;
  struct item {
    shard_id shard{};
    shard_place place;

    bool operator==(const item&) const = default;
  };
  /// Ascending by shard.
  std::vector<item> items;

  bool operator==(const map_news&) const = default;
};

/// Checks news from a peer. Errors: `protocol_error`, which names the field.
[[nodiscard]] result<void> check(const map_news& news);

/// Which coordinator serves each shard, as a client or a coordinator knows it. Pure; a value.
class cluster_map {
public:
  /// Takes what is newer. Returns whether a shard has another place now. News of a cluster with
  /// another number of shards are refused: `protocol_error`.
  [[nodiscard]] result<bool> merge(const map_news& news);

  /// Takes the place of one shard if it is newer, or another address of its node. @pre `shard` is
  /// below `shards()`
  bool merge(shard_id shard, const shard_place& place);

  /// Another address of a node, which does not change the version of its shards.
  bool move_node(const std::string& node, const std::string& address, const std::string& http);

  /// 0 until the first news.
  [[nodiscard]] std::uint32_t shards() const {
    return static_cast<std::uint32_t>(places_.size());
  }

  void set_shards(std::uint32_t count);

  /// The place of a shard; null when it is not known.
  [[nodiscard]] const shard_place* of(shard_id shard) const;

  /// The addresses that serve shards, sorted, each once.
  [[nodiscard]] std::vector<std::string> addresses() const;

  /// All that is known.
  [[nodiscard]] map_news whole() const;

  /// Counts the places that were taken; grows whenever the map does.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  /// The places that were taken since `changes()` was `after`.
  [[nodiscard]] map_news news_after(std::uint64_t after) const;

private:
  struct known_place {
    shard_place place;
    /// `changes_` when it was taken.
    std::uint64_t change = 0;
  };

  std::vector<std::optional<known_place>> places_;
  std::uint64_t changes_ = 0;
};

} // namespace codeq::cluster
