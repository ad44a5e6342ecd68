// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "http/json/task_fields.hpp"
#include "http/routes/route_steps.hpp"
#include "http/server/gateway_limits.hpp"

#include <algorithm>
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
  status.key = granted.key;
  status.group = granted.group;
  detail.lease_left = granted.lease;
  detail.payload = std::string(granted.payload.view());
  detail.headers.insert(granted.headers.begin(), granted.headers.end());
  detail.checkpoint = std::string(granted.checkpoint.view());
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

struct claimed {
  std::function<void(const std::vector<task>&)> then;
  /// The client went away; the tasks of this claim are given back already.
  std::function<void()> gone = [] {};
};

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
      return done.then(tasks);
    give_back(context, tasks);
    done.gone();
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
  auto show = [&context, call](const std::vector<task>& tasks) {
    if (tasks.empty())
      return call->answer(no_content());
    auto view = view_for(context, *call);
    base::json_writer json;
    write_task(json, detail_of(tasks.front(), worker_of(call), view.now), view);
    call->answer(reply(200, json));
  };
  claim_from(context, call, *in, {std::move(show)});
}

/// A batch that is claimed step by step, so that no more payloads are in memory than an answer
/// should have.
struct batch {
  claim_input in;
  std::vector<task> tasks{};
  std::size_t bytes = 0;

  [[nodiscard]] std::size_t missing() const { return in.count - tasks.size(); }
};

void show_batch(gateway_context& context, const exchange_ptr& call, const batch& all) {
  if (all.tasks.empty())
    return call->answer(no_content());
  auto view = view_for(context, *call);
  base::json_writer json;
  json.begin_object().key("tasks").begin_array();
  for (const auto& one : all.tasks)
    write_task(json, detail_of(one, worker_of(call), view.now), view);
  json.end_array().end_object();
  call->answer(reply(200, json));
}

void claim_step(
  gateway_context& context, const exchange_ptr& call, const std::shared_ptr<batch>& all) {
  auto step = all->in;
  step.count = static_cast<std::uint32_t>(std::min(all->missing(), limits::http_claim_step_tasks));
  auto go_on = [&context, call, all, wanted = step.count](const std::vector<task>& tasks) {
    for (const auto& one : tasks) {
      all->bytes += one.payload.size();
      all->tasks.push_back(one);
    }
    bool is_over = tasks.size() < wanted || all->missing() == 0;
    if (is_over || all->bytes >= limits::http_claim_bytes_max)
      return show_batch(context, call, *all);
    claim_step(context, call, all);
  };
  claim_from(
    context, call, step, {std::move(go_on), [&context, all] { give_back(context, all->tasks); }});
}

void claim_batch(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  auto in = read_claim(body, *call->by);
  if (!in)
    return call->answer(refusal_of(in.error()));
  in->count = static_cast<std::uint32_t>(*body.integer("count"));
  claim_step(context, call, std::make_shared<batch>(batch{std::move(*in)}));
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

constexpr input_field count_field(std::size_t most, std::string_view refusal_above) {
  return {
    .name = "count",
    .type = input_type::integer,
    .is_required = true,
    .range = {1, static_cast<std::int64_t>(most)},
    .refusal = "invalid body",
    .refusal_above = refusal_above};
}

constexpr auto claim_batch_fields = std::to_array<input_field>(
  {count_field(limits::http_claim_tasks_max, "count exceeds maximum of 10"),
   commands_field,
   queues_field,
   lease_seconds_field,
   lease_field,
   lease_ms_field});
static_assert(limits::http_claim_tasks_max == 10, "a refusal names it");

constexpr auto extended_claim_fields = [] {
  auto all = claim_batch_fields;
  all.front() = count_field(limits::http_extended_batch_max, "count exceeds maximum of 1000");
  return all;
}();

constexpr auto claim_parameters = std::to_array<input_field>({payload_field});

constexpr auto batch_parameters = std::to_array<input_field>({extended_field, payload_field});

constexpr std::array<route, 2> routes{{
  {.method = "POST",
   .pattern = "tasks/claim",
   .who = access::worker,
   .scope = "codeq:claim",
   .rate = "claim",
   .run = &claim_one,
   .fields = {.query = claim_parameters, .body = {claim_fields}, .need = body_need::required}},
  {.method = "POST",
   .pattern = "tasks/claim/batch",
   .who = access::worker,
   .scope = "codeq:claim",
   .rate = "claim",
   .run = &claim_batch,
   .fields =
     {.query = batch_parameters,
      .body = {claim_batch_fields},
      .need = body_need::required,
      .extended = {extended_claim_fields}},
   .counted = "count"},
}};

} // namespace

std::span<const route> claim_routes() {
  return routes;
}

} // namespace codeq::http
