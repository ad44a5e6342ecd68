// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_map.hpp"

#include "codeq/limits.hpp"

#include "base/assert.hpp"
#include "cluster/records.hpp"

#include <algorithm>
#include <set>

namespace codeq::cluster {

namespace {

error refuse(std::string words) {
  return {errc::protocol_error, "cluster map: " + std::move(words)};
}

} // namespace

result<void> check(const map_news& news) {
  if (news.shards == 0 || news.shards > limits::shards_max)
    return refuse(
      "shards is " + std::to_string(news.shards) + ", from 1 to "
      + std::to_string(limits::shards_max) + " are possible");
  std::int32_t last = -1;
  for (const auto& [shard, place] : news.items) {
    const auto number = codeq::value(shard);
    if (number >= news.shards)
      return refuse(
        "shard " + std::to_string(number) + " of " + std::to_string(news.shards) + " shards");
    if (number <= last)
      return refuse("shard " + std::to_string(number) + " is out of order");
    if (!is_valid_name(place.node))
      return refuse("the node of shard " + std::to_string(number) + " is no name");
    const auto longest = std::max(place.address.size(), place.http_address.size());
    if (place.address.empty() || longest > address_bytes_max)
      return refuse(
        "the address of shard " + std::to_string(number) + " has " + std::to_string(longest)
        + " bytes, from 1 to " + std::to_string(address_bytes_max) + " are possible");
    last = number;
  }
  return {};
}

result<bool> cluster_map::merge(const map_news& news) {
  if (auto fits = check(news); !fits)
    return fits.error();
  if (places_.empty())
    set_shards(news.shards);
  if (news.shards != shards())
    return refuse(
      "shards is " + std::to_string(news.shards) + ", but this cluster has "
      + std::to_string(shards()));
  bool is_changed = false;
  for (const auto& [shard, place] : news.items)
    is_changed = merge(shard, place) || is_changed;
  return is_changed;
}

bool cluster_map::merge(shard_id shard, const shard_place& place) {
  auto& known = places_.at(codeq::value(shard));
  // The address of a node does not change the version of its shards.
  const auto is_moved = known && known->place.version == place.version
                        && known->place.node == place.node && known->place.epoch == place.epoch
                        && known->place != place;
  if (known && known->place.version >= place.version && !is_moved)
    return false;
  const auto is_elsewhere =
    !known || known->place.node != place.node || known->place.address != place.address
    || known->place.http_address != place.http_address || known->place.epoch != place.epoch;
  known = {place, ++changes_};
  return is_elsewhere;
}

bool cluster_map::move_node(
  const std::string& node, const std::string& address, const std::string& http) {
  bool is_changed = false;
  for (auto& known : places_) {
    if (!known || known->place.node != node)
      continue;
    auto& place = known->place;
    if (place.address == address && place.http_address == http)
      continue;
    is_changed = true;
    place.address = address;
    place.http_address = http;
    known->change = ++changes_;
  }
  return is_changed;
}

void cluster_map::set_shards(std::uint32_t count) {
  CODEQ_ASSERT(places_.empty() || places_.size() == count);
  places_.resize(count);
}

const shard_place* cluster_map::of(shard_id shard) const {
  const auto number = codeq::value(shard);
  return number < places_.size() && places_[number] ? &places_[number]->place : nullptr;
}

std::vector<std::string> cluster_map::addresses() const {
  std::set<std::string> addresses;
  for (const auto& known : places_)
    if (known)
      addresses.insert(known->place.address);
  return {addresses.begin(), addresses.end()};
}

map_news cluster_map::whole() const {
  return news_after(0);
}

map_news cluster_map::news_after(std::uint64_t after) const {
  map_news news{shards(), {}};
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i] && places_[i]->change > after)
      news.items.push_back({shard_id{static_cast<std::uint16_t>(i)}, places_[i]->place});
  return news;
}

} // namespace codeq::cluster
