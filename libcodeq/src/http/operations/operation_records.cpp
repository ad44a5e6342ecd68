// SPDX-License-Identifier: Apache-2.0
#include "http/operations/operation_records.hpp"

#include "core/commands/routing.hpp"
#include "http/json/json_reader.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace codeq::http {

namespace {

/// In the order of `operation_change`.
constexpr auto change_names = std::to_array<std::string_view>({"pause", "resume", "cancel"});

} // namespace

task_spec record_of(const bulk_operation& o) {
  task_spec record;
  record.tenant = operations_tenant;
  record.queue = o.request.tenant;
  record.key = o.id;
  record.payload = to_record(o);
  // A repeat replaces the text.
  record.duplicate = on_duplicate::replace_ended;
  record.replace_payload = true;
  record.retention = limits::retention_classes.front();
  return record;
}

task_key record_key(const std::string& tenant, const std::string& id) {
  task_key key;
  key.queue = {operations_tenant, tenant};
  key.key = id;
  return key;
}

std::uint16_t home_of(const std::string& tenant, const std::string& id, std::uint16_t shards) {
  return value(core::shard_of_name({operations_tenant, tenant}, id, shards));
}

std::string to_wish_text(const operation_wish& wish) {
  base::json_writer json;
  json.begin_object()
    .field("tenant", wish.tenant)
    .field("operation", wish.id)
    .field("change", change_names[static_cast<std::size_t>(wish.what)])
    .field("atMs", wish.at.time_since_epoch().count())
    .field("subject", wish.by.subject)
    .field("bearerTenant", wish.by.bearer_tenant)
    .field("remote", wish.by.remote)
    .field("isListed", wish.by.is_listed)
    .end_object();
  return json.take();
}

result<operation_wish> read_wish(std::string_view text) {
  const error unreadable{errc::corruption, "a wish about an operation cannot be read"};
  auto json = json_object::parse(text);
  if (!json)
    return unreadable;
  operation_wish wish;
  wish.tenant = json->text("tenant");
  wish.id = json->text("operation");
  auto named = std::find(change_names.begin(), change_names.end(), json->text("change"));
  wish.what = static_cast<operation_change>(named - change_names.begin());
  wish.at = timestamp{duration{json->integer("atMs").value_or(0)}};
  wish.by = {
    json->text("subject"), json->text("bearerTenant"), json->text("remote"),
    json->flag("isListed").value_or(false)};
  if (named == change_names.end() || !json->ok())
    return unreadable;
  return wish;
}

} // namespace codeq::http
