// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/input_refusal.hpp"
#include "http/routes/route_steps.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

/// The coordinators of a cluster, and where its shards are; for admins of all tenants.
namespace codeq::http {

namespace {

void write_node(base::json_writer& json, const cluster_node& node) {
  json.begin_object().field("name", node.name).field("address", node.address);
  json.field("httpAddress", node.http_address).field("zone", node.zone);
  json.field("present", node.is_present).field("answers", node.has_answered);
  json.field("draining", node.is_draining).field("freeBytes", node.free_bytes);
  json.field("refusesTasks", node.refuses_tasks);
  json.field("etcdSilentMs", node.etcd_silent.count()).begin_array("unreached");
  for (const auto& other : node.unreached)
    json.text(other);
  json.end_array().end_object();
}

void write_shard(base::json_writer& json, const cluster_shard& shard) {
  json.begin_object().field("shard", value(shard.shard)).field("primary", shard.primary);
  json.field("served", shard.is_served).field("epoch", shard.epoch);
  json.field("pinned", shard.pinned).begin_array("copies");
  for (const auto& copy : shard.copies) {
    json.begin_object().field("node", copy.node).field("inSync", copy.is_in_sync);
    if (copy.is_known)
      json.field("epoch", copy.epoch).field("position", copy.position).field("lag", copy.lag);
    json.end_object();
  }
  json.end_array().field("waitsFor", shard.waits_for).end_object();
}

response answer_of(const cluster_status& status) {
  base::json_writer json;
  json.begin_object().field("cluster", status.name).field("node", status.node);
  json.field("copies", status.copies).field("minInSync", status.min_in_sync);
  json.begin_array("nodes");
  for (const auto& node : status.nodes)
    write_node(json, node);
  json.end_array().begin_array("shards");
  for (const auto& shard : status.shards)
    write_shard(json, shard);
  json.end_array().end_object();
  return reply(200, json);
}

/// Makes the change, if it is one, and answers what all coordinators know then.
void ask_cluster(gateway_context& context, const exchange_ptr& call, const cluster_change& change) {
  if (!context.cluster)
    return call->answer(
      refusal(404, "not found: this coordinator is alone; it belongs to no cluster"));
  const auto is_change = change.what != cluster_change::kind::none;
  const auto by = is_change ? origin_of(context, *call) : nullptr;
  context.cluster(change, by, [&context, call](const result<cluster_status>& own) {
    if (!own)
      return call->answer(refusal_of(own.error()));
    context.desk.gather_cluster(
      *own, [call](const cluster_status& status) { call->answer(answer_of(status)); });
  });
}

void show_cluster(gateway_context& context, const exchange_ptr& call) {
  ask_cluster(context, call, {});
}

std::optional<shard_id> read_shard(std::string_view text) {
  std::uint16_t number = 0;
  auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_read = failure == std::errc{} && stop == text.data() + text.size();
  return is_read ? std::optional(shard_id{number}) : std::nullopt;
}

/// Makes a change of the shard in the path.
void change_shard(gateway_context& context, const exchange_ptr& call, cluster_change change) {
  auto shard = read_shard(call->arguments[0]);
  if (!shard)
    return call->answer(refusal_of(refuse_input(
      {},
      describe_value(
        "the shard in the path", '"' + call->arguments[0] + '"',
        "a number from 0 to " + std::to_string(context.desk.shard_count() - 1)))));
  change.shard = *shard;
  ask_cluster(context, call, change);
}

void move_shard(gateway_context& context, const exchange_ptr& call) {
  change_shard(context, call, {cluster_change::kind::move, {}, call->fields->body.text("to")});
}

void force_primary(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  change_shard(
    context, call,
    {cluster_change::kind::force_primary, {}, body.text("to"), 0, body.text("confirm")});
}

void drain(gateway_context& context, const exchange_ptr& call) {
  ask_cluster(context, call, {cluster_change::kind::drain, {}, call->arguments[0]});
}

void undrain(gateway_context& context, const exchange_ptr& call) {
  ask_cluster(context, call, {cluster_change::kind::undrain, {}, call->arguments[0]});
}

void balance(gateway_context& context, const exchange_ptr& call) {
  ask_cluster(context, call, {cluster_change::kind::balance, {}, {}});
}

constexpr auto move_fields = std::to_array<input_field>({
  {.name = "to", .is_required = true, .range = at_most(limits::name_bytes_max)},
});

/// Names of all members in sync fit.
constexpr std::size_t confirm_bytes_max = 1024;

constexpr auto force_primary_fields = std::to_array<input_field>({
  {.name = "to", .is_required = true, .range = at_most(limits::name_bytes_max)},
  {.name = "confirm", .range = at_most(confirm_bytes_max)},
});

constexpr std::array<route, 6> cluster_table{{
  {.method = "GET",
   .pattern = "admin/cluster",
   .who = access::inspect_process,
   .rate = "admin",
   .run = &show_cluster},
  {.method = "POST",
   .pattern = "admin/cluster/shards/:/move",
   .who = access::process,
   .rate = "admin",
   .run = &move_shard,
   .fields = {.body = {move_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "admin/cluster/shards/:/force-primary",
   .who = access::process,
   .rate = "admin",
   .run = &force_primary,
   .fields = {.body = {force_primary_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "admin/cluster/nodes/:/drain",
   .who = access::process,
   .rate = "admin",
   .run = &drain},
  {.method = "POST",
   .pattern = "admin/cluster/nodes/:/undrain",
   .who = access::process,
   .rate = "admin",
   .run = &undrain},
  {.method = "POST",
   .pattern = "admin/cluster/balance",
   .who = access::process,
   .rate = "admin",
   .run = &balance},
}};

} // namespace

std::span<const route> cluster_routes() {
  return cluster_table;
}

} // namespace codeq::http
