// SPDX-License-Identifier: Apache-2.0
#include "http/server/replies.hpp"

namespace codeq::http {

namespace {

constexpr unsigned bad_request = 400;
constexpr unsigned unauthenticated = 401;
constexpr unsigned forbidden = 403;
constexpr unsigned not_found = 404;
constexpr unsigned conflict = 409;
constexpr unsigned too_many_requests = 429;
constexpr unsigned internal_error = 500;
constexpr unsigned unavailable = 503;

unsigned status_of(errc code) {
  switch (code) {
  case errc::invalid_argument:
  case errc::too_large:
  case errc::unsupported:
  // A task names it; for the routes of limits it is 404.
  case errc::unknown_limit:
    return bad_request;
  case errc::unauthorized:
    return forbidden;
  case errc::unknown_task:
  case errc::unknown_queue:
  case errc::unknown_schedule:
    return not_found;
  case errc::stale_lease:
  case errc::duplicate:
  case errc::key_taken:
  case errc::already:
  case errc::not_completed:
    return conflict;
  case errc::queue_full:
    return too_many_requests;
  case errc::overloaded:
  case errc::going_away:
  case errc::disconnected:
  case errc::timeout:
  case errc::disk_full:
  case errc::not_owner:
  case errc::session_expired:
  case errc::unavailable:
    return unavailable;
  case errc::none:
  case errc::protocol_error:
  case errc::name_in_use:
  case errc::superseded:
  case errc::io_error:
  case errc::corruption:
  case errc::incompatible_store:
    return internal_error;
  }
  return internal_error;
}

/// What a refusal says. The core knows the verbs of codeqctl only.
std::string refusal_text(const error& reason) {
  if (reason.code == errc::unknown_limit)
    return reason.context + " (over HTTP: PUT /v1/codeq/admin/limits/NAME)";
  return reason.context.empty() ? std::string(to_string(reason.code)) : reason.context;
}

} // namespace

response refusal(unsigned status, std::string_view text) {
  base::json_writer json;
  json.begin_object().field("error", text).end_object();
  return reply(status, json);
}

response refusal_of(const error& reason) {
  // The others are told apart by their status.
  bool has_code = is_retryable(reason.code) || reason.code == errc::unknown_limit;
  if (!has_code)
    return refusal(status_of(reason.code), refusal_text(reason));
  base::json_writer json;
  json.begin_object()
    .field("error", refusal_text(reason))
    .field("code", to_string(reason.code))
    .end_object();
  auto answer = reply(status_of(reason.code), json);
  if (is_retryable(reason.code))
    answer.fields.emplace_back("Retry-After", "1");
  return answer;
}

void write_item_refusal(base::json_writer& json, const error& reason) {
  json.field("error", refusal_text(reason))
    .field("code", to_string(reason.code))
    .field("httpStatus", status_of(reason.code));
}

response no_valid_token(std::string_view why) {
  auto answer = refusal(unauthenticated, why);
  answer.fields.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

response invalid_token() {
  return no_valid_token(
    "invalid token: this coordinator does not know it, or it has expired; the coordinator's log "
    "has the reason");
}

response rate_exceeded(const rate_refusal& refusal) {
  base::json_writer json;
  json.begin_object()
    .field("error", "rate limit exceeded")
    .field("scope", refusal.scope)
    .field("operation", refusal.operation)
    .field("retryAfterSeconds", refusal.retry_after_seconds)
    .end_object();
  auto answer = reply(too_many_requests, json);
  answer.fields.emplace_back("Retry-After", std::to_string(refusal.retry_after_seconds));
  return answer;
}

response reply(unsigned status, base::json_writer& written) {
  response answer;
  answer.status = status;
  answer.body = written.take();
  return answer;
}

response no_content() {
  response answer;
  answer.status = 204;
  return answer;
}

} // namespace codeq::http
