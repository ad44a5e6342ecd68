// SPDX-License-Identifier: Apache-2.0
#include "http/wakeups/subscription.hpp"

#include "base/json_writer.hpp"
#include "http/json/json_reader.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <utility>

namespace codeq::http {

bool subscription::wants(const std::string& queue) const {
  return queues.empty() || std::binary_search(queues.begin(), queues.end(), queue);
}

task_spec record_of(const subscription& s) {
  task_spec record;
  record.tenant = subscriptions_tenant;
  record.queue = s.tenant;
  record.key = s.id;
  record.payload = to_record(s);
  // The repeat of a record, which renews the subscription, replaces its text.
  record.duplicate = on_duplicate::replace_ended;
  record.replace_payload = true;
  record.retention = limits::retention_classes.front();
  return record;
}

std::string to_record(const subscription& s) {
  base::json_writer json;
  json.begin_object()
    .field("id", s.id)
    .field("subject", s.subject)
    .field("url", s.url)
    .begin_array("queues");
  for (const auto& queue : s.queues)
    json.text(queue);
  json.end_array()
    .field("mode", delivery_modes[static_cast<std::size_t>(s.mode)])
    .field("group", s.group)
    .field("minIntervalMs", s.min_interval.count())
    .field("ttlMs", s.ttl.count())
    .field("expiresAtMs", s.expires_at.time_since_epoch().count())
    .end_object();
  return json.take();
}

result<subscription> read_subscription(std::string_view record) {
  const error unreadable{errc::corruption, "the record of a subscription cannot be read"};
  auto json = json_object::parse(record);
  if (!json)
    return unreadable;
  subscription s;
  s.id = json->text("id");
  s.subject = json->text("subject");
  s.url = json->text("url");
  s.queues = json->texts("queues");
  s.group = json->text("group");
  s.min_interval = duration{json->integer("minIntervalMs").value_or(0)};
  s.ttl = duration{json->integer("ttlMs").value_or(0)};
  s.expires_at = timestamp{duration{json->integer("expiresAtMs").value_or(0)}};
  auto mode = std::find(delivery_modes.begin(), delivery_modes.end(), json->text("mode"));
  if (!json->ok() || s.id.empty() || mode == delivery_modes.end())
    return unreadable;
  s.mode = static_cast<delivery_mode>(mode - delivery_modes.begin());
  return s;
}

std::string to_wish_text(const subscription_wish& wish) {
  base::json_writer json;
  json.begin_object()
    .field("tenant", wish.what.tenant)
    .field("subscription", to_record(wish.what))
    .field("isNew", wish.is_new)
    .field("atMs", wish.at.time_since_epoch().count())
    .end_object();
  return json.take();
}

result<subscription_wish> read_subscription_wish(std::string_view text) {
  const error unreadable{errc::corruption, "a wish about a subscription cannot be read"};
  auto json = json_object::parse(text);
  if (!json)
    return unreadable;
  auto what = read_subscription(json->text("subscription"));
  if (!what)
    return unreadable;
  subscription_wish wish{std::move(*what)};
  wish.what.tenant = json->text("tenant");
  wish.is_new = json->flag("isNew").value_or(false);
  wish.at = timestamp{duration{json->integer("atMs").value_or(0)}};
  if (!json->ok() || wish.what.tenant.empty())
    return unreadable;
  return wish;
}

} // namespace codeq::http
