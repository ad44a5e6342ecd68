// SPDX-License-Identifier: Apache-2.0
#include "placement/large_node.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster::sim {

using namespace std::chrono_literals;
using replication::entry;
using replication::membership;
using replication::replica_id;

namespace {

constexpr span tick_interval = 50ms;
/// A shard with ten million waiting tasks.
constexpr span recovery_longest = 400ms;

class small_delta final : public replication::delta_body {
public:
  [[nodiscard]] std::size_t byte_size() const override { return 1; }
};

} // namespace

large_replica::large_replica(
  large_node& node, shard_id shard, replica_id id, const membership& value)
  : node_(node), shard_(shard), id_(id) {
  process_ = std::make_unique<replication::shard_replica>(
    replication::replica_start{id, value.epoch, {}, false, false, value}, *this, node.now());
}

template <class Action>
void large_replica::after_write(Action action) {
  node_.run(node_.world().random_.moment(50, 2'000), std::move(action));
}

void large_replica::send(replica_id to, const replication::message& what) {
  node_.world().send(id_, to, {id_, 1, what});
}

void large_replica::save_promise(replication::epoch_number epoch) {
  after_write([this, epoch] { process_->promise_saved(epoch, node_.now()); });
}

void large_replica::write(const entry& what) {
  log_.push_back(what);
  // The disk writes in order.
  node_.run(200us, [this, at = what.at] { process_->written(at, node_.now()); });
}

replication::log_tail large_replica::read_after(replica_id, replication::position after) {
  constexpr std::size_t most = 64;
  const auto count = std::min<std::size_t>(most, log_.size() - after.number);
  const auto begin = log_.begin() + static_cast<std::ptrdiff_t>(after.number);
  return {
    replication::log_tail::state::held, {begin, begin + static_cast<std::ptrdiff_t>(count)}};
}

void large_replica::begin_copy(replica_id to, replication::epoch_number epoch) {
  replication::copy_offer offer{epoch, {id_, 1, ++copies_}, {}};
  for (const auto& one : log_)
    offer.log.append(one.at);
  node_.world().copies_[offer.id] = log_;
  send(to, offer);
  node_.run(node_.world().random_.moment(50'000, 500'000), [this, to] {
    process_->copy_ended(to);
  });
}

void large_replica::take_copy(replica_id, const replication::copy_offer& what) {
  after_write([this, what] {
    log_ = node_.world().copies_.at(what.id);
    process_->rebuilt(what.log);
  });
}

void large_replica::compare_and_set(const membership& old, const membership& next) {
  // The member may tell the replica at once, which must not happen within the replica's own turn.
  node_.run(0us, [this, old, next] { node_.self().compare_and_set(shard_, old, next); });
}

void large_replica::propose() {
  if (!process_->is_serving())
    return;
  const auto number = log_.size() + 1;
  if (process_->propose(std::make_shared<small_delta>(), node_.now()))
    proposed_.emplace(number, node_.world().now());
}

void large_replica::acknowledge(replication::position at) {
  auto& world = node_.world();
  auto& shard = world.shards_[codeq::value(shard_)];
  if (at < shard.acknowledged)
    world.fail("a delta is acknowledged behind a later one");
  shard.acknowledged = at;
  ++world.acknowledged_;
  if (const auto found = proposed_.find(at.number); found != proposed_.end())
    shard.proposed_at = std::max(shard.proposed_at, found->second);
  proposed_.erase(proposed_.begin(), proposed_.upper_bound(at.number));
}

void large_replica::recover(replication::epoch_number epoch, timestamp) {
  const auto wait = node_.world().random_.moment(100, recovery_longest.count());
  node_.run(wait, [this, epoch, number = ++recoveries_] {
    if (number == recoveries_)
      process_->recovered(epoch, node_.now());
  });
}

void large_replica::serve(replication::epoch_number epoch) {
  auto& world = node_.world();
  auto& shard = world.shards_[codeq::value(shard_)];
  if (epoch <= shard.served)
    world.fail("an epoch is served twice");
  shard.served = epoch;
  proposed_.clear();
  const auto at = shard.acknowledged;
  if (at.number > 0 && (log_.size() < at.number || log_[at.number - 1].at != at))
    world.fail("an acknowledged delta is not in the log of a later primary");
}

large_node::large_node(
  large_cluster& world, std::size_t index, const std::string& name, std::string zone)
  : world_(world),
    index_(index),
    name_(name),
    zone_(std::move(zone)),
    rate_(1.0 + static_cast<double>(world.random_.below(250)) / 1000) {
  member_options options;
  options.cluster = "large";
  options.node = name;
  options.self.incarnation = index + 1;
  options.self.address = name + ":7400";
  options.self.zone = zone_;
  options.self.free_bytes = 1ull << 40;
  const auto nodes = world.options_.racks * world.options_.nodes_per_rack;
  options.self.tasks = world.options_.workers / nodes;
  member_ = std::make_unique<member>(options, *this, now());
}

monotonic_time large_node::now() const {
  const auto own = static_cast<double>(world_.time_.now().count()) * rate_ / 1000;
  return monotonic_time{duration{1'000'000 + static_cast<std::int64_t>(own)}};
}

void large_node::start() {
  world_.etcd_.watch(
    index_,
    etcd::range_of_prefix(member_->known().keys().prefix()),
    [this](const etcd::watch_line& line) {
      if (is_up_)
        member_->watched(line, now());
    });
  run(world_.random_.moment(0, tick_interval.count()), [this] { tick(); });
}

void large_node::tick() {
  member_->tick(now());
  for (auto& [shard, replica] : replicas_)
    replica->process().tick(now());
  run(tick_interval, [this] { tick(); });
}

void large_node::add_replica(shard_id shard, replica_id id, const shard_record& record) {
  replicas_[shard] = std::make_unique<large_replica>(*this, shard, id, record.value);
  member_->holds(shard, id);
}

void large_node::cut_power() {
  is_up_ = false;
  world_.etcd_.cut(index_, true);
}

large_replica* large_node::replica_of(shard_id shard) {
  const auto found = replicas_.find(shard);
  return found == replicas_.end() ? nullptr : found->second.get();
}

void large_node::propose() {
  for (auto& [shard, replica] : replicas_)
    replica->propose();
}

void large_node::decide(std::uint64_t number, const etcd::swap& what) {
  world_.etcd_.decide(index_, what, [this, number](const etcd::swap_answer& how) {
    if (is_up_)
      member_->decided(number, how, now());
  });
}

void large_node::read(const etcd::key_range& what) {
  world_.etcd_.read(index_, what, [this](const result<etcd::range_answer>& found) {
    if (is_up_)
      member_->polled(found, now());
  });
}

void large_node::grant(duration length) {
  world_.etcd_.grant(index_, length, [this](const result<etcd::lease_answer>& lease) {
    if (is_up_)
      member_->granted(lease, now());
  });
}

void large_node::keep_alive(std::uint64_t lease) {
  world_.etcd_.keep_alive(index_, lease, [this](const result<etcd::lease_answer>& kept) {
    if (is_up_)
      member_->kept(kept, now());
  });
}

void large_node::shard_told(shard_id shard, const shard_record& record, bool is_applied) {
  auto* replica = replica_of(shard);
  if (!replica)
    return;
  run(0us, [this, replica, value = record.value, is_applied] {
    replica->process().etcd_answered(value, is_applied, now());
  });
}

void large_node::hand_over(shard_id shard, replica_id to) {
  if (auto* replica = replica_of(shard))
    run(0us, [replica, to] { replica->process().hand_over(to); });
}

} // namespace codeq::cluster::sim
