// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/json_reader.hpp"
#include "http/webhooks/webhook_desk.hpp"

#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>

/// The bodies and signatures of webhook deliveries; pure.
namespace codeq::http {

namespace {

/// Names one end of a task, which may be redriven and end again: the same in each repeat.
std::string delivery_id(task_id task, timestamp ended_at) {
  return to_string(task) + "-" + std::to_string(ended_at.time_since_epoch().count());
}

} // namespace

std::string webhook_body(const task_detail& task) {
  const auto& status = task.status;
  bool is_completed = status.state == task_state::completed;
  auto why = status.state == task_state::cancelled ? "cancelled" : status.error_text;
  auto ended_at = task.updated_at.value_or(status.enqueued_at);
  base::json_writer json;
  json.begin_object()
    .field("taskId", to_string(status.id))
    .field("eventType", status.queue)
    .field("status", status_name(status.state));
  if (is_completed)
    write_stored_result(json, status.result, true);
  else
    json.key("result").null().key("artifacts").null();
  json.field(
        "error",
        is_completed         ? ""
        : base::is_utf8(why) ? why
                             : base::to_base64(why))
    .field("completedAt", base::to_rfc3339(ended_at))
    .field("state", to_string(status.state))
    .field("attempts", status.attempt)
    .field("deliveryId", delivery_id(status.id, ended_at));
  if (!status.key.empty() && base::is_utf8(status.key))
    json.field("key", status.key);
  json.end_object();
  return json.take();
}

std::vector<std::pair<std::string, std::string>>
signature_fields(const std::string& secret, timestamp now, std::string_view body) {
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  auto time = std::to_string(seconds);
  auto text = time + "." + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(
    EVP_sha256(),
    secret.data(),
    static_cast<int>(secret.size()),
    reinterpret_cast<const unsigned char*>(text.data()),
    text.size(),
    mac.data(),
    &size);
  return {
    {"Content-Type", "application/json"},
    {"X-CodeQ-Timestamp", time},
    {"X-CodeQ-Signature", base::to_hex({reinterpret_cast<const char*>(mac.data()), size})}};
}

} // namespace codeq::http
