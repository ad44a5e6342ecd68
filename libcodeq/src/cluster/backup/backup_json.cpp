// SPDX-License-Identifier: Apache-2.0
#include "cluster/backup/backup_json.hpp"

#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "cluster/field_reader.hpp"
#include "cluster/record_json.hpp"

#include <utility>

namespace codeq::cluster {

namespace {

namespace json = boost::json;

constexpr std::size_t backup_depth_max = 4;

/// Calls `take` with each object of a list.
template <class Take>
result<void> read_list(json::object& from, const char* name, Take take) {
  const auto list = from.if_contains(name);
  if (!list || !list->is_array())
    return error{errc::corruption, std::string("field ") + name + " is no list"};
  for (auto& one : list->get_array()) {
    if (!one.is_object())
      return error{errc::corruption, std::string("field ") + name + " has no objects"};
    field_reader of(std::move(one.get_object()));
    take(of);
    if (of.problem().code != errc::none)
      return of.problem();
  }
  return {};
}

cluster_backup_part read_part(field_reader& from) {
  cluster_backup_part part;
  part.node = from.name("node");
  part.number = from.number32("backup");
  part.bytes = from.number("bytes");
  part.files = from.number32("files");
  return part;
}

cluster_backup_shard read_shard(field_reader& from) {
  cluster_backup_shard shard;
  shard.shard = static_cast<shard_id>(from.number("shard", limits::shards_max - 1));
  shard.epoch = from.number32("epoch");
  shard.position = from.number("position");
  return shard;
}

} // namespace

std::string encode(const cluster_backup& backup) {
  base::json_writer to;
  to.begin_object().field("cluster", backup.cluster).field("run", id_text(backup.run));
  to.begin_array("coordinators");
  for (const auto& part : backup.parts) {
    to.begin_object().field("node", part.node).field("backup", part.number);
    to.field("bytes", part.bytes).field("files", part.files).end_object();
  }
  to.end_array().begin_array("shards");
  for (const auto& shard : backup.shards) {
    to.begin_object().field("shard", value(shard.shard)).field("epoch", shard.epoch);
    to.field("position", shard.position).end_object();
  }
  return to.end_array().end_object().take() + "\n";
}

result<cluster_backup> decode_backup(std::string_view text) {
  json::parse_options options;
  options.max_depth = backup_depth_max;
  boost::system::error_code failure;
  auto parsed = json::parse({text.data(), text.size()}, failure, {}, options);
  if (failure || !parsed.is_object())
    return error{errc::corruption, "no JSON object"};
  auto& object = parsed.get_object();
  cluster_backup backup;
  auto parts = read_list(object, "coordinators", [&](field_reader& from) {
    backup.parts.push_back(read_part(from));
  });
  if (!parts)
    return parts.error();
  auto shards = read_list(object, "shards", [&](field_reader& from) {
    backup.shards.push_back(read_shard(from));
  });
  if (!shards)
    return shards.error();
  field_reader from(std::move(object));
  backup.cluster = from.name("cluster");
  backup.run = from.id("run");
  if (from.problem().code != errc::none)
    return from.problem();
  for (std::size_t i = 0; i < backup.shards.size(); ++i)
    if (value(backup.shards[i].shard) != i)
      return error{
        errc::corruption, "field shards has no shard " + std::to_string(i) + " in its place"};
  return backup;
}

} // namespace codeq::cluster
