// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_json.hpp"

#include "codeq/limits.hpp"

#include "base/json_writer.hpp"
#include "cluster/field_reader.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace codeq::cluster {

namespace {

namespace json = boost::json;
using replication::replica_id;
using replication::shard_condition;

constexpr std::size_t record_depth_max = 16;

/// Written in etcd, never rename.
constexpr std::string_view state_normal = "normal";
constexpr std::string_view state_loss_accepted = "loss_accepted";
constexpr std::string_view state_forced = "forced";

base::json_writer begin(std::uint64_t version) {
  base::json_writer to;
  to.begin_object().field("format", record_format).field("version", version);
  return to;
}

std::string end(base::json_writer& to, const extra_fields& extra) {
  for (const auto& [name, value] : extra)
    to.key(name).raw(value);
  return to.end_object().take();
}

void write_names(base::json_writer& to, const char* name, const std::vector<std::string>& names) {
  to.begin_array(name);
  for (const auto& one : names)
    to.text(one);
  to.end_array();
}

void write_replicas(base::json_writer& to, const char* name, const std::vector<replica_id>& ids) {
  to.begin_array(name);
  for (auto id : ids)
    to.text(id_text(static_cast<std::uint64_t>(id)));
  to.end_array();
}

std::string_view state_of(const shard_record& record) {
  if (record.value.condition == shard_condition::normal)
    return state_normal;
  return record.is_forced ? state_forced : state_loss_accepted;
}

cluster_record read_cluster(field_reader& from) {
  cluster_record record;
  record.version = from.number("version");
  record.identity = from.id("identity");
  record.shards = static_cast<std::uint32_t>(from.number("shards", limits::shards_max));
  record.copies = from.number32("copies", copies_max);
  record.min_in_sync = static_cast<std::uint32_t>(from.number("min_in_sync", copies_max));
  record.store_format = from.number32("store_format");
  record.settings_version = from.number("settings_version");
  record.drained = from.names("drained", drained_max);
  if (record.shards == 0 || record.copies == 0)
    from.fail(record.shards == 0 ? "shards" : "copies", "is 0");
  if (record.min_in_sync == 0 || record.min_in_sync > record.copies)
    from.fail("min_in_sync", "is not from 1 to copies");
  return record;
}

node_record read_node(field_reader& from) {
  node_record record;
  record.version = from.number("version");
  record.incarnation = from.id("incarnation");
  record.address = from.text("address", address_bytes_max);
  record.http_address = from.text("http_address", address_bytes_max);
  record.zone = from.name_or_none("zone");
  record.free_bytes = from.number("free_bytes");
  record.tasks = from.number("tasks");
  record.store_format_max = from.number32("store_format_max");
  record.is_leaving = from.flag("is_leaving");
  if (from.has("refuses_tasks"))
    record.refuses_tasks = from.flag("refuses_tasks");
  return record;
}

controller_record read_controller(field_reader& from) {
  controller_record record;
  record.version = from.number("version");
  record.node = from.name("node");
  record.incarnation = from.id("incarnation");
  return record;
}

/// What must hold between the fields of a shard.
void check_shard(field_reader& from, const shard_record& record) {
  const auto& value = record.value;
  const auto holds = [](const std::vector<replica_id>& all, const std::vector<replica_id>& part) {
    return std::includes(all.begin(), all.end(), part.begin(), part.end());
  };
  if (!holds(value.replicas, value.in_sync))
    from.fail("in_sync", "has an identity that is not among the replicas");
  if (!replication::contains(value.in_sync, value.primary))
    from.fail("primary", "is not in sync");
  std::set<std::string> nodes;
  for (const auto& [replica, node] : record.nodes)
    nodes.insert(node);
  if (nodes.size() != record.nodes.size())
    from.fail("replicas", "have two identities on one node");
  if (value.min_in_sync == 0)
    from.fail("min_in_sync", "is 0");
}

shard_record read_shard(field_reader& from) {
  shard_record record;
  auto& value = record.value;
  value.version = from.number("version");
  value.epoch = from.number32("epoch");
  value.primary = replica_id{from.id("primary")};
  value.in_sync = from.replicas("in_sync");
  const auto told_learners = from.replicas("learners");
  record.nodes = from.places("replicas");
  for (const auto& [replica, node] : record.nodes)
    value.replicas.push_back(replica);
  value.min_in_sync = from.number32("min_in_sync");
  const auto state = from.text("state", address_bytes_max);
  record.wanted = from.names("wanted", replicas_max);
  record.preferred = from.name_or_none("preferred");
  // Written since operators can move shards, and only then.
  if (from.has("pinned"))
    record.pinned = from.name("pinned");
  record.is_forced = state == state_forced;
  value.condition =
    state == state_normal ? shard_condition::normal : shard_condition::loss_accepted;
  if (state_of(record) != state)
    from.fail("state", "is not normal, loss_accepted or forced");
  check_shard(from, record);
  if (told_learners != learners(record))
    from.fail("learners", "are not the replicas that are not in sync");
  return record;
}

cluster_record read(field_reader& from, const cluster_record*) {
  return read_cluster(from);
}

node_record read(field_reader& from, const node_record*) {
  return read_node(from);
}

controller_record read(field_reader& from, const controller_record*) {
  return read_controller(from);
}

shard_record read(field_reader& from, const shard_record*) {
  return read_shard(from);
}

} // namespace

std::string id_text(std::uint64_t id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto at = text.rbegin(); at != text.rend(); ++at, id >>= 4)
    *at = digits[id & 15];
  return text;
}

std::string encode(const cluster_record& record) {
  auto to = begin(record.version);
  to.field("identity", id_text(record.identity)).field("shards", record.shards);
  to.field("copies", record.copies).field("min_in_sync", record.min_in_sync);
  to.field("store_format", record.store_format);
  to.field("settings_version", record.settings_version);
  write_names(to, "drained", record.drained);
  return end(to, record.extra);
}

std::string encode(const node_record& record) {
  auto to = begin(record.version);
  to.field("incarnation", id_text(record.incarnation)).field("address", record.address);
  to.field("http_address", record.http_address).field("zone", record.zone);
  to.field("free_bytes", record.free_bytes).field("tasks", record.tasks);
  to.field("store_format_max", record.store_format_max).field("is_leaving", record.is_leaving);
  if (record.refuses_tasks)
    to.field("refuses_tasks", true);
  return end(to, record.extra);
}

std::string encode(const controller_record& record) {
  auto to = begin(record.version);
  to.field("node", record.node).field("incarnation", id_text(record.incarnation));
  return end(to, record.extra);
}

std::string encode(const shard_record& record) {
  const auto& value = record.value;
  auto to = begin(value.version);
  to.field("epoch", value.epoch);
  to.field("primary", id_text(static_cast<std::uint64_t>(value.primary)));
  write_replicas(to, "in_sync", value.in_sync);
  write_replicas(to, "learners", learners(record));
  to.begin_object("replicas");
  for (const auto& [replica, node] : record.nodes)
    to.field(id_text(static_cast<std::uint64_t>(replica)), node);
  to.end_object().field("min_in_sync", value.min_in_sync).field("state", state_of(record));
  write_names(to, "wanted", record.wanted);
  to.field("preferred", record.preferred);
  if (!record.pinned.empty())
    to.field("pinned", record.pinned);
  return end(to, record.extra);
}

template <class Record>
result<Record> decode(std::string_view bytes) {
  json::parse_options options;
  options.max_depth = record_depth_max;
  boost::system::error_code failure;
  auto parsed = json::parse({bytes.data(), bytes.size()}, failure, {}, options);
  if (failure || !parsed.is_object())
    return error{errc::corruption, "no JSON object"};
  field_reader from(std::move(parsed.get_object()));
  const auto format = from.number("format");
  if (from.problem().code == errc::none && format > record_format)
    return error{
      errc::unsupported,
      "written by a newer version of codeq: format " + std::to_string(format) + ", but "
        + std::to_string(record_format) + " is known"};
  auto record = read(from, static_cast<const Record*>(nullptr));
  record.extra = from.rest();
  if (from.problem().code != errc::none)
    return from.problem();
  if (encode(record) != bytes)
    return error{errc::corruption, "not spelled as codeq writes it: " + encode(record)};
  return record;
}

template result<cluster_record> decode(std::string_view bytes);
template result<node_record> decode(std::string_view bytes);
template result<controller_record> decode(std::string_view bytes);
template result<shard_record> decode(std::string_view bytes);

} // namespace codeq::cluster
