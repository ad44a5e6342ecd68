// SPDX-License-Identifier: Apache-2.0
// The part of `moving_cluster` that disturbs it.
#include "placement/moving_cluster.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster::sim {

using namespace std::chrono_literals;

span moving_cluster::length_of_fault() {
  const auto length = random_.moment(10'000, random_.hits(300) ? 6'000'000 : 2'000'000);
  return std::min(length, healed_at - time_.now());
}

void moving_cluster::make_fault() {
  if (is_healed_)
    return;
  disturb(random_.below(nodes_.size()));
  time_.after(
    random_.moment(10'000, scenario_.fault_pause_ms * 1000), [this] { make_fault(); });
}

void moving_cluster::lose_node() {
  if (!scenario_.has_lost_node)
    return;
  down_node_ = random_.below(nodes_.size());
  note("lose " + nodes_[*down_node_]->name());
  nodes_[*down_node_]->kill();
}

void moving_cluster::start(std::size_t index) {
  if (index != down_node_)
    nodes_[index]->start();
}

void moving_cluster::disturb(std::size_t index) {
  const auto length = length_of_fault();
  const auto other = (index + 1 + random_.below(nodes_.size() - 1)) % nodes_.size();
  switch (random_.below(12)) {
  case 0:
  case 1:
  case 2:
    return crash(index, length);
  case 3:
    note("pause c" + std::to_string(index));
    return nodes_[index]->pause(length);
  case 4:
    return cut(index, other, random_.hits(500), length);
  case 5:
    return isolate(index, length);
  case 6:
    isolate(index, length);
    return crash(other, std::min<span>(length, random_.moment(1'000, 100'000)));
  case 7:
    return cut_etcd(index, random_.hits(300), length);
  case 8:
    note("disk hangs c" + std::to_string(index));
    return nodes_[index]->hang_disk(length);
  case 9:
    return fill_disk(index, length);
  case 10:
    // Another one may lose its power before it is known; then not all members of the set answer.
    if (!scenario_.is_os && may_lose_disk(index)) {
      nodes_[index]->empty_disk();
      time_.after(length, [this, index] { start(index); });
    }
    return;
  default:
    note("stop c" + std::to_string(index));
    nodes_[index]->stop([this, index, length] {
      const auto pause = is_healed_ ? span{} : std::min(length, healed_at - time_.now());
      time_.after(pause, [this, index] { start(index); });
    });
  }
}

void moving_cluster::crash(std::size_t index, span length) {
  if (random_.hits(500))
    nodes_[index]->cut_power();
  else
    nodes_[index]->kill();
  time_.after(length, [this, index] { start(index); });
}

void moving_cluster::cut(std::size_t from, std::size_t to, bool is_both, span length) {
  note("cut c" + std::to_string(from) + " to c" + std::to_string(to));
  is_cut_[from][to] = true;
  is_cut_[to][from] = is_cut_[to][from] || is_both;
  time_.after(length, [this, from, to] { is_cut_[from][to] = is_cut_[to][from] = false; });
}

void moving_cluster::isolate(std::size_t index, span length) {
  note("isolate c" + std::to_string(index));
  const auto set = [this, index](bool is_cut) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      is_cut_[index][i] = is_cut_[i][index] = is_cut;
  };
  set(true);
  time_.after(length, [set] { set(false); });
}

void moving_cluster::cut_etcd(std::size_t index, bool is_all, span length) {
  note("etcd away from " + (is_all ? "all" : nodes_[index]->name()));
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (is_all || i == index)
      etcd_.cut(i, true);
  time_.after(length, [this] {
    for (auto& node : nodes_)
      if (etcd_.is_cut(node->index())) {
        etcd_.cut(node->index(), false);
        node->reach_etcd();
      }
  });
}

void moving_cluster::fill_disk(std::size_t index, span length) {
  note("disk is full c" + std::to_string(index));
  nodes_[index]->set_tight(true);
  time_.after(length, [this, index] { nodes_[index]->set_tight(false); });
}

/// Whether every acknowledged delta of a disk is on another one, too, which stays in its set.
bool moving_cluster::may_lose_disk(std::size_t index) const {
  for (const auto& shard : shards_) {
    const auto set = sure_members(shard);
    const auto is_held = std::any_of(set.begin(), set.end(), [&](auto member) {
      const auto& holder = homes_.at(member);
      return holder.node->index() != index
             && holder.node->on_disk(holder.shard) == holder.replica
             && !holder.replica->is_doubtful();
    });
    if (!is_held)
      return false;
  }
  return true;
}

// Changes of an operator.

void moving_cluster::make_change() {
  if (is_healed_)
    return;
  ask(random_.below(nodes_.size()), random_change());
  if (random_.hits(300))
    force_primary();
  time_.after(
    random_.moment(10'000, scenario_.change_pause_ms * 1000), [this] { make_change(); });
}

/// An operator wants a node to lead, which loses its power before it does, and is back at once.
void moving_cluster::cut_wished_primary() {
  const shard_id shard{static_cast<std::uint16_t>(random_.below(shards_.size()))};
  const auto& members = record(shard).value.in_sync;
  const auto& wished = *homes_.at(members[random_.below(members.size())]).node;
  cluster_change move;
  move.what = cluster_change::kind::move;
  move.shard = shard;
  move.node = wished.name();
  move.operation = random_.next() | 1;
  ask(random_.below(nodes_.size()), move);
  time_.after(random_.moment(1'000, 1'000'000), [this, index = wished.index()] {
    if (!is_healed_)
      nodes_[index]->cut_power();
    time_.after(random_.moment(1'000, 200'000), [this, index] { start(index); });
  });
}

cluster_change moving_cluster::random_change() {
  cluster_change wanted;
  wanted.operation = random_.next() | 1;
  wanted.node = nodes_[random_.below(nodes_.size())]->name();
  wanted.shard = shard_id{static_cast<std::uint16_t>(random_.below(shards_.size()))};
  const auto dice = random_.below(10);
  if (dice < 6)
    wanted.what = cluster_change::kind::move;
  else if (dice == 6)
    wanted.what = cluster_change::kind::balance;
  else if (dice < 9 && drained_.empty())
    wanted.what = cluster_change::kind::drain;
  else
    wanted.what = cluster_change::kind::undrain;
  if (wanted.what == cluster_change::kind::undrain && !drained_.empty())
    wanted.node = *drained_.begin();
  return wanted;
}

void moving_cluster::ask(std::size_t index, const cluster_change& what) {
  auto& node = *nodes_[index];
  if (!node.is_up())
    return;
  const auto number = asked_.size();
  asked_.push_back({what, index, node.incarnation()});
  note("ask c" + std::to_string(index) + ": " + to_string(what));
  node.ask(what, own_copy_of(node, what), [this, number](const change_end& end) {
    note_end(asked_[number], end);
  });
}

void moving_cluster::note_end(asked& one, const change_end& end) {
  const auto words = to_string(one.what);
  if (std::exchange(one.is_told, true))
    fail("`cluster " + words + "` ends twice");
  if (!end.how && end.how.error().context.empty())
    fail("`cluster " + words + "` is refused without a reason");
  note(words + ": " + (end.how ? "stored" : end.how.error().context));
  counts_.stored += end.is_stored ? 1 : 0;
  const auto is_force = one.what.what == cluster_change::kind::force_primary;
  counts_.forced += is_force && end.is_stored ? 1 : 0;
  if (!is_force || end.how || !one.what.confirm.empty())
    return;
  const std::string before = "confirm it with the words: ";
  const auto& refusal = end.how.error().context;
  const auto at = refusal.find(before);
  if (at == std::string::npos)
    return;
  auto again = one.what;
  again.operation = random_.next() | 1;
  again.confirm = refusal.substr(at + before.size());
  time_.after(100ms, [this, node = one.node, again] { ask(node, again); });
}

/// Has a shard served by force whose members are all down, if another node has a copy.
void moving_cluster::force_primary() {
  const auto is_down = [this](auto member) { return !homes_.at(member).node->is_up(); };
  for (std::uint16_t i = 0; i < scenario_.shards; ++i) {
    const auto& record = shards_[i].records.back().second;
    if (!std::all_of(record.value.in_sync.begin(), record.value.in_sync.end(), is_down))
      continue;
    for (auto replica : record.value.replicas)
      if (const auto& node = *homes_.at(replica).node; node.is_up())
        return ask(
          node.index(),
          {.what = cluster_change::kind::force_primary,
           .shard = shard_id{i},
           .node = node.name(),
           .operation = random_.next() | 1});
  }
}

std::optional<own_copy>
moving_cluster::own_copy_of(const moving_node& node, const cluster_change& what) const {
  const auto found = node.running().find(what.shard);
  const auto is_force = what.what == cluster_change::kind::force_primary;
  if (!is_force || found == node.running().end())
    return std::nullopt;
  const auto& replica = found->second->process();
  own_copy own{
    replica.promised(), replica.log().last(), replica.is_doubtful(), replica.is_incomplete(), {}};
  for (const auto& other : nodes_)
    if (other->is_up() && !is_cut_[node.index()][other->index()])
      own.reachable.insert(other->name());
  return own;
}

void moving_cluster::heal() {
  note("heal");
  if (down_node_ && may_lose_disk(*down_node_))
    lost_node_ = down_node_;
  is_healed_ = true;
  etcd_.set_faults({});
  for (auto& node : nodes_) {
    time_.after(1ms, [&node] { node->set_tight(false); });
    etcd_.cut(node->index(), false);
    std::fill(is_cut_[node->index()].begin(), is_cut_[node->index()].end(), false);
    if (node->index() != lost_node_)
      node->start();
  }
}

} // namespace codeq::cluster::sim
