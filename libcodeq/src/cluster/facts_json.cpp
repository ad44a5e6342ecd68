// SPDX-License-Identifier: Apache-2.0
// The facts of stopped coordinators for a repair, as JSON.
#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "cluster/field_reader.hpp"
#include "cluster/record_json.hpp"
#include "cluster/repair.hpp"

#include <utility>

namespace codeq::cluster {

namespace {

namespace json = boost::json;

constexpr std::size_t facts_depth_max = 8;
constexpr std::size_t nodes_max = 1000;

copy_facts read_copy(field_reader& from) {
  copy_facts copy;
  copy.id = replication::replica_id{from.id("id")};
  copy.promised = from.number32("promised");
  copy.last.epoch = from.number32("epoch");
  copy.last.number = from.number("number");
  copy.is_doubtful = from.flag("doubtful");
  copy.is_incomplete = from.flag("incomplete");
  return copy;
}

node_facts read_node_facts(field_reader& from) {
  node_facts facts;
  facts.node = from.name("node");
  facts.identity = from.id("identity");
  facts.shards = from.number32("shards", limits::shards_max);
  facts.copies = from.number32("copies", copies_max);
  facts.min_in_sync = from.number32("min_in_sync", copies_max);
  for (auto& name : from.names("nodes", nodes_max))
    facts.nodes.insert(std::move(name));
  return facts;
}

} // namespace

std::string encode(const node_facts& facts) {
  base::json_writer to;
  to.begin_object().field("node", facts.node).field("identity", id_text(facts.identity));
  to.field("shards", facts.shards).field("copies", facts.copies);
  to.field("min_in_sync", facts.min_in_sync).begin_array("nodes");
  for (const auto& name : facts.nodes)
    to.text(name);
  to.end_array().begin_array("held");
  for (const auto& [shard, copy] : facts.held) {
    to.begin_object().field("shard", value(shard));
    to.field("id", id_text(static_cast<std::uint64_t>(copy.id)));
    to.field("promised", copy.promised).field("epoch", copy.last.epoch);
    to.field("number", copy.last.number).field("doubtful", copy.is_doubtful);
    to.field("incomplete", copy.is_incomplete).end_object();
  }
  return to.end_array().end_object().take() + "\n";
}

result<node_facts> decode_facts(std::string_view text) {
  json::parse_options options;
  options.max_depth = facts_depth_max;
  boost::system::error_code failure;
  auto parsed = json::parse({text.data(), text.size()}, failure, {}, options);
  if (failure || !parsed.is_object())
    return error{errc::corruption, "no JSON object"};
  auto& object = parsed.get_object();
  const auto held = object.if_contains("held");
  if (!held || !held->is_array())
    return error{errc::corruption, "field held is no list"};
  auto copies = std::move(held->get_array());
  field_reader from(std::move(object));
  auto facts = read_node_facts(from);
  for (auto& one : copies) {
    if (!one.is_object())
      return error{errc::corruption, "field held has no objects"};
    field_reader of(std::move(one.get_object()));
    const auto shard = static_cast<shard_id>(of.number("shard", limits::shards_max - 1));
    facts.held[shard] = read_copy(of);
    if (of.problem().code != errc::none)
      return of.problem();
  }
  if (from.problem().code != errc::none)
    return from.problem();
  return facts;
}

} // namespace codeq::cluster
