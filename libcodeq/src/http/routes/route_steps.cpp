// SPDX-License-Identifier: Apache-2.0
#include "http/routes/route_steps.hpp"

#include "http/server/gateway_limits.hpp"

#include <algorithm>
#include <charconv>

namespace codeq::http {

void find_own(
  gateway_context& context,
  const exchange_ptr& call,
  std::string_view id,
  bool with_body,
  shard_desk::then<task_detail> done) {
  const error unknown{errc::unknown_task, "not found"};
  auto task = parse_task_id(id);
  if (!task)
    return done(unknown);
  auto check = [by = call->by, unknown, done = std::move(done)](result<task_detail> found) {
    bool is_foreign =
      found && (found->status.tenant != by->tenant || !by->may_use(found->status.queue));
    if (is_foreign || (!found && found.error().code == errc::unknown_task))
      return done(unknown);
    done(std::move(found));
  };
  context.desk.describe({*task, {}}, with_body, std::move(check));
}

void put_off_deadline(gateway_context& context, exchange& call, duration wait) {
  call.deadline = context.desk.steady_now() + wait + limits::http_request_time_max;
}

void with_stats(
  gateway_context& context,
  const exchange_ptr& call,
  std::function<void(const coordinator_stats&)> go_on) {
  context.desk.stats([call, go_on = std::move(go_on)](const result<coordinator_stats>& stats) {
    if (stats)
      go_on(*stats);
    else
      call->answer(refusal_of(stats.error()));
  });
}

std::optional<json_object> body_of(const exchange_ptr& call) {
  auto object = json_object::parse(call->in.body);
  if (!object)
    call->answer(refusal(400, "invalid body"));
  return object;
}

std::optional<json_object> optional_body_of(const exchange_ptr& call) {
  if (call->in.body.empty())
    return json_object();
  return body_of(call);
}

std::int64_t query_number(
  const request& in,
  const std::string& name,
  std::pair<std::int64_t, std::int64_t> bounds,
  std::int64_t otherwise) {
  auto text = query_text(in, name);
  std::int64_t number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size())
    return otherwise;
  return std::clamp(number, bounds.first, bounds.second);
}

std::string query_text(const request& in, const std::string& name) {
  auto at = in.query.find(name);
  return at == in.query.end() ? std::string() : at->second;
}

duration seconds_within(std::int64_t seconds, duration least, duration most) {
  auto most_seconds = std::chrono::duration_cast<std::chrono::seconds>(most).count();
  auto bounded = std::clamp<std::int64_t>(seconds, 0, most_seconds);
  return std::clamp<duration>(std::chrono::seconds(bounded), least, most);
}

} // namespace codeq::http
