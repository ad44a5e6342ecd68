// SPDX-License-Identifier: Apache-2.0
#include "placement/moving_cluster.hpp"

#include "cluster/record_json.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster::sim {

using namespace std::chrono_literals;
using replication::contains;
using replication::membership;
using replication::replica_id;
using replication::shard_replica;

namespace {

/// How soon all shards are served again after everything has healed.
constexpr span serves_again = 5s;
/// How soon the cluster is as it was wished then, and how soon if a node is given up first.
constexpr span settles = 60s;
constexpr span settles_without_node = 150s;
/// A cluster that has settled stays as it is for so long; nothing that is left to be done waits.
constexpr span stays = 5s;
/// A decision that etcd was asked for has come to it within this time, or is lost.
constexpr span decided_within = 4s;
/// A change of an operator ends within this time.
constexpr span change_ends = 5s;

std::string name_of(shard_id shard) {
  return "shard " + std::to_string(value(shard));
}

std::string text_of(const shard_record& record) {
  const auto list = [&](const auto& replicas) {
    std::string text;
    for (auto one : replicas)
      text += " " + node_of(record, one);
    return text;
  };
  std::string wanted;
  for (const auto& node : record.wanted)
    wanted += " " + node;
  return "version " + std::to_string(record.value.version) + " epoch "
         + std::to_string(record.value.epoch) + " primary " + node_of(record, record.value.primary)
         + " set" + list(record.value.in_sync) + " of" + list(record.value.replicas) + " wanted"
         + wanted + (record.preferred.empty() ? "" : " preferred " + record.preferred)
         + (record.pinned.empty() ? "" : " pinned " + record.pinned);
}

} // namespace

moving_scenario::moving_scenario(std::uint64_t seed) {
  codeq::sim::chance random(seed * 2 + 1);
  nodes = 4 + random.below(2);
  shards = static_cast<std::uint16_t>(6 + random.below(7));
  copies = static_cast<std::uint32_t>(random.hits(100) ? 1 : 2 + random.below(2));
  is_os = random.hits(400);
  has_joiner = random.hits(300);
  has_lost_node = !has_joiner && copies > 1 && random.hits(150);
  loss_permille = random.hits(500) ? random.below(60) : 0;
  late_permille = random.hits(500) ? random.below(200) : 10;
  double_permille = random.hits(500) ? random.below(100) : 0;
  fault_pause_ms = random.between(500, 4'000);
  change_pause_ms = random.between(300, 3'000);
  if (random.hits(700))
    etcd = {
      .lost_requests = random.below(100),
      .lost_answers = random.below(100),
      .unknown = random.below(50),
      .stale_reads = random.below(200),
      .false_keep_alives = random.below(500),
      .early_ends = random.below(200),
      .lost_changes = random.below(200),
      .late_changes = random.below(200),
      .doubled_changes = random.below(200),
      .rewound_changes = random.below(200)};
}

moving_cluster::moving_cluster(std::uint64_t seed)
  : surroundings(seed), scenario_(seed), etcd_(time_, random_.next()), keys_(cluster_name) {
  for (std::size_t i = 0; i < scenario_.nodes; ++i) {
    const auto rate = 1.0 + static_cast<double>(random_.below(250)) / 1000;
    nodes_.push_back(std::make_unique<moving_node>(*this, i, rate));
  }
  is_cut_.assign(scenario_.nodes, std::vector<bool>(scenario_.nodes));
  shards_.resize(scenario_.shards);
  etcd_.observe([this](const etcd::entry& changed) { note_record(changed); });
  found_shards();
  etcd_.set_faults(scenario_.etcd);
}

moving_cluster::~moving_cluster() = default;

void moving_cluster::found_shards() {
  cluster_record cluster;
  cluster.version = 1;
  cluster.identity = 5;
  cluster.shards = scenario_.shards;
  cluster.copies = scenario_.copies;
  cluster.min_in_sync = scenario_.copies == 3 ? 2 : 1;
  etcd_.apply({keys_.cluster(), std::nullopt, encode(cluster), 0});
  const auto first_nodes = scenario_.nodes - (scenario_.has_joiner ? 1 : 0);
  for (std::uint16_t i = 0; i < scenario_.shards; ++i) {
    shard_record shard;
    shard.value.version = shard.value.epoch = 1;
    shard.value.min_in_sync = cluster.min_in_sync;
    const auto first = random_.below(first_nodes);
    for (std::size_t copy = 0; copy < scenario_.copies; ++copy) {
      const auto& node = *nodes_[(first + copy) % first_nodes];
      shard.nodes.emplace(replica_id{i * 8ull + copy + 1}, node.name());
      shard.wanted.push_back(node.name());
    }
    std::sort(shard.wanted.begin(), shard.wanted.end());
    for (const auto& [replica, node] : shard.nodes)
      shard.value.replicas.push_back(replica);
    shard.value.in_sync = shard.value.replicas;
    shard.value.primary = shard.value.replicas.front();
    etcd_.apply({keys_.shard(shard_id{i}), std::nullopt, encode(shard), 0});
    for (const auto& [replica, name] : shard.nodes)
      for (auto& node : nodes_)
        if (node->name() == name)
          node->found(shard_id{i}, replica, shard);
  }
}

const shard_record& moving_cluster::record(shard_id shard) const {
  return shards_[value(shard)].records.back().second;
}

const shard_record& moving_cluster::record_before(shard_id shard, span ago) const {
  const auto& records = shards_[value(shard)].records;
  auto at = records.end() - 1;
  while (at != records.begin() && at->first > time_.now() - ago)
    --at;
  return at->second;
}

void moving_cluster::note_replica(
  shard_id shard, moving_node& node, moving_node::replica& made) {
  homes_[made.id()] = {shard, &node, &made};
}

void moving_cluster::note_power_cut(const moving_node& node) {
  for (auto& shard : shards_)
    shard.sets_at_cut[node.name()] = sure_members(shard);
}

void moving_cluster::note_asked(const etcd::swap& what) {
  const auto key = keys_.parse(what.key);
  const auto* shard = std::get_if<catalogue_keys::shard_key>(&key);
  if (!shard)
    return;
  auto& state = shards_[value(shard->number)];
  const auto next = decode<shard_record>(what.next.value_or(""));
  for (auto member : state.records.back().second.value.in_sync)
    if (next && !contains(next->value.in_sync, member))
      state.leaving[member] = time_.now() + decided_within;
}

std::vector<replica_id> moving_cluster::sure_members(const shard_state& shard) const {
  auto members = shard.records.back().second.value.in_sync;
  std::erase_if(members, [&](auto member) {
    const auto found = shard.leaving.find(member);
    return found != shard.leaving.end() && found->second > time_.now();
  });
  return members;
}

void moving_cluster::fail(const std::string& what) {
  if (violation_.empty())
    violation_ = what;
}

// Surroundings of the replicas.

replication::sim::auditor& moving_cluster::audit_of(const moving_node::replica& whose) {
  return shards_[value(homes_.at(whose.id()).shard)].audit;
}

void moving_cluster::send(
  const moving_node::replica& sender, replica_id to, replication::envelope what) {
  const auto& from = homes_.at(sender.id());
  const auto name = from.node->address_of(from.shard, to);
  const auto target = std::find_if(
    nodes_.begin(), nodes_.end(), [&](const auto& node) { return node->name() == name; });
  if (target == nodes_.end())
    return;
  auto& node = **target;
  const auto copies = 1u + (!is_healed_ && random_.hits(scenario_.double_permille) ? 1u : 0u);
  for (unsigned i = 0; i < copies; ++i) {
    if (is_cut_[from.node->index()][node.index()]
        || (!is_healed_ && random_.hits(scenario_.loss_permille)))
      continue;
    const auto is_late = !is_healed_ && random_.hits(scenario_.late_permille);
    const auto delay = is_late ? random_.moment(1'000, 2'000'000) : random_.moment(50, 3'000);
    const auto index = from.node->index();
    // A connection ends with the process that it was made to.
    const auto process = node.incarnation();
    time_.after(delay, [this, index, process, &node, shard = from.shard, to, what] {
      if (!is_cut_[index][node.index()] && node.incarnation() == process)
        node.receive(shard, to, what);
    });
  }
}

void moving_cluster::compare_and_set(
  const moving_node::replica& from, const membership& old, const membership& next) {
  const auto& home = homes_.at(from.id());
  home.node->compare_and_set(home.shard, old, next);
}

void moving_cluster::ended(const moving_node::replica& gone) {
  const auto shard = homes_.at(gone.id()).shard;
  for (auto& node : nodes_)
    if (node->on_disk(shard) != &gone && random_.hits(500))
      time_.after(random_.moment(1'000, 150'000), [&node, shard, id = gone.id()] {
        node->note_gone(shard, id);
      });
}

void moving_cluster::served(const moving_node::replica& by) {
  const auto& home = homes_.at(by.id());
  home.node->note_served(home.shard, home.replica->process().value().epoch);
  check_answers();
}

void moving_cluster::acknowledged(
  const moving_node::replica& by, replication::position at) {
  const auto shard = homes_.at(by.id()).shard;
  auto& state = shards_[value(shard)];
  ++counts_.acknowledged;
  state.audit.acknowledges(at.epoch, at);
  const auto& record = state.records.back().second;
  if (at.epoch != record.value.epoch)
    return;
  for (auto member : record.value.in_sync) {
    const auto& holder = homes_.at(member);
    const auto is_whole =
      holder.node->on_disk(shard) == holder.replica && !holder.replica->is_doubtful();
    if (is_whole && !holder.replica->holds(at))
      fail(
        name_of(shard) + ": " + holder.node->name() + " is in sync without delta "
        + std::to_string(at.epoch) + "/" + std::to_string(at.number) + ", which is acknowledged");
  }
}

// Judgement.

void moving_cluster::note_record(const etcd::entry& changed) {
  const auto key = keys_.parse(changed.key);
  if (std::holds_alternative<catalogue_keys::cluster_key>(key))
    if (const auto cluster = decode<cluster_record>(changed.value.value_or("")))
      drained_ = {cluster->drained.begin(), cluster->drained.end()};
  const auto* shard = std::get_if<catalogue_keys::shard_key>(&key);
  if (!shard)
    return note("etcd: " + changed.key + " = " + changed.value.value_or("none"));
  auto record = decode<shard_record>(changed.value.value_or(""));
  if (!record)
    return fail("etcd has a malformed record: " + record.error().context);
  auto& state = shards_[value(shard->number)];
  // It was only read for sure.
  if (!state.records.empty() && state.records.back().second == *record)
    return;
  note("etcd: " + name_of(shard->number) + " " + text_of(*record));
  if (!state.records.empty())
    check_record(state, state.records.back().second, *record);
  state.records.emplace_back(time_.now(), std::move(*record));
}

void moving_cluster::check_record(
  shard_state& shard, const shard_record& before, const shard_record& after) {
  if (after.value.version != before.value.version + 1 || after.value.epoch < before.value.epoch)
    fail("a record does not follow the one before: " + text_of(after));
  if (!contains(after.value.in_sync, after.value.primary))
    fail("a primary is not in sync: " + text_of(after));
  note_winner(shard, before, after);
  check_wanted(before, after);
  const auto is_loss = after.value.condition == replication::shard_condition::loss_accepted
                       && after.value.epoch != before.value.epoch;
  // The winner of an epoch in which nobody served is not doubtful any more, but has lost the same.
  const auto is_same_loss =
    before.value.condition == replication::shard_condition::loss_accepted
    && !before.is_forced && !shard.audit.was_served(before.value.epoch);
  if (is_loss && !after.is_forced && !is_same_loss)
    check_loss(shard, before, after);
  if (is_loss)
    shard.audit.accept_loss(after.value.epoch);
  for (auto member : after.value.in_sync)
    if (!contains(before.value.in_sync, member))
      ++counts_.added;
  check_members(shard, after);
}

/// A copy that is in sync is given up only once as many others are as there should be, also when
/// its node is drained.
void moving_cluster::check_wanted(const shard_record& before, const shard_record& after) {
  const auto is_in_sync = [](const shard_record& record, const std::string& node) {
    const auto* replica = replica_on(record, node);
    return replica && contains(record.value.in_sync, *replica);
  };
  const auto is_kept = [&](const std::string& node) {
    return !is_in_sync(before, node)
           || std::binary_search(after.wanted.begin(), after.wanted.end(), node);
  };
  if (std::all_of(before.wanted.begin(), before.wanted.end(), is_kept))
    return;
  const auto in_sync = static_cast<std::size_t>(
    std::count_if(after.wanted.begin(), after.wanted.end(), [&](const std::string& node) {
      return is_in_sync(after, node);
    }));
  if (in_sync < scenario_.copies)
    fail("a copy is given up before others are in sync: " + text_of(after));
}

/// A winner that is doubtful answered before it lost its power: what the members decided with its
/// answer counts as the set that it was in. So does what an operator forced.
void moving_cluster::note_winner(
  shard_state& shard, const shard_record& before, const shard_record& after) {
  const auto& winner = homes_.at(after.value.primary);
  const auto is_sound =
    after.is_forced || after.value.condition == replication::shard_condition::normal;
  if (after.value.epoch > before.value.epoch && is_sound && winner.replica->is_doubtful())
    shard.sets_at_cut[winner.node->name()] = after.value.in_sync;
}

/// A loss is accepted only if all members of the set have lost what was not synced, as the set was
/// when the last of them did.
void moving_cluster::check_loss(
  const shard_state& shard, const shard_record& before, const shard_record& after) {
  const moving_node* last = nullptr;
  for (auto member : before.value.in_sync) {
    const auto* node = homes_.at(member).node;
    if (!last || node->lost_at() > last->lost_at())
      last = node;
  }
  const auto set = shard.sets_at_cut.find(last->name());
  if (set == shard.sets_at_cut.end())
    return fail("a loss is accepted though no node has lost its power: " + text_of(after));
  for (auto member : set->second) {
    const auto& holder = homes_.at(member);
    if (!holder.replica->is_doubtful())
      fail(
        "a loss is accepted though " + holder.node->name() + " was in sync and kept its power: "
        + text_of(after));
  }
}

void moving_cluster::check_members(const shard_state& shard, const shard_record& record) {
  for (auto member : record.value.in_sync) {
    const auto& holder = homes_.at(member);
    const auto is_whole =
      holder.node->on_disk(holder.shard) == holder.replica && !holder.replica->is_doubtful();
    if (!is_whole)
      continue;
    for (auto at : shard.audit.acknowledged())
      if (shard.audit.has_to_stay(at) && at.epoch <= record.value.epoch
          && !holder.replica->holds(at))
        return fail(
          name_of(holder.shard) + ": " + holder.node->name() + " counts as in sync without delta "
          + std::to_string(at.epoch) + "/" + std::to_string(at.number));
  }
}

void moving_cluster::check_answers() {
  for (auto& node : nodes_)
    for (const auto& [shard, replica] : node->running())
      if (replica->is_up() && replica->process().may_answer(replica->now()))
        shards_[value(shard)].audit.may_answer(replica->process().value().epoch);
}

bool moving_cluster::is_served(const shard_record& record) const {
  const auto found = homes_.find(record.value.primary);
  return found != homes_.end() && found->second.replica->is_up()
         && found->second.replica->process().is_serving()
         && found->second.replica->process().value().epoch == record.value.epoch;
}

std::string moving_cluster::unserved() const {
  for (std::uint16_t i = 0; i < scenario_.shards; ++i)
    if (!is_served(record(shard_id{i})))
      return name_of(shard_id{i}) + " is not served: " + text_of(record(shard_id{i}));
  return {};
}

std::string moving_cluster::unsettled(shard_id shard) const {
  const auto& now = record(shard);
  std::size_t staying = 0;
  std::size_t wanted_there = 0;
  for (const auto& node : nodes_) {
    const auto stays_there = node->index() != lost_node_ && !drained_.contains(node->name());
    const auto is_wanted =
      std::binary_search(now.wanted.begin(), now.wanted.end(), node->name());
    staying += stays_there ? 1 : 0;
    wanted_there += stays_there && is_wanted ? 1 : 0;
  }
  std::vector<std::string> in_sync;
  for (auto member : now.value.in_sync)
    in_sync.push_back(node_of(now, member));
  std::sort(in_sync.begin(), in_sync.end());
  const auto is_led = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return node->name() == now.pinned && !drained_.contains(node->name());
  });
  // While nothing else has its place, a copy of a node that is drained or gone stays wanted.
  const auto is_enough = staying >= scenario_.copies;
  if (now.wanted.size() != scenario_.copies
      || wanted_there < std::min<std::size_t>(scenario_.copies, staying))
    return "has not its number of copies";
  if (!is_enough && lost_node_)
    return in_sync.size() < staying ? "has not its number of copies" : "";
  if (now.wanted != in_sync || now.value.replicas != now.value.in_sync)
    return "has other copies than it should have";
  if (is_led && std::binary_search(in_sync.begin(), in_sync.end(), now.pinned)
      && node_of(now, now.value.primary) != now.pinned)
    return "is led by another node than an operator wants";
  if (!now.preferred.empty() || !is_served(now))
    return "is not led as it should be";
  for (const auto& node : nodes_) {
    const auto kept = node->running().find(shard);
    if (kept != node->running().end() && !now.nodes.contains(kept->second->id()))
      return "has a copy too many on " + node->name();
    if (is_enough && drained_.contains(node->name()) && replica_on(now, node->name()))
      return "has a copy on a drained node";
  }
  return {};
}

std::string moving_cluster::unsettled() const {
  for (const auto& shard : shards_)
    if (shard.records.back().first > time_.now() - stays)
      return "a record changes again and again: " + text_of(shard.records.back().second);
  for (std::uint16_t i = 0; i < scenario_.shards; ++i)
    if (const auto why = unsettled(shard_id{i}); !why.empty())
      return name_of(shard_id{i}) + " " + why + ": " + text_of(record(shard_id{i}));
  return {};
}

std::string moving_cluster::untold() const {
  for (const auto& one : asked_) {
    const auto& node = *nodes_[one.node];
    if (!one.is_told && node.is_up() && node.incarnation() == one.incarnation)
      return "`cluster " + to_string(one.what) + "`, asked of " + node.name() + ", has no end";
  }
  return {};
}

// The run.

void moving_cluster::make_load() {
  for (auto& node : nodes_)
    for (const auto& [shard, replica] : node->running())
      if (random_.hits(300))
        replica->run(0us, [this](shard_replica& process, monotonic_time now) {
          if (process.accepts_writes())
            process.propose(
              std::make_shared<replication::sim::text_body>(std::to_string(++deltas_)), now);
        });
  time_.after(random_.moment(5'000, 60'000), [this] { make_load(); });
}

void moving_cluster::step(span length) {
  time_.run_until(time_.now() + length);
  check_answers();
  for (const auto& shard : shards_)
    if (const auto& found = shard.audit.violation(); !found.empty())
      fail(name_of(shard_id{static_cast<std::uint16_t>(&shard - shards_.data())}) + ": " + found);
}

std::string moving_cluster::run_until(
  std::string (moving_cluster::*missing)() const, span most) {
  const auto end = time_.now() + most;
  auto why = (this->*missing)();
  while (!why.empty() && time_.now() < end && violation_.empty()) {
    step(20ms);
    why = (this->*missing)();
  }
  return why;
}

std::string moving_cluster::run() {
  for (auto& node : nodes_)
    time_.after(
      scenario_.has_joiner && node->index() + 1 == nodes_.size() ? 6s : span{},
      [&node] { node->start(); });
  make_load();
  time_.after(random_.moment(0, 5'000'000), [this] { make_fault(); });
  time_.after(random_.moment(2'000'000, 6'000'000), [this] { make_change(); });
  time_.after(lost_at, [this] { lose_node(); });
  if (random_.hits(500))
    time_.after(wished_at, [this] { cut_wished_primary(); });
  while (time_.now() < healed_at && violation_.empty())
    step(10ms);
  heal();
  const auto healed = time_.now();
  if (const auto why = run_until(&moving_cluster::unserved, serves_again); !why.empty())
    fail(why);
  counts_.served_after = time_.now() - healed;
  if (const auto why = run_until(&moving_cluster::untold, change_ends); !why.empty())
    fail(why);
  const auto most = lost_node_ ? settles_without_node : settles;
  if (const auto why = run_until(&moving_cluster::unsettled, most); !why.empty())
    fail(why);
  counts_.settled_after = time_.now() - healed;
  for (const auto& shard : shards_)
    check_members(shard, shard.records.back().second);
  return violation_;
}

moving_cluster::counts moving_cluster::counted() const {
  auto all = counts_;
  for (const auto& shard : shards_)
    all.epochs += shard.audit.epochs_served();
  for (const auto& one : asked_)
    all.asked += one.is_told ? 1 : 0;
  return all;
}

} // namespace codeq::cluster::sim
