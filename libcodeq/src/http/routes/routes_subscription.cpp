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

/// Answers a subscription once it is stored.
wakeup_desk::change_events answer_to(gateway_context& context, const exchange_ptr& call) {
  auto ended = [call](const result<subscription>& s) {
    if (!s)
      return call->answer(refusal_of(s.error()));
    base::json_writer json;
    json.begin_object()
      .field("subscriptionId", s->id)
      .field("expiresAt", base::to_rfc3339(s->expires_at))
      .end_object();
    call->answer(reply(200, json));
  };
  auto began = [&context, call](const enqueue_ticket& ticket) {
    call->on_given_up = [&context, ticket] { context.desk.give_up(ticket); };
  };
  return {std::move(ended), std::move(began)};
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
  context.wakeups.subscribe(std::move(*s), answer_to(context, call));
}

void renew(gateway_context& context, const exchange_ptr& call) {
  subscription s;
  s.id = call->arguments[0];
  s.tenant = call->by->tenant;
  s.subject = call->by->subject;
  s.ttl = call->fields->body.period("ttlSeconds").value_or(duration{0});
  context.wakeups.renew(s, answer_to(context, call));
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
