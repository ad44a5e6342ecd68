// SPDX-License-Identifier: Apache-2.0
#include "http/json/limit_json.hpp"

#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/input_refusal.hpp"

#include <chrono>

namespace codeq::http {

namespace {

/// A key, or what says that it is no text.
void write_key(base::json_writer& json, const std::string& key) {
  if (base::is_utf8(key))
    json.field("key", key);
  else
    json.field("keyBase64", base::to_base64(key));
}

void write_rate(base::json_writer& json, const start_rate& rate) {
  using std::chrono::seconds;
  auto whole = std::chrono::duration_cast<seconds>(rate.period);
  json.begin_object("rate").field("count", rate.count).field("perMs", rate.period.count());
  if (whole == rate.period)
    json.field("perSeconds", whole.count());
  json.field("burst", rate.burst).end_object();
}

std::string name_of(std::size_t index) {
  return "'limits[" + std::to_string(index) + "].name'";
}

} // namespace

result<limit_definition> make_limit(const input& from) {
  limit_definition made;
  if (auto concurrency = from.integer("concurrency"))
    made.concurrency = static_cast<std::uint32_t>(*concurrency);
  if (const auto* rate = from.object("rate")) {
    start_rate starts;
    starts.count = static_cast<std::uint32_t>(*rate->integer("count"));
    starts.period = *rate->period("perSeconds");
    starts.burst = static_cast<std::uint32_t>(rate->integer("burst").value_or(1));
    made.rate = starts;
  }
  if (!made.concurrency && !made.rate)
    return refuse_input({}, "'concurrency' or 'rate' is required");
  return made;
}

std::vector<task_limit> make_task_limits(const std::vector<input>& from) {
  std::vector<task_limit> all;
  for (const auto& one : from)
    all.push_back(
      {one.text("name"),
       one.text("key"),
       static_cast<std::uint32_t>(one.integer("cost").value_or(1))});
  return all;
}

result<void> check_task_limits(const std::vector<task_limit>& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t earlier = 0; earlier < i; ++earlier)
      if (all[i].name == all[earlier].name)
        return refuse_input(
          {},
          describe_value(
            name_of(i), quote(all[i].name), "another one than " + name_of(earlier)));
  return {};
}

void write_task_limits(base::json_writer& json, const std::vector<task_limit>& all) {
  if (all.empty())
    return;
  json.begin_array("limits");
  for (const auto& one : all) {
    json.begin_object().field("name", one.name);
    if (!one.key.empty())
      write_key(json, one.key);
    json.field("cost", one.cost).end_object();
  }
  json.end_array();
}

void write_limit(base::json_writer& json, const limit_info& info) {
  json.begin_object().field("name", info.limit.name).field("tenantId", info.limit.tenant);
  if (info.definition.concurrency)
    json.field("concurrency", *info.definition.concurrency);
  if (info.definition.rate)
    write_rate(json, *info.definition.rate);
  json.field("leased", info.leased)
    .field("held", info.held)
    .field("keys", info.keys)
    .field("keysAbove", info.keys_above)
    .field("uniform", info.is_uniform)
    .end_object();
}

void write_limit_key(base::json_writer& json, const limit_key_info& info) {
  write_key(json.begin_object(), info.key);
  json.field("leased", info.leased).field("held", info.held);
  if (info.next_start)
    json.field("nextStart", base::to_rfc3339(*info.next_start));
  if (info.closed_until != timestamp{})
    json.field("closedUntil", base::to_rfc3339(info.closed_until));
  json.end_object();
}

void write_limit_keys(base::json_writer& json, const limit_keys_page& page) {
  json.begin_object().field("name", page.limit.name).begin_array("keys");
  for (const auto& key : page.keys)
    write_limit_key(json, key);
  json.end_array().field("more", page.more).end_object();
}

} // namespace codeq::http
