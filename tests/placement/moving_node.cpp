// SPDX-License-Identifier: Apache-2.0
#include "placement/moving_node.hpp"

#include "etcd/etcd_limits.hpp"
#include "placement/moving_cluster.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster::sim {

using namespace std::chrono_literals;
using replication::membership;
using replication::replica_id;

namespace {

constexpr std::uint64_t free_bytes = 1ull << 40;
constexpr span entry_retry = 200ms;

} // namespace

moving_node::moving_node(moving_cluster& world, std::size_t index, double rate)
  : world_(world),
    index_(index),
    name_("c" + std::to_string(index)),
    rate_(rate) {}

monotonic_time moving_node::now() const {
  const auto own = static_cast<double>(world_.time().now().count()) * rate_ / 1000;
  return monotonic_time{duration{1'000'000 + static_cast<std::int64_t>(own)}};
}

void moving_node::run(span delay, std::function<void()> what) {
  world_.time().after(delay, [this, what = std::move(what), started = incarnation_] {
    if (!member_ || started != incarnation_)
      return;
    if (world_.time().now() < paused_until_)
      return run(paused_until_ - world_.time().now() + 1us, what);
    what();
  });
}

moving_node::replica* moving_node::on_disk(shard_id shard) const {
  const auto found = disk_.find(shard);
  return found == disk_.end() ? nullptr : found->second;
}

moving_node::replica& moving_node::make(shard_id shard, replication::sim::node_start from) {
  from.name = name_ + "/" + std::to_string(value(shard));
  from.rate = rate_;
  from.syncs_copies = true;
  made_.push_back(std::make_unique<replica>(world_, std::move(from)));
  disk_[shard] = made_.back().get();
  world_.note_replica(shard, *this, *made_.back());
  return *made_.back();
}

void moving_node::found(shard_id shard, replica_id id, const shard_record& record) {
  make(shard, {.id = id, .name = {}, .rate = {}, .value = record.value, .is_new = false});
}

// The process.

void moving_node::start() {
  if (!is_up() && !std::exchange(is_starting_, true))
    enter(++incarnation_);
}

void moving_node::enter(std::uint64_t incarnation) {
  if (!is_starting_ || incarnation != incarnation_)
    return;
  if (world_.etcd().is_cut(index_))
    return world_.time().after(entry_retry, [this, incarnation] { enter(incarnation); });
  is_starting_ = false;
  paused_until_ = {};
  member_options options;
  options.cluster = moving_cluster::cluster_name;
  options.node = name_;
  options.self.incarnation = world_.random().next() | 1;
  options.self.address = name_ + ":7400";
  options.self.zone = "zone-" + name_;
  options.self.free_bytes = free_bytes;
  for (const auto& [shard, found] : disk_) {
    const auto record = entry_record(shard);
    records_[shard] = record;
    if (!record.nodes.contains(found->id()))
      continue;
    options.held[shard] = found->id();
    running_[shard] = found;
  }
  member_ = std::make_unique<member>(std::move(options), *this, now());
  world_.note("start " + name_);
  for (const auto& [shard, started] : running_) {
    started->learn(records_.at(shard).value);
    started->start();
  }
  world_.etcd().watch(
    index_,
    etcd::range_of_prefix(member_->known().keys().prefix()),
    [this, started = incarnation_](const etcd::watch_line& line) {
      if (started == incarnation_)
        run(0us, [this, line] { member_->watched(line, now()); });
    });
  run(0us, [this] { tick(); });
}

/// A read may tell an old state; one that is older than the replica's promise is not believed.
shard_record moving_node::entry_record(shard_id shard) const {
  const auto old = world_.record_before(shard, world_.random().moment(0, 1'500'000));
  const auto is_stale = world_.random().hits(100);
  return is_stale && disk_.at(shard)->promised() <= old.value.epoch ? old : world_.record(shard);
}

void moving_node::tick() {
  member_->tick(now());
  run(world_.random().moment(20'000, 80'000), [this] { tick(); });
}

void moving_node::kill() {
  is_starting_ = false;
  if (!member_)
    return;
  world_.note("kill " + name_);
  for (const auto& [shard, replica] : running_)
    replica->kill();
  running_.clear();
  records_.clear();
  member_.reset();
}

void moving_node::cut_power() {
  kill();
  lost_at_ = world_.time().now();
  world_.note_power_cut(*this);
  for (const auto& [shard, replica] : disk_)
    replica->cut_power();
}

void moving_node::empty_disk() {
  kill();
  lost_at_ = world_.time().now();
  world_.note("empty disk " + name_);
  disk_.clear();
}

void moving_node::pause(span length) {
  paused_until_ = std::max(paused_until_, world_.time().now() + length);
  for (const auto& [shard, replica] : running_)
    replica->pause(length);
}

void moving_node::hang_disk(span length) {
  for (const auto& [shard, replica] : running_)
    replica->hang_disk(length);
}

void moving_node::set_tight(bool is_tight) {
  run(0us, [this, is_tight] { member_->set_disk({free_bytes, is_tight}); });
}

void moving_node::stop(const std::function<void()>& stopped) {
  run(0us, [this] {
    member_->leave(now());
    for (const auto& [shard, replica] : running_)
      if (const auto to = replica->process().next_primary(now()); to != replica->id())
        replica->process().hand_over(to);
  });
  run(500ms, [this, stopped] {
    member_->end();
    kill();
    stopped();
  });
}

void moving_node::reach_etcd() {
  run(world_.random().moment(50'000, 1'000'000), [this] { member_->watch_missed(); });
}

void moving_node::ask(
  const cluster_change& what, const std::optional<own_copy>& own, const change_told& told) {
  run(0us, [this, what, own, told] { member_->change(what, own, told, now()); });
}

void moving_node::compare_and_set(
  shard_id shard, const membership& old, const membership& next) {
  run(0us, [this, shard, old, next] { member_->compare_and_set(shard, old, next); });
}

void moving_node::receive(
  shard_id shard, replica_id to, const replication::envelope& what) {
  const auto found = running_.find(shard);
  if (found == running_.end() || found->second->id() != to)
    return;
  found->second->run(0us, [what](replication::shard_replica& process, monotonic_time now) {
    process.receive(what, now);
  });
}

void moving_node::note_served(shard_id shard, replication::epoch_number epoch) {
  run(0us, [this, shard, epoch] { member_->serves(shard, epoch); });
}

void moving_node::note_gone(shard_id shard, replica_id gone) {
  if (const auto found = running_.find(shard); found != running_.end())
    found->second->run(0us, [gone](replication::shard_replica& process, monotonic_time now) {
      process.note_gone(gone, now);
    });
}

std::string moving_node::address_of(shard_id shard, replica_id of) const {
  const auto found = records_.find(shard);
  return found == records_.end() ? std::string() : node_of(found->second, of);
}

// Calls of the member about replicas. They are carried out later, in order.

void moving_node::shard_told(shard_id shard, const shard_record& record, bool is_applied) {
  run(0us, [this, shard, record, is_applied] { told(shard, record, is_applied); });
}

void moving_node::told(shard_id shard, const shard_record& record, bool is_applied) {
  if (record.value.version < records_[shard].value.version)
    return;
  records_[shard] = record;
  const auto found = running_.find(shard);
  if (found == running_.end() || !record.nodes.contains(found->second->id()))
    return;
  found->second->run(
    0us,
    [value = record.value, is_applied](replication::shard_replica& process, monotonic_time now) {
      process.etcd_answered(value, is_applied, now);
    });
}

void moving_node::build_replica(shard_id shard) {
  run(world_.random().moment(50, 5'000), [this, shard] { build(shard); });
}

void moving_node::build(shard_id shard) {
  if (running_.contains(shard))
    return;
  const replica_id id{world_.random().next() | 1};
  auto& built = make(
    shard,
    {.id = id, .name = {}, .rate = {}, .value = records_[shard].value, .is_new = true});
  running_[shard] = &built;
  built.start();
  member_->replica_built(shard, id);
}

void moving_node::drop_replica(shard_id shard, replica_id replica) {
  run(0us, [this, shard, replica] { drop(shard, replica); });
}

void moving_node::drop(shard_id shard, replica_id id) {
  const auto found = running_.find(shard);
  if (found == running_.end() || found->second->id() != id)
    return;
  found->second->drop();
  running_.erase(found);
  run(world_.random().moment(50, 5'000), [this, shard, id] {
    if (const auto* replica = on_disk(shard); replica && replica->id() == id)
      disk_.erase(shard);
  });
}

void moving_node::hand_over(shard_id shard, replica_id to) {
  run(0us, [this, shard, to] {
    if (const auto found = running_.find(shard); found != running_.end())
      found->second->run(0us, [to](replication::shard_replica& process, monotonic_time) {
        if (process.may_hand_over(to))
          process.hand_over(to);
      });
  });
}

void moving_node::must_end(const std::string& words) {
  world_.note(name_ + " must end: " + words);
  run(0us, [this] {
    kill();
    start();
  });
}

void moving_node::needs_repair(const std::string& words) {
  world_.fail(name_ + " needs a repair: " + words);
}

void moving_node::note_record(const std::string& words) {
  world_.fail(name_ + " notes: " + words);
}

// Calls of the member that go to etcd.

template <class Answer, class Ask>
void moving_node::call(
  const Ask& ask,
  const Answer& at_end,
  std::function<void(member&, const Answer&, monotonic_time)> told) {
  const auto is_over = std::make_shared<bool>(false);
  const auto tell = [this, is_over, told = std::move(told), started = incarnation_](
                      const Answer& how) {
    if (started != incarnation_ || std::exchange(*is_over, true))
      return;
    run(0us, [this, told, how] { told(*member_, how, now()); });
  };
  ask(tell);
  const auto longest = std::chrono::duration_cast<span>(etcd::limits::call);
  run(longest, [tell, at_end] { tell(at_end); });
}

void moving_node::decide(std::uint64_t number, const etcd::swap& what) {
  world_.note_asked(what);
  call<etcd::swap_answer>(
    [&](const auto& tell) { world_.etcd().decide(index_, what, tell); },
    {etcd::swap_end::unknown, {}, 0, "no answer"},
    [number](member& self, const etcd::swap_answer& how, monotonic_time now) {
      self.decided(number, how, now);
    });
}

void moving_node::read(const etcd::key_range& what) {
  call<result<etcd::range_answer>>(
    [&](const auto& tell) { world_.etcd().read(index_, what, tell); },
    error{errc::timeout, "no answer"},
    [](member& self, const result<etcd::range_answer>& found, monotonic_time now) {
      self.polled(found, now);
    });
}

void moving_node::grant(duration length) {
  call<result<etcd::lease_answer>>(
    [&](const auto& tell) { world_.etcd().grant(index_, length, tell); },
    error{errc::timeout, "no answer"},
    [](member& self, const result<etcd::lease_answer>& lease, monotonic_time now) {
      self.granted(lease, now);
    });
}

void moving_node::keep_alive(std::uint64_t lease) {
  call<result<etcd::lease_answer>>(
    [&](const auto& tell) { world_.etcd().keep_alive(index_, lease, tell); },
    error{errc::timeout, "no answer"},
    [](member& self, const result<etcd::lease_answer>& kept, monotonic_time now) {
      self.kept(kept, now);
    });
}

void moving_node::revoke(std::uint64_t lease) {
  if (!world_.etcd().is_cut(index_))
    world_.etcd().revoke(lease);
}

} // namespace codeq::cluster::sim
