// SPDX-License-Identifier: Apache-2.0
#include "cluster/catalogue.hpp"

#include "cluster/record_json.hpp"

#include <algorithm>

namespace codeq::cluster {

namespace {

template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};

} // namespace

template <class Record>
std::optional<Record> catalogue::read(const etcd::entry& told) {
  auto record = decode<Record>(*told.value);
  if (record) {
    unreadable_.erase(told.key);
    return std::move(*record);
  }
  unreadable_[told.key] = "etcd key " + told.key + ": " + record.error().context;
  return std::nullopt;
}

bool catalogue::note_shard(shard_id number, const etcd::entry& told) {
  const auto known = shards_.find(number);
  if (!told.value || (known != shards_.end() && known->second.bytes == *told.value))
    return false;
  auto record = read<shard_record>(told);
  if (!record)
    return false;
  // Shards are told by their replicas, too, without a revision: the version decides.
  if (known != shards_.end() && record->value.version <= known->second.record.value.version)
    return false;
  shards_[number] = {std::move(*record), *told.value, told.modified};
  return true;
}

template <class Record>
bool catalogue::note_leased(
  std::optional<known_record<Record>>& known, const etcd::entry& told) {
  if (!told.value) {
    const auto was_known = known.has_value();
    known.reset();
    unreadable_.erase(told.key);
    return was_known;
  }
  if (known && known->bytes == *told.value) {
    known->modified = told.modified;
    return false;
  }
  auto record = read<Record>(told);
  if (!record)
    return false;
  known = known_record<Record>{std::move(*record), *told.value, told.modified};
  return true;
}

bool catalogue::note_node(const std::string& name, const etcd::entry& told) {
  std::optional<known_record<node_record>> known;
  if (const auto found = nodes_.find(name); found != nodes_.end())
    known = std::move(found->second);
  const auto is_changed = note_leased(known, told);
  if (known)
    nodes_[name] = std::move(*known);
  else
    nodes_.erase(name);
  return is_changed;
}

catalogue::change catalogue::note(const etcd::entry& told) {
  auto& modified = modified_[told.key];
  if (told.modified < modified)
    return std::nullopt;
  modified = told.modified;
  if (told.value)
    present_.insert(told.key);
  else
    present_.erase(told.key);
  auto key = keys_.parse(told.key);
  const auto take = overloaded{
    [&](const catalogue_keys::cluster_key&) { return note_leased(cluster_, told); },
    [&](const catalogue_keys::controller_key&) { return note_leased(controller_, told); },
    [&](const catalogue_keys::node_key& node) { return note_node(node.name, told); },
    [&](const catalogue_keys::shard_key& shard) { return note_shard(shard.number, told); },
    [](const catalogue_keys::other_key&) { return false; },
  };
  return std::visit(take, key) ? change(std::move(key)) : std::nullopt;
}

std::vector<catalogue_keys::parsed> catalogue::note_all(const etcd::range_answer& all) {
  std::vector<catalogue_keys::parsed> changed;
  std::set<std::string> listed;
  for (const auto& told : all.found) {
    listed.insert(told.key);
    if (auto key = note(told))
      changed.push_back(std::move(*key));
  }
  std::vector<std::string> gone;
  std::set_difference(
    present_.begin(), present_.end(), listed.begin(), listed.end(), std::back_inserter(gone));
  for (const auto& key : gone) {
    // One that was created after the list was made is not gone.
    if (modified_[key] > all.at.revision)
      continue;
    if (auto parsed = note({key, std::nullopt, all.at.revision}))
      changed.push_back(std::move(*parsed));
  }
  return changed;
}

} // namespace codeq::cluster
