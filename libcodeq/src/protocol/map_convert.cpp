// SPDX-License-Identifier: Apache-2.0
#include "protocol/map_convert.hpp"

#include "encoding/shared_structs.hpp"

#include <map>
#include <string>

namespace codeq::protocol {

namespace {

/// A node of the places, and its index in the message.
struct listed_node {
  const cluster::shard_place* place = nullptr;
  std::uint16_t index = 0;
};

std::map<std::string, listed_node> list_nodes(const cluster::map_news& news) {
  std::map<std::string, listed_node> nodes;
  for (const auto& item : news.items)
    nodes.try_emplace(item.place.node, listed_node{&item.place, 0});
  std::uint16_t next = 0;
  for (auto& [name, node] : nodes)
    node.index = next++;
  return nodes;
}

void write_node(schema::ClusterMap::Node::Builder to, const cluster::shard_place& place) {
  to.setName(place.node);
  to.setAddress(place.address);
  to.setHttpAddress(place.http_address);
}

result<std::vector<cluster::shard_place>> read_nodes(schema::ClusterMap::Reader reader) {
  std::vector<cluster::shard_place> nodes;
  // Each node has a place at least, so that a message costs no more memory than its shards.
  if (reader.getNodes().size() > reader.getPlaces().size())
    return error{
      errc::protocol_error,
      "cluster map: " + std::to_string(reader.getNodes().size()) + " nodes for "
        + std::to_string(reader.getPlaces().size()) + " places"};
  for (auto node : reader.getNodes())
    nodes.push_back(
      {encoding::read_text(node.getName()),
       encoding::read_text(node.getAddress()),
       encoding::read_text(node.getHttpAddress())});
  return nodes;
}

result<cluster::map_news> read_news(schema::ClusterMap::Reader reader) {
  auto nodes = read_nodes(reader);
  if (!nodes)
    return nodes.error();
  cluster::map_news news{reader.getShards(), {}};
  for (auto place : reader.getPlaces()) {
    if (place.getNode() >= nodes->size())
      return error{
        errc::protocol_error,
        "cluster map: node " + std::to_string(place.getNode()) + " of "
          + std::to_string(nodes->size()) + " nodes"};
    auto at = (*nodes)[place.getNode()];
    at.epoch = place.getEpoch();
    at.version = place.getVersion();
    news.items.push_back({shard_id{place.getShard()}, std::move(at)});
  }
  if (auto fits = cluster::check(news); !fits)
    return fits.error();
  return news;
}

} // namespace

cluster_map_news
make_cluster_map(const cluster::map_news& news, std::span<const shard_id> not_here) {
  return cluster_map_news::build([&](auto message) {
    const auto listed = list_nodes(news);
    message.setShards(static_cast<std::uint16_t>(news.shards));
    auto nodes = message.initNodes(static_cast<capnp::uint>(listed.size()));
    for (const auto& [name, node] : listed)
      write_node(nodes[node.index], *node.place);
    auto places = message.initPlaces(static_cast<capnp::uint>(news.items.size()));
    for (capnp::uint i = 0; i < places.size(); ++i) {
      const auto& [shard, place] = news.items[i];
      places[i].setShard(value(shard));
      places[i].setNode(listed.at(place.node).index);
      places[i].setEpoch(place.epoch);
      places[i].setVersion(place.version);
    }
    auto left = message.initNotHere(static_cast<capnp::uint>(not_here.size()));
    for (capnp::uint i = 0; i < left.size(); ++i)
      left.set(i, value(not_here[i]));
  });
}

result<told_places> read_cluster_map(const cluster_map_news& message) {
  return message.read([](auto reader) -> result<told_places> {
    auto news = read_news(reader);
    if (!news)
      return news.error();
    told_places told{std::move(*news), {}};
    for (auto shard : reader.getNotHere()) {
      if (shard >= told.news.shards)
        return error{
          errc::protocol_error,
          "cluster map: shard " + std::to_string(shard) + " of " + std::to_string(told.news.shards)
            + " shards is not here"};
      told.not_here.push_back(shard_id{shard});
    }
    return told;
  });
}

shard_epochs make_shard_epochs(const epochs_of_shards& epochs) {
  return shard_epochs::build([&](auto message) {
    auto lines = message.initShards(static_cast<capnp::uint>(epochs.size()));
    for (capnp::uint i = 0; i < lines.size(); ++i) {
      lines[i].setShard(value(epochs[i].first));
      lines[i].setEpoch(epochs[i].second);
    }
  });
}

result<epochs_of_shards> read_shard_epochs(const shard_epochs& message, std::size_t shards) {
  return message.read([&](auto reader) -> result<epochs_of_shards> {
    epochs_of_shards epochs;
    for (auto line : reader.getShards()) {
      if (line.getShard() >= shards)
        return error{
          errc::protocol_error,
          "epochs of shards: shard " + std::to_string(line.getShard()) + " of "
            + std::to_string(shards) + " shards"};
      epochs.emplace_back(shard_id{line.getShard()}, line.getEpoch());
    }
    return epochs;
  });
}

} // namespace codeq::protocol
