// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/stores/client.hpp"
#include "replication/stores/store_node.hpp"
#include "replication/timeline.hpp"
#include "sim/chance.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::replication::stores {

struct world_options {
  storage::durability mode = storage::durability::sync;
  std::size_t nodes = 2;
  std::uint64_t seed = 1;
  /// How many replicas are in sync from the beginning; the others are copied.
  std::size_t founders = 1;
  std::uint32_t min_in_sync = 1;
};

/// Coordinators with real stores that keep one shard, a network between them that carries encoded
/// bytes, and etcd as one value, under virtual time. The first one begins alone, with a store that
/// was in use, and is given the others as replicas.
class store_world {
public:
  explicit store_world(world_options options);
  ~store_world();

  void run(sim::span length) { time_.run_until(time_.now() + length); }

  /// Runs until the condition holds, at most so long; returns whether it does.
  bool run_until(const std::function<bool()>& holds, sim::span most = std::chrono::seconds(20));

  [[nodiscard]] store_node& at(std::size_t index) { return *nodes_[index]; }

  /// The node that serves the shard; null when none does.
  [[nodiscard]] store_node* server();

  /// Runs until another node than `not_this` serves; null when none does in time.
  store_node* await_server(const store_node* not_this = nullptr);

  /// Runs until all nodes that are up are in sync.
  bool await_in_sync();

  /// Whether messages from one node reach another.
  void cut(std::size_t from, std::size_t to, bool is_cut) { is_cut_[from][to] = is_cut; }

  [[nodiscard]] const membership& value() const { return values_.back(); }

  /// An operator makes the node the primary, whatever it has got.
  void force(std::size_t index);

  [[nodiscard]] client& user() { return client_; }

  [[nodiscard]] sim::timeline& time() { return time_; }

  [[nodiscard]] codeq::sim::chance& random() { return random_; }

  [[nodiscard]] const world_options& options() const { return options_; }

  [[nodiscard]] std::size_t running() const;

  // Calls of the nodes.

  void send(std::size_t from, replica_id to, std::function<void(store_node&)> deliver);
  void compare_and_set(std::size_t from, const membership& old, const membership& next);

private:
  [[nodiscard]] std::size_t index_of(replica_id id) const;
  void poll(std::size_t index);

  world_options options_;
  codeq::sim::chance random_;
  sim::timeline time_;
  std::vector<membership> values_;
  std::vector<std::vector<bool>> is_cut_;
  std::map<std::pair<std::size_t, std::size_t>, sim::span> link_free_;
  client client_;
  std::vector<std::unique_ptr<store_node>> nodes_;
};

} // namespace codeq::replication::stores
