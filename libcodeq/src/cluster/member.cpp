// SPDX-License-Identifier: Apache-2.0
#include "cluster/member.hpp"

#include "base/assert.hpp"
#include "cluster/cluster_timing.hpp"
#include "cluster/record_json.hpp"
#include "cluster/store_format.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster {

using replication::membership;
using replication::replica_id;

member::member(member_options options, member_port& port, monotonic_time now)
  : options_(std::move(options)),
    port_(port),
    known_(catalogue_keys(options_.cluster)),
    self_(options_.self),
    held_(options_.held),
    lease_asked_(now - timing::lease),
    load_told_(now),
    polled_(now - timing::poll),
    polled_fully_(now),
    controlled_(now),
    settled_(now) {
  CODEQ_ASSERT(is_valid_name(options_.node));
}

void member::tick(monotonic_time now) {
  if (is_over_)
    return;
  keep_lease(now);
  poll(now);
  register_node(now);
  if (now >= controlled_ + timing::control) {
    controlled_ = now;
    control(now);
  }
  if (now >= settled_ + timing::control) {
    settled_ = now;
    for (const auto& [shard, known] : known_.shards())
      settle(shard);
  }
  go_on_with_changes(now);
}

void member::note_failure(const error& why, monotonic_time now) {
  const auto is_said = repair_said_ && now < *repair_said_ + timing::repair_words;
  if (why.code != errc::incompatible_store || is_said)
    return;
  repair_said_ = now;
  port_.needs_repair(why.context);
}

// Lease and registration.

void member::keep_lease(monotonic_time now) {
  if (is_granting_)
    return;
  const auto pause = lease_ == 0 ? timing::lease_retry : timing::keep_alive;
  if (now < lease_asked_ + pause)
    return;
  lease_asked_ = now;
  is_granting_ = true;
  if (lease_ == 0)
    port_.grant(timing::lease);
  else
    port_.keep_alive(lease_);
}

void member::granted(const result<etcd::lease_answer>& lease, monotonic_time now) {
  is_granting_ = false;
  if (!lease)
    return note_failure(lease.error(), now);
  lease_ = lease->id;
  is_registered_ = false;
  register_node(now);
}

void member::kept(const result<etcd::lease_answer>& lease, monotonic_time now) {
  is_granting_ = false;
  if (!lease)
    return note_failure(lease.error(), now);
  if (lease->remaining > duration{0})
    return;
  // It has ended, and the node's key with it.
  lease_ = 0;
  is_registered_ = false;
  lease_asked_ = now - timing::lease;
  keep_lease(now);
}

void member::set_disk(const node_disk& disk) {
  self_.free_bytes = disk.free_bytes;
  self_.refuses_tasks = disk.refuses_tasks;
}

void member::register_node(monotonic_time now) {
  if (lease_ == 0 || !is_complete_ || is_over_)
    return;
  const auto found = known_.nodes().find(options_.node);
  const auto* known = found == known_.nodes().end() ? nullptr : &found->second;
  const auto is_own = known && known->record.incarnation == self_.incarnation;
  if (has_registered_once_ && known && !is_own) {
    is_over_ = true;
    return port_.must_end(
      "another process has registered as node " + options_.node + " at " + known->record.address);
  }
  const auto is_changed = is_own
                          && (known->record.is_leaving != self_.is_leaving
                              || known->record.refuses_tasks != self_.refuses_tasks);
  const auto is_due = now >= load_told_ + timing::load || is_changed;
  if (is_registered_ && is_own && !is_due)
    return;
  // The key has gone although the lease was kept: only another lease is sure to hold it.
  if (is_registered_ && !known) {
    is_registered_ = false;
    lease_ = 0;
    return keep_lease(now);
  }
  auto next = self_;
  next.version = known ? known->record.version + 1 : 1;
  if (known)
    next.extra = known->record.extra;
  const auto key = known_.keys().node(options_.node);
  const auto expected = known ? std::optional(known->bytes) : std::nullopt;
  if (start(key, {key, expected, encode(next), lease_}, false))
    load_told_ = now;
}

void member::leave(monotonic_time now) {
  self_.is_leaving = true;
  register_node(now);
}

void member::end() {
  is_over_ = true;
  if (lease_ != 0)
    port_.revoke(lease_);
}

// Polls.

void member::poll(monotonic_time now) {
  if (is_polling_ || now < polled_ + timing::poll)
    return;
  polled_ = now;
  is_polling_ = true;
  is_full_poll_ = needs_full_poll_ || now >= polled_fully_ + timing::full_poll;
  auto range = etcd::range_of_prefix(known_.keys().prefix());
  if (!is_full_poll_)
    range.modified_since = polled_revision_ + 1;
  port_.read(range);
}

void member::polled(const result<etcd::range_answer>& found, monotonic_time now) {
  is_polling_ = false;
  if (!found)
    return note_failure(found.error(), now);
  polled_revision_ = std::max(polled_revision_, found->at.revision);
  std::uint64_t modified = 0;
  for (const auto& one : found->found)
    modified = std::max(modified, one.modified);
  port_.note_poll(modified);
  if (is_full_poll_) {
    needs_full_poll_ = false;
    polled_fully_ = now;
    is_complete_ = true;
    note_changes(known_.note_all(*found));
    forget_nodes();
  } else {
    std::vector<catalogue_keys::parsed> changed;
    for (const auto& one : found->found)
      if (auto key = known_.note(one))
        changed.push_back(std::move(*key));
    note_changes(changed);
    // A key has ended, or a change was missed.
    needs_full_poll_ = needs_full_poll_ || found->count != known_.count();
  }
  note_unreadable();
  register_node(now);
}

void member::watched(const etcd::watch_line& line, monotonic_time now) {
  for (const auto& change : line.changes)
    if (const auto key = known_.note(change))
      note_change(*key);
  note_unreadable();
  register_node(now);
}

// Changes of the catalogue.

void member::note_unreadable() {
  const auto& unreadable = known_.unreadable();
  if (unreadable == unreadable_said_)
    return;
  for (const auto& [key, why] : unreadable)
    if (const auto said = unreadable_said_.find(key);
        said == unreadable_said_.end() || said->second != why)
      port_.note_record(why);
  unreadable_said_ = unreadable;
}

void member::note_changes(const std::vector<catalogue_keys::parsed>& changed) {
  for (const auto& key : changed)
    note_change(key);
}

void member::note_change(const catalogue_keys::parsed& key) {
  if (const auto* shard = std::get_if<catalogue_keys::shard_key>(&key))
    return note_shard(shard->number, false);
  if (std::holds_alternative<catalogue_keys::cluster_key>(key) && known_.cluster()) {
    if (const auto ok = check_format(known_.cluster()->record, self_.store_format_max); !ok) {
      is_over_ = true;
      return port_.must_end(ok.error().context);
    }
    port_.store_format_told(known_.cluster()->record.store_format);
    if (map_.shards() == 0)
      map_.set_shards(known_.cluster()->record.shards);
    for (const auto& [shard, known] : known_.shards())
      update_map(shard);
  }
  const auto* node = std::get_if<catalogue_keys::node_key>(&key);
  if (!node)
    return;
  const auto found = known_.nodes().find(node->name);
  if (found == known_.nodes().end())
    return;
  const auto& record = found->second.record;
  last_told_[node->name] = record;
  if (map_.move_node(node->name, record.address, record.http_address))
    port_.map_changed();
  // A shard may have moved to this node before its address was known, or waits to be handed to it.
  for (const auto& [shard, known] : known_.shards()) {
    update_map(shard);
    if (known.record.preferred == node->name)
      settle(shard);
  }
}

void member::note_shard(shard_id shard, bool is_applied) {
  const auto& record = known_.shards().at(shard).record;
  update_map(shard);
  port_.shard_told(shard, record, is_applied);
  settle(shard);
}

void member::update_map(shard_id shard) {
  if (codeq::value(shard) >= map_.shards())
    return;
  const auto& record = known_.shards().at(shard).record;
  shard_place place;
  place.node = node_of(record, record.value.primary);
  place.epoch = record.value.epoch;
  place.version = record.value.version;
  if (const auto node = known_.nodes().find(place.node); node != known_.nodes().end()) {
    place.address = node->second.record.address;
    place.http_address = node->second.record.http_address;
  } else if (const auto* before = map_.of(shard); before && before->node == place.node) {
    place.address = before->address;
    place.http_address = before->http_address;
  }
  if (!place.address.empty() && map_.merge(shard, place))
    port_.map_changed();
}

// Decisions.

bool member::start(const std::string& key, etcd::swap what, bool is_replicas) {
  if (!busy_keys_.insert(key).second)
    return false;
  const auto number = ++numbers_;
  auto& one = pending_[number];
  one.what = what;
  const auto parsed = known_.keys().parse(key);
  if (const auto* shard = std::get_if<catalogue_keys::shard_key>(&parsed); shard && is_replicas)
    one.replicas_own = shard->number;
  port_.decide(number, what);
  return true;
}

bool member::change_shard(shard_id shard, const shard_record& next) {
  const auto key = known_.keys().shard(shard);
  const auto bytes = encode(next);
  // No coordinator could change the record any more, nor elect another primary.
  if (const auto read = decode<shard_record>(bytes); !read) {
    const auto why =
      "etcd key " + key + ": its next value could not be read: " + read.error().context;
    if (refused_said_.insert(why).second)
      port_.note_record(why);
    return false;
  }
  return start(key, {key, known_.shards().at(shard).bytes, bytes, 0}, false);
}

void member::decided(std::uint64_t number, const etcd::swap_answer& how, monotonic_time now) {
  const auto found = pending_.find(number);
  if (found == pending_.end())
    return;
  const auto one = std::move(found->second);
  pending_.erase(found);
  busy_keys_.erase(one.what.key);
  if (how.end != etcd::swap_end::unknown && how.end != etcd::swap_end::not_sent)
    take_decision(one, how, now);
  else if (one.what.key == known_.keys().node(options_.node))
    // etcd may decide again before the next report is due, and nothing else would show it.
    load_told_ = now - timing::load + timing::poll;
  if (one.asked)
    end_step(one, how, now);
  go_on_with_changes(now);
}

void member::take_decision(
  const pending& one, const etcd::swap_answer& how, monotonic_time now) {
  const auto& key = one.what.key;
  const auto is_applied = how.end == etcd::swap_end::applied;
  if (key == known_.keys().node(options_.node) && is_applied)
    is_registered_ = has_registered_once_ = true;
  const auto changed = known_.note({key, how.current, how.revision});
  note_unreadable();
  const auto parsed = known_.keys().parse(key);
  const auto* shard = std::get_if<catalogue_keys::shard_key>(&parsed);
  if (shard && is_applied && one.what.next == one.what.expected)
    settle_data(shard->number);
  if (one.replicas_own && known_.shards().contains(*one.replicas_own))
    note_shard(*one.replicas_own, is_applied);
  else if (changed)
    note_change(*changed);
  if (key == known_.keys().node(options_.node))
    register_node(now);
}

void member::compare_and_set(shard_id shard, const membership& old, const membership& next) {
  const auto found = known_.shards().find(shard);
  if (found == known_.shards().end())
    return;
  const auto& known = found->second;
  if (known.record.value.version > old.version)
    return port_.shard_told(shard, known.record, false);
  const auto key = known_.keys().shard(shard);
  // The replica was told by another one before etcd's news came: they are read.
  const auto is_known = known.record.value == old;
  const auto wanted = is_known ? encode(with_value(known.record, next)) : known.bytes;
  (void)start(key, {key, known.bytes, wanted, 0}, is_known);
}

// Steps of the shards that are here.

void member::replica_built(shard_id shard, replica_id replica) {
  held_[shard] = replica;
  const auto found = known_.shards().find(shard);
  if (found == known_.shards().end())
    return;
  // It waits until another one has gone.
  const auto& record = found->second.record;
  if (!replica_on(record, options_.node) && record.nodes.size() < replicas_max)
    change_shard(shard, with_replica(record, replica, options_.node));
}

void member::serves(shard_id shard, replication::epoch_number epoch) {
  served_[shard] = epoch;
  if (known_.shards().contains(shard))
    settle(shard);
}

void member::settle(shard_id shard) {
  const auto& record = known_.shards().at(shard).record;
  const auto is_wanted =
    std::binary_search(record.wanted.begin(), record.wanted.end(), options_.node);
  const auto* own = replica_on(record, options_.node);
  const auto held = held_.find(shard);
  const auto is_lost = own && (held == held_.end() || held->second != *own);
  // The disk was emptied. While its replica counts as in sync, only the primary or an election can
  // take it out of the set.
  if (is_lost && !replication::contains(record.value.in_sync, *own))
    return void(change_shard(shard, without_replica(record, *own)));
  if (own && record.value.primary == *own)
    return settle_primary(shard, record);
  if (own || (!is_wanted && held == held_.end()))
    return;
  if (is_wanted && held != held_.end())
    return replica_built(shard, held->second);
  // The record may have changed since the member was told it, and the data of a replica in sync
  // must not be replaced or dropped. A change to equal bytes reads the record for sure first.
  const auto key = known_.keys().shard(shard);
  const auto& bytes = known_.shards().at(shard).bytes;
  (void)start(key, {key, bytes, bytes, 0}, false);
}

/// Builds a replica, or drops one. @pre a decision has just told the shard's record
void member::settle_data(shard_id shard) {
  const auto& record = known_.shards().at(shard).record;
  const auto is_wanted =
    std::binary_search(record.wanted.begin(), record.wanted.end(), options_.node);
  const auto held = held_.find(shard);
  if (replica_on(record, options_.node) || is_wanted == (held != held_.end()))
    return;
  if (is_wanted)
    return port_.build_replica(shard);
  const auto gone = held->second;
  held_.erase(held);
  port_.drop_replica(shard, gone);
}

/// One step towards the nodes that the controller wants: the primary moves, or one replica goes.
void member::settle_primary(shard_id shard, const shard_record& record) {
  const auto* preferred = replica_on(record, record.preferred);
  const auto is_in_sync =
    preferred && replication::contains(record.value.in_sync, *preferred);
  const auto node = known_.nodes().find(record.preferred);
  const auto stays = node != known_.nodes().end() && !node->second.record.is_leaving;
  if (is_in_sync && stays && record.preferred != options_.node)
    return port_.hand_over(shard, *preferred);
  // A process that finds itself the primary may have lost what others have.
  const auto served = served_.find(shard);
  if (served != served_.end() && served->second == record.value.epoch)
    remove_unwanted(shard, record);
}

/// @pre the replica here has all that was acknowledged
void member::remove_unwanted(shard_id shard, const shard_record& record) {
  const auto& value = record.value;
  const auto is_in_sync = [&](const std::string& node) {
    const auto* replica = replica_on(record, node);
    return replica && replication::contains(value.in_sync, *replica);
  };
  const auto kept = std::count_if(record.wanted.begin(), record.wanted.end(), is_in_sync);
  for (const auto& [replica, node] : record.nodes) {
    const auto is_wanted = std::binary_search(record.wanted.begin(), record.wanted.end(), node);
    if (is_wanted || replica == value.primary || record.wanted.empty())
      continue;
    if (!replication::contains(value.in_sync, replica))
      return void(change_shard(shard, without_replica(record, replica)));
    if (static_cast<std::size_t>(kept) >= value.min_in_sync)
      return void(change_shard(
        shard, with_value(record, replication::remove_member(value, replica))));
  }
}

// The controller.

bool member::is_controller() const {
  const auto& known = known_.controller();
  return lease_ != 0 && known && known->record.node == options_.node
         && known->record.incarnation == self_.incarnation;
}

void member::control(monotonic_time now) {
  if (!is_registered_ || self_.is_leaving || !known_.cluster())
    return;
  if (!known_.controller()) {
    const auto key = known_.keys().controller();
    const controller_record next{1, options_.node, self_.incarnation, {}};
    (void)start(key, {key, std::nullopt, encode(next), lease_}, false);
    return;
  }
  if (!is_controller())
    return;
  placement_view view;
  view.copies = known_.cluster()->record.copies;
  view.nodes = nodes_.look(known_, now);
  for (const auto& [shard, known] : known_.shards())
    view.shards.emplace(shard, known.record);
  for (const auto& [shard, next] : place(view, options_.bounds))
    change_shard(shard, next);
  if (const auto next = with_raised_format(known_)) {
    const auto key = known_.keys().cluster();
    (void)start(key, {key, known_.cluster()->bytes, encode(*next), 0}, false);
  }
}

} // namespace codeq::cluster
