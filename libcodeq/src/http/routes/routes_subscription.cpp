// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"
#include "base/text_encoding.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/routes/route_steps.hpp"

#include <algorithm>
#include <array>

/// Subscriptions of workers that want to be called when tasks are ready.
namespace codeq::http {

namespace {

/// Stores a subscription that is valid from now on, and answers it.
void put(gateway_context& context, const exchange_ptr& call, subscription s) {
  s.expires_at = context.desk.now() + s.ttl;
  auto stored = [call, id = s.id, expires_at = s.expires_at](const result<void>& ok) {
    if (!ok)
      return call->answer(refusal_of(ok.error()));
    base::json_writer json;
    json.begin_object()
      .field("subscriptionId", id)
      .field("expiresAt", base::to_rfc3339(expires_at))
      .end_object();
    call->answer(reply(200, json));
  };
  auto ticket = context.wakeups.put(s, std::move(stored));
  call->on_given_up = [&context, ticket] { context.desk.give_up(ticket); };
}

/// Errors: `unauthorized` for a queue that the caller's token does not name.
result<subscription> subscription_of(const input& body, const caller& by) {
  subscription s;
  s.tenant = by.tenant;
  s.subject = by.subject;
  s.url = body.text("callbackUrl");
  s.queues = body.texts("eventTypes");
  for (const auto& queue : s.queues)
    if (!by.may_use(queue))
      return refuse_queue(queue);
  if (s.queues.empty())
    s.queues = by.queues;
  if (s.queues.empty() && !by.all_queues)
    return error{errc::unauthorized, "event type not allowed: the token names no queue"};
  std::sort(s.queues.begin(), s.queues.end());
  s.mode = static_cast<delivery_mode>(body.choice("deliveryMode").value_or(0));
  s.group = body.text("groupId");
  if (s.mode != delivery_mode::fanout && s.group.empty())
    return refuse_input(
      "groupId is required", "'groupId' is required unless 'deliveryMode' is \"fanout\"");
  if (s.mode == delivery_mode::fanout && !s.group.empty())
    return refuse_input(
      {},
      describe_value("'groupId'", quote(s.group), "left out when 'deliveryMode' is \"fanout\""));
  s.min_interval = body.period("minIntervalSeconds").value_or(limits::wakeup_interval_default);
  s.ttl = body.period("ttlSeconds").value_or(limits::subscription_ttl_default);
  return s;
}

void subscribe(gateway_context& context, const exchange_ptr& call) {
  auto s = subscription_of(call->fields->body, *call->by);
  if (!s)
    return call->answer(refusal_of(s.error()));
  if (auto ok = context.wakeups.check(s->tenant, s->url); !ok)
    return call->answer(refusal_of(ok.error()));
  s->id = context.wakeups.new_id(s->tenant);
  put(context, call, std::move(*s));
}

void renew(gateway_context& context, const exchange_ptr& call) {
  auto s = context.wakeups.find(call->by->tenant, call->arguments[0]);
  bool is_own = s && s->subject == call->by->subject;
  if (!s && s.error().code != errc::unknown_task)
    return call->answer(refusal_of(s.error()));
  if (!is_own || s->expires_at <= context.desk.now())
    return call->answer(refusal(404, "not-found"));
  s->ttl = call->fields->body.period("ttlSeconds").value_or(s->ttl);
  put(context, call, std::move(*s));
}

constexpr input_field ttl_field{
  .name = "ttlSeconds",
  .type = input_type::seconds,
  .zero_is_unset = true,
  .range = seconds_in(limits::subscription_ttl_min, limits::subscription_ttl_max)};

constexpr auto subscription_fields = std::to_array<input_field>({
  {.name = "callbackUrl",
   .is_required = true,
   .range = {.least = 1},
   .refusal = "invalid callback url"},
  {.name = "eventTypes",
   .type = input_type::queues,
   .range = at_most(limits::subscription_queues_max)},
  {.name = "queues",
   .type = input_type::queues,
   .same_as = "eventTypes",
   .range = at_most(limits::subscription_queues_max)},
  ttl_field,
  {.name = "deliveryMode",
   .type = input_type::choice,
   .choices = delivery_modes,
   .refusal = "invalid deliveryMode"},
  {.name = "groupId", .range = at_most(limits::group_bytes_max)},
  {.name = "minIntervalSeconds",
   .type = input_type::seconds,
   .zero_is_unset = true,
   .range = seconds_in(limits::wakeup_round, limits::wakeup_interval_max)},
});

constexpr auto renewal_fields = std::to_array<input_field>({ttl_field});

constexpr std::array<route, 2> subscription_table{{
  {.method = "POST",
   .pattern = "workers/subscriptions",
   .who = access::worker,
   .scope = "codeq:subscribe",
   .rate = "claim",
   .run = &subscribe,
   .fields = {.body = {subscription_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "workers/subscriptions/:/heartbeat",
   .who = access::worker,
   .scope = "codeq:subscribe",
   .run = &renew,
   .fields = {.body = {renewal_fields}}},
}};

} // namespace

std::span<const route> subscription_routes() {
  return subscription_table;
}

} // namespace codeq::http
