// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/replica_hub.hpp"

#include "observe/log.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace codeq::coordinator {

namespace {

using namespace std::chrono_literals;
using replication::membership;
using replication::replica_id;

constexpr duration tick_interval = 25ms;

/// How often the nodes of the cluster are looked up, in ticks.
constexpr std::uint64_t node_look_ticks = 20;

/// How often everything is told about ready tasks that was told before, in looks at them.
constexpr std::uint64_t whole_news_looks = 500;

/// How often the disk is looked at, in ticks.
constexpr std::uint64_t disk_look_ticks = 80;

/// How often the etcd that is known is noted, if it has changed, in ticks.
constexpr std::uint64_t keep_etcd_ticks = 40;

/// How long a stop waits at most until others serve what was served here, in ticks. The process
/// waits for less time when the gateway took long to stop.
constexpr std::uint64_t stop_ticks = 48;

/// How long a shard that is handed over has for what it has taken. What is not done by then its
/// clients send to the next primary.
constexpr duration drain_max = 200ms;

} // namespace

void replica_hub::start(replicas_actor::pointer self, replica_hub_options options) {
  self_ = self;
  options_ = std::move(options);
  heads_.emplace(options_.hosts.size());
  links_.emplace(
    self_->system(), caf::actor_cast<caf::strong_actor_ptr>(self_), options_.links);
}

void replica_hub::join(
  std::shared_ptr<cluster::member_driver> member, std::vector<found_replica_data> replicas) {
  member_ = std::move(member);
  for (auto& found : replicas) {
    records_[found.shard] = found.record;
    (void)routes_.set(
      found.shard,
      cluster::node_of(found.record, found.record.value.primary),
      found.record.value.epoch);
    // The replica was dropped, perhaps while this coordinator was away. Whole data stay until the
    // shard gets a replica here again, since etcd may have been restored from an old state.
    if (!found.record.nodes.contains(found.stored.record.id)) {
      if (found.stored.record.is_incomplete)
        remove_data(found.shard, found.stored.record.id, found.stored.log);
      continue;
    }
    add(found.shard, std::move(found.stored), found.record.value);
  }
  remove_spools(old_spools());
  look_at_nodes();
  look_at_disk();
  self_->delayed_send(self_, tick_interval, replica_tick{});
  exchange_heads();
}

void replica_hub::add(
  shard_id shard, storage::stored_replica stored, const membership& value) {
  replica_driver_options driver{
    shard, std::move(stored), value, options_.links.incarnation};
  replicas_[shard] = std::make_unique<hosted_replica>(*this, std::move(driver), memory_);
}

hosted_replica* replica_hub::find(shard_id shard, replica_id id) {
  const auto found = replicas_.find(shard);
  const auto is_there = found != replicas_.end() && found->second->id() == id;
  return is_there ? found->second.get() : nullptr;
}

// The member of the cluster.

void replica_hub::shard_told(
  shard_id shard, const cluster::shard_record& record, bool is_applied) {
  const auto& known = records_[shard];
  if (record.value.version < known.value.version)
    return;
  records_[shard] = record;
  const auto& value = record.value;
  if (routes_.set(shard, cluster::node_of(record, value.primary), value.epoch))
    tell_moved({shard});
  const auto found = replicas_.find(shard);
  if (found == replicas_.end() || !record.nodes.contains(found->second->id()))
    return;
  found->second->driver().etcd_answered(record.value, is_applied, now());
}

void replica_hub::hand_over(shard_id shard, replica_id to) {
  if (const auto found = replicas_.find(shard); found != replicas_.end())
    found->second->hand_over(to);
}

void replica_hub::map_changed(const cluster::cluster_map& map) {
  options_.places->set_map(map);
  // Every peer is attached to each host.
  self_->send(options_.hosts.front(), places_changed{});
}

void replica_hub::nodes_seen(
  const std::map<std::string, std::string>& addresses, std::set<std::string> staying) {
  links_->set_addresses(addresses, nodes_with_copies());
  staying_ = std::move(staying);
}

std::set<std::string> replica_hub::nodes_with_copies() const {
  std::set<std::string> nodes;
  for (const auto& [shard, record] : records_)
    for (const auto& [replica, node] : record.nodes)
      nodes.insert(node);
  return nodes;
}

void replica_hub::look_at_nodes() {
  member_->look([to = caf::actor_cast<replicas_actor>(self_)](const cluster::member& member) {
    std::map<std::string, std::string> addresses;
    std::set<std::string> staying;
    for (const auto& [node, known] : member.known().nodes()) {
      addresses.emplace(node, known.record.address);
      if (!known.record.is_leaving)
        staying.insert(node);
    }
    caf::anon_send(to, replica_step{[addresses, staying](replica_hub& hub) {
      hub.nodes_seen(addresses, staying);
    }});
  });
}

void replica_hub::look_at_disk() {
  // A look that waits for the disk is not joined by others.
  if (std::exchange(is_looking_at_disk_, true))
    return;
  const auto run = [look = options_.look_at_disk, before = disk_.value_or(cluster::node_disk{})] {
    return replica_step{[disk = look(before)](replica_hub& hub) { hub.disk_seen(disk); }};
  };
  self_->send(options_.spooler, replica_work{run, caf::actor_cast<replicas_actor>(self_)});
}

void replica_hub::disk_seen(const cluster::node_disk& disk) {
  is_looking_at_disk_ = false;
  if (disk.refuses_tasks != (disk_ && disk_->refuses_tasks))
    CODEQ_LOG_WARN(
      "disk {} free_bytes={}",
      disk.refuses_tasks ? "refuses tasks, primaries move to other coordinators where they can"
                         : "takes tasks again",
      disk.free_bytes);
  disk_ = disk;
  member_->set_disk(disk);
}

// Messages.

void replica_hub::commit(commit_request& m) {
  if (const auto found = replicas_.find(m.turn.shard); found != replicas_.end())
    found->second->propose(m.from, std::move(m.turn));
}

void replica_hub::raise_epoch(const coordinator::raise_epoch& m) {
  const auto found = replicas_.find(m.id);
  if (found == replicas_.end())
    return;
  CODEQ_LOG_INFO("shard needs another epoch, whose numbers run out shard={}", value(m.id));
  auto& replica = *found->second;
  replica.hand_over(next_primary(m.id, replica));
}

void replica_hub::committed(const batch_committed& m) {
  if (is_own(m))
    return committed_own(m);
  const auto found = replicas_.find(m.shard);
  if (found == replicas_.end())
    return;
  found->second->driver().committed(m.number);
  found->second->driver().settle(now());
}

void replica_hub::take(const replica_frame_arrived& m) {
  auto frame = decode_frame(m.frame.body());
  if (!frame) {
    CODEQ_LOG_WARN(
      "coordinator sends a malformed frame node={} reason=\"{}\"", m.node,
      to_string(frame.error()));
    return;
  }
  if (frame->news) {
    heads_->hear(m.node, *frame->news, now());
    show_far_heads();
  }
  std::optional<error> malformed;
  for (const auto& body : frame->messages) {
    if (auto decoded = decode_shard_message(body))
      receive(m.incarnation, *decoded);
    else
      malformed = decoded.error();
  }
  if (malformed)
    CODEQ_LOG_WARN(
      "coordinator sends malformed messages node={} reason=\"{}\"", m.node,
      to_string(*malformed));
}

void replica_hub::receive(std::uint64_t incarnation, shard_message& m) {
  if (auto* said = std::get_if<neighbour_message>(&m.content))
    return pass_on(m.shard, std::move(*said));
  auto* to = find(m.shard, m.to);
  if (!to)
    return;
  if (const auto* copy = std::get_if<copy_message>(&m.content))
    to->driver().receive(m.from, *copy, now());
  else
    to->driver().receive(
      {m.from, incarnation, std::get<replication::message>(std::move(m.content))}, now());
}

void replica_hub::pass_on(shard_id to, neighbour_message said) {
  // Words that are dropped are said again, or of no use any more.
  if (options_.places->serves(to) && routes_.hear(said.from, said.epoch))
    self_->send(options_.hosts.at(value(to)), shard_command{std::move(said.what)});
}

void replica_hub::tell(const neighbour_told& m) {
  if (options_.places->serves(m.to))
    return pass_on(m.to, m.said);
  const auto& node = routes_.node_of(m.to);
  if (node.empty() || !routes_.hear(m.said.from, m.said.epoch))
    return;
  shard_message out;
  out.shard = m.to;
  out.content.emplace<neighbour_message>(m.said);
  gather(node, out, false);
}

void replica_hub::tell_moved(std::vector<shard_id> shards) const {
  if (shards.empty())
    return;
  const neighbours_moved moved{std::move(shards)};
  for (const auto& [shard, replica] : replicas_)
    replica->tell_moved(moved);
}

void replica_hub::take(const actors::link_up& m) {
  const auto node = links_->up(m);
  if (node.empty())
    return;
  for (const auto& part : heads_->all())
    links_->tell(node, part);
  tell_moved(routes_.shards_on(node));
}

void replica_hub::take(const actors::link_down& m) {
  const auto ended = links_->down(m);
  if (ended.empty())
    return;
  heads_->lose(ended);
  for (auto& [shard, replica] : replicas_)
    for (const auto& [id, node] : records_.at(shard).nodes)
      if (node == ended)
        replica->driver().note_gone(id, now());
}

void replica_hub::tick() {
  ++ticks_;
  for (auto& [shard, replica] : replicas_)
    replica->driver().tick(now());
  if (ticks_ % node_look_ticks == 0)
    look_at_nodes();
  if (ticks_ % disk_look_ticks == 0)
    look_at_disk();
  if (ticks_ % keep_etcd_ticks == 0)
    keep_etcd();
  if (!notes_.empty())
    send_notes();
  // One may have become a primary since the stop began.
  if (stopping_)
    hand_over_all();
  if (stopping_ && (ticks_ >= stops_at_tick_ || has_handed_over()))
    std::exchange(stopping_, std::nullopt)->deliver(true);
  self_->delayed_send(self_, tick_interval, replica_tick{});
}

void replica_hub::exchange_heads() {
  for (const auto& changed : options_.board->take_changes())
    heads_->show(changed);
  if (const auto news = heads_->tick())
    links_->tell(*news);
  // In case that late frames of an earlier connection were heard.
  if (++head_looks_ % whole_news_looks == 0)
    for (const auto& part : heads_->all())
      links_->tell(part);
  heads_->pass_over_silent(now());
  show_far_heads();
  self_->delayed_send(
    self_, head_exchange::interval,
    replica_step{[](replica_hub& hub) { hub.exchange_heads(); }});
}

void replica_hub::show_far_heads() {
  const auto changes = heads_->take_changes();
  for (const auto& [queue, head] : changes.heads)
    options_.board->set_far(queue, head);
  for (std::size_t i = 0; i < options_.hosts.size() && changes.frees_tasks; ++i)
    if (options_.places->serves(static_cast<shard_id>(i)))
      self_->send(options_.hosts[i], shard_command{core::look_at_rivals{}});
}

void replica_hub::keep_etcd() {
  const auto known = member_->known_etcd();
  if (known == kept_etcd_)
    return;
  kept_etcd_ = known;
  const auto run = [keep = options_.keep_etcd, known, nodes = nodes_with_copies()] {
    keep(known, nodes);
    return replica_step{[](replica_hub&) {}};
  };
  self_->send(options_.spooler, replica_work{run, caf::actor_cast<replicas_actor>(self_)});
}

void replica_hub::flush() {
  is_flush_due_ = false;
  links_->flush();
}

bool replica_hub::has_handed_over() const {
  return std::all_of(records_.begin(), records_.end(), [this](const auto& record) {
    const auto& value = record.second.value;
    const auto found = replicas_.find(record.first);
    return found == replicas_.end() || found->second->id() != value.primary
           || value.in_sync.size() < 2;
  });
}

caf::result<bool> replica_hub::stop() {
  auto promise = self_->make_response_promise<bool>();
  stopping_ = promise;
  stops_at_tick_ = ticks_ + stop_ticks;
  hand_over_all();
  return promise;
}

void replica_hub::hand_over_all() {
  for (auto& [shard, replica] : replicas_) {
    const auto to = next_primary(shard, *replica);
    if (to != replica->id())
      replica->hand_over(to);
  }
}

/// The replica that the shard is best given to: one whose coordinator is there and stays.
replica_id replica_hub::next_primary(shard_id shard, hosted_replica& replica) {
  std::set<replica_id> avoided;
  for (const auto& [other, node] : records_[shard].nodes)
    if (!staying_.contains(node))
      avoided.insert(other);
  return replica.driver().replica().next_primary(now(), avoided);
}

// Calls of replicas.

void replica_hub::send(const shard_message& m, bool is_copy) {
  const auto record = records_.find(m.shard);
  if (record == records_.end())
    return;
  gather(cluster::node_of(record->second, m.to), m, is_copy);
}

void replica_hub::gather(const std::string& node, const shard_message& m, bool is_copy) {
  if (node.empty() || !links_->gather(node, encode(m), is_copy))
    return;
  if (!std::exchange(is_flush_due_, true))
    self_->send(self_, flush_replicas{});
}

void replica_hub::write(turn_commit turn) {
  self_->send(
    options_.journal,
    commit_request{caf::actor_cast<committer_actor>(self_), std::move(turn)});
}

void replica_hub::compare_and_set(
  shard_id shard, const membership& old, const membership& next) {
  member_->compare_and_set(shard, old, next);
}

void replica_hub::host(
  shard_id shard, const shard_actor& served, replication::epoch_number epoch) {
  options_.places->add(shard, epoch);
  self_->send(options_.hosts.at(value(shard)), host_shard{served});
  tell_moved({shard});
  member_->serves(shard, epoch);
}

void replica_hub::end_hosting(shard_id shard) {
  options_.places->remove(shard);
  self_->send(options_.hosts.at(value(shard)), host_shard{});
}

void replica_hub::drain(
  const hosted_replica& who, const shard_internal_actor& served, replica_id to) {
  const auto end = [this, served, to, shard = who.shard(), id = who.id()] {
    if (auto* replica = find(shard, id))
      replica->drained(served, to);
  };
  self_->request(served, drain_max, stop_shard{})
    .then([end](bool) { end(); }, [end](const caf::error&) { end(); });
}

void replica_hub::work(
  const replica_worker_actor& worker,
  const hosted_replica& who,
  std::function<replica_end()> what) {
  auto run = [what = std::move(what), shard = who.shard(), id = who.id()] {
    return replica_step{[end = what(), shard, id](replica_hub& hub) {
      auto* replica = hub.find(shard, id);
      if (replica && end)
        end(*replica, hub.now());
    }};
  };
  self_->send(worker, replica_work{std::move(run), caf::actor_cast<replicas_actor>(self_)});
}

replicas_actor::behavior_type drive_replicas(
  replicas_actor::stateful_pointer<replica_hub> self, const replica_hub_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](commit_request& m) { self->state.commit(m); },
    [self](const raise_epoch& m) { self->state.raise_epoch(m); },
    [self](const batch_committed& m) { self->state.committed(m); },
    [](const epoch_raised&) {},
    [self](const neighbour_told& m) { self->state.tell(m); },
    [self](const replica_frame_arrived& m) { self->state.take(m); },
    [self](const actors::link_up& m) { self->state.take(m); },
    [self](const actors::link_down& m) { self->state.take(m); },
    [](const actors::connection_lost&) {},
    [](const actors::outgoing_pressure&) {},
    [self](const replica_step& m) { m.run(self->state); },
    [self](replica_tick) { self->state.tick(); },
    [self](flush_replicas) { self->state.flush(); },
    [self](const cluster_question& m) { return self->state.inquire(m); },
    [self](ask_cluster_shards) { return self->state.count_shards(); },
    [self](stop_replicas) { return self->state.stop(); },
  };
}

} // namespace codeq::coordinator
