// SPDX-License-Identifier: Apache-2.0
#include "replication/stores/store_world.hpp"

#include <algorithm>
#include <utility>

namespace codeq::replication::stores {

using namespace std::chrono_literals;

store_world::store_world(world_options options)
  : options_(options),
    random_(options.seed),
    is_cut_(options.nodes, std::vector<bool>(options.nodes, false)) {
  membership first;
  first.version = 1;
  first.epoch = 1;
  first.min_in_sync = options.min_in_sync;
  for (std::size_t i = 0; i < options.nodes; ++i)
    first.replicas.push_back(replica_id{(i + 1) * 11});
  first.primary = first.replicas.front();
  first.in_sync = {first.primary};
  values_.push_back(first);
  for (std::size_t i = 0; i < options.nodes; ++i)
    nodes_.push_back(std::make_unique<store_node>(*this, i, first.replicas[i]));
  for (std::size_t i = 0; i < options.nodes; ++i) {
    nodes_[i]->start(i == 0);
    poll(i);
  }
}

store_world::~store_world() = default;

bool store_world::run_until(const std::function<bool()>& holds, sim::span most) {
  for (const auto end = time_.now() + most; time_.now() < end; run(5ms))
    if (holds())
      return true;
  return holds();
}

store_node* store_world::server() {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return node->is_serving();
  });
  return found == nodes_.end() ? nullptr : found->get();
}

store_node* store_world::await_server(const store_node* not_this) {
  const auto serves = [this, not_this] { return server() && server() != not_this; };
  return run_until(serves) ? server() : nullptr;
}

bool store_world::await_in_sync() {
  return run_until([this] { return value().in_sync.size() == running(); });
}

std::size_t store_world::running() const {
  return static_cast<std::size_t>(
    std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->is_up(); }));
}

std::size_t store_world::index_of(replica_id id) const {
  return static_cast<std::size_t>(id) / 11 - 1;
}

void store_world::send(std::size_t from, replica_id to, std::function<void(store_node&)> deliver) {
  const auto index = index_of(to);
  // In order, as on a connection.
  auto& free = link_free_[{from, index}];
  free = std::max(free, time_.now() + random_.moment(50, 400));
  time_.after(free - time_.now(), [this, from, index, deliver = std::move(deliver)] {
    if (!is_cut_[from][index] && nodes_[index]->is_up())
      deliver(*nodes_[index]);
  });
}

void store_world::compare_and_set(
  std::size_t from, const membership& old, const membership& next) {
  time_.after(random_.moment(500, 3'000), [this, from, old, next] {
    const auto applied = values_.back() == old;
    if (applied)
      values_.push_back(next);
    nodes_[from]->later(1ms, [this, from, applied, current = values_.back()] {
      nodes_[from]->etcd_answered(current, applied);
    });
  });
}

void store_world::force(std::size_t index) {
  const auto& replica = nodes_[index]->driver().replica();
  const replica_id id{(index + 1) * 11};
  values_.push_back(force_primary(values_.back(), id, replica.promised()));
}

void store_world::poll(std::size_t index) {
  nodes_[index]->later(1ms, [this, index, current = values_.back()] {
    nodes_[index]->etcd_answered(current, false);
  });
  time_.after(1s, [this, index] { poll(index); });
}

} // namespace codeq::replication::stores
