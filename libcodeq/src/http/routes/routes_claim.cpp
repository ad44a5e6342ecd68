// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/task_fields.hpp"
#include "http/routes/route_steps.hpp"

#include <array>

/// POST /tasks/claim and POST /tasks/claim/batch.
namespace codeq::http {

namespace {

/// Of every HTTP worker, so that its leases outlive the process that answers it.
constexpr std::uint64_t only_incarnation = 1;

/// What a claim asks for.
struct claim_input {
  std::vector<std::string> queues;
  duration lease{0};
  duration wait{0};
  std::uint32_t count = 1;
};

/// Errors: `unauthorized` for a queue that the caller's token does not name.
result<claim_input> read_claim(const input& body, const caller& by) {
  claim_input in;
  in.queues = body.texts("commands");
  in.lease = body.period("leaseSeconds").value_or(duration{0});
  for (const auto& queue : in.queues)
    if (!by.may_use(queue))
      return error{errc::unauthorized, "event type not allowed"};
  if (in.queues.empty())
    in.queues = by.queues;
  return in;
}

task_detail detail_of(const task& granted, const std::string& worker, timestamp now) {
  task_detail detail;
  auto& status = detail.status;
  status.id = granted.id;
  status.tenant = granted.tenant;
  status.queue = granted.queue;
  status.priority = granted.priority;
  status.state = task_state::leased;
  status.attempt = granted.attempt;
  status.max_attempts = granted.max_attempts;
  status.token = granted.token;
  status.enqueued_at = granted.enqueued_at;
  status.worker = worker;
  detail.lease_left = granted.lease;
  detail.payload = std::string(granted.payload.view());
  detail.updated_at = now;
  return detail;
}

/// Gives tasks back whose client went away before it learned of them.
void give_back(gateway_context& context, const std::vector<task>& tasks) {
  for (const auto& one : tasks) {
    attempt_end end{one.id, one.token, disposition::abandon};
    context.desk.report(end, [](const error&) {});
  }
}

using claimed = std::function<void(const std::vector<task>&)>;

void claim_from(
  gateway_context& context, const exchange_ptr& call, const claim_input& in, claimed done) {
  claim_wish wish;
  const auto& by = *call->by;
  wish.worker = std::make_shared<const worker_identity>(
    worker_identity{worker_name_of(by.tenant, by.subject), only_incarnation});
  for (const auto& queue : in.queues)
    wish.queues.push_back({by.tenant, queue});
  wish.tenant = by.tenant;
  wish.count = in.count;
  wish.lease = in.lease;
  wish.wait = in.wait;
  auto is_gone = std::make_shared<bool>(false);
  auto finish = [&context, call, is_gone, done = std::move(done)](const std::vector<task>& tasks) {
    call->on_gone = nullptr;
    if (!*is_gone)
      return done(tasks);
    give_back(context, tasks);
    call->answer(no_content());
  };
  put_off_deadline(context, *call, in.wait);
  auto name = context.desk.claim(std::move(wish), std::move(finish));
  call->on_gone = [&context, is_gone, name] {
    *is_gone = true;
    context.desk.end_claim_of(name);
  };
}

std::string worker_of(const exchange_ptr& call) {
  return worker_name_of(call->by->tenant, call->by->subject);
}

void claim_one(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  auto in = read_claim(body, *call->by);
  if (!in)
    return call->answer(refusal_of(in.error()));
  in->wait = body.period("waitSeconds").value_or(duration{0});
  claim_from(context, call, *in, [&context, call](const std::vector<task>& tasks) {
    if (tasks.empty())
      return call->answer(no_content());
    auto now = context.desk.now();
    base::json_writer json;
    write_task(json, detail_of(tasks.front(), worker_of(call), now), now);
    call->answer(reply(200, json));
  });
}

void claim_batch(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  auto in = read_claim(body, *call->by);
  if (!in)
    return call->answer(refusal_of(in.error()));
  in->count = static_cast<std::uint32_t>(*body.integer("count"));
  claim_from(context, call, *in, [&context, call](const std::vector<task>& tasks) {
    if (tasks.empty())
      return call->answer(no_content());
    auto now = context.desk.now();
    base::json_writer json;
    json.begin_object().key("tasks").begin_array();
    for (const auto& one : tasks)
      write_task(json, detail_of(one, worker_of(call), now), now);
    json.end_array().end_object();
    call->answer(reply(200, json));
  });
}

constexpr input_field commands_field{
  .name = "commands",
  .type = input_type::queues,
  .range = at_most(limits::http_claim_queues_max),
  .refusal = "invalid command"};
constexpr input_field queues_field{
  .name = "queues",
  .type = input_type::queues,
  .same_as = "commands",
  .range = at_most(limits::http_claim_queues_max),
  .refusal = "invalid command"};

constexpr auto claim_fields = std::to_array<input_field>(
  {commands_field, queues_field, lease_seconds_field, lease_field, lease_ms_field, wait_field});

constexpr auto claim_batch_fields = std::to_array<input_field>({
  {.name = "count",
   .type = input_type::integer,
   .is_required = true,
   .range = {1, limits::http_claim_tasks_max},
   .refusal = "invalid body",
   .refusal_above = "count exceeds maximum of 10"},
  commands_field,
  queues_field,
  lease_seconds_field,
  lease_field,
  lease_ms_field,
});
static_assert(limits::http_claim_tasks_max == 10, "a refusal names it");

constexpr std::array<route, 2> routes{{
  {.method = "POST",
   .pattern = "tasks/claim",
   .who = access::worker,
   .scope = "codeq:claim",
   .rate = "claim",
   .run = &claim_one,
   .fields = {.body = {claim_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/claim/batch",
   .who = access::worker,
   .scope = "codeq:claim",
   .rate = "claim",
   .run = &claim_batch,
   .fields = {.body = {claim_batch_fields}, .need = body_need::required},
   .counted = "count"},
}};

} // namespace

std::span<const route> claim_routes() {
  return routes;
}

} // namespace codeq::http
