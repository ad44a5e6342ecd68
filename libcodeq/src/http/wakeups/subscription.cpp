// SPDX-License-Identifier: Apache-2.0
#include "http/wakeups/subscription.hpp"

#include "base/json_writer.hpp"
#include "http/json/json_reader.hpp"

#include <algorithm>

namespace codeq::http {

bool subscription::wants(const std::string& queue) const {
  return queues.empty() || std::binary_search(queues.begin(), queues.end(), queue);
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

} // namespace codeq::http
