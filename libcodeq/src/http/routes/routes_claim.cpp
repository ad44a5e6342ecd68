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

/// The incarnation of every HTTP worker, so that its leases outlive the process that answers it.
constexpr std::uint64_t only_incarnation = 1;

/// The fields of a claim.
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
      return refuse_queue(queue);
  if (in.queues.empty())
    in.queues = by.queues;
  if (in.queues.empty() && !by.all_queues)
    return error{errc::unauthorized, "event type not allowed: the token names no queue"};
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

/// A claim and the response that it fills. A large claim is made step by step, so that no more
/// payloads are in memory than a response should have.
struct open_claim {
  claim_input in;
  /// Bytes of the response, taken before its tasks are leased.
  answer_share share;
  bool is_batch = false;
  /// The tasks of the response, separated by commas, and their leases.
  std::string json{};
  std::vector<granted_lease> leases{};
  /// Why the claim ends early.
  std::optional<error> refusal{};
  /// The client has gone.
  bool is_gone = false;
  /// The current step may still bring tasks.
  bool has_turn = false;

  [[nodiscard]] std::uint32_t step_tasks() const {
    return static_cast<std::uint32_t>(
      std::min(in.count - leases.size(), limits::http_claim_step_tasks));
  }
};

using open_claim_ptr = std::shared_ptr<open_claim>;

/// The bytes that the tasks of a step may have on their way to the gateway.
std::uint64_t bytes_of_step(const gateway_context& context, std::uint32_t count) {
  if (count == 1)
    return limits::http_claimed_task_bytes;
  auto last_tasks =
    std::min<std::size_t>({count, context.desk.shard_count(), limits::http_claim_shards_max});
  return limits::http_claim_room_bytes + last_tasks * limits::http_claimed_task_bytes;
}

void end_turn(gateway_context& context, const exchange& call, open_claim& all) {
  if (std::exchange(all.has_turn, false))
    context.desk.turns().end(call.by->tenant);
}

/// Makes room for a response of so many bytes; false when the tenant has none.
bool make_room(open_claim& all, std::size_t bytes) {
  if (bytes <= all.share->size())
    return true;
  if (bytes <= limits::http_small_answer_bytes) {
    all.share->force(bytes);
    return true;
  }
  auto ok = all.share->resize(bytes);
  if (!ok)
    all.refusal = ok.error();
  return static_cast<bool>(ok);
}

/// Adds tasks to the response, and gives those back that do not fit in the tenant's share.
void add_tasks(
  gateway_context& context,
  const exchange_ptr& call,
  open_claim& all,
  const std::vector<task>& tasks) {
  constexpr std::size_t frame_bytes = 32;
  auto worker = worker_name_of(call->by->tenant, call->by->subject);
  auto view = view_for(context, *call);
  std::vector<granted_lease> unfit;
  for (const auto& one : tasks) {
    base::json_writer json;
    if (!all.refusal)
      write_task(json, detail_of(one, worker, view.now), view);
    auto text = json.take();
    if (all.refusal || !make_room(all, all.json.size() + text.size() + frame_bytes)) {
      unfit.push_back({one.id, one.token, one.tenant});
      continue;
    }
    all.json += all.json.empty() ? "" : ",";
    all.json += text;
    all.leases.push_back({one.id, one.token, one.tenant});
    context.leases.note({one.id, one.token, one.queue, call->by});
  }
  context.desk.give_back(unfit);
  all.share->force(all.json.size() + frame_bytes);
}

void show(gateway_context& context, const exchange_ptr& call, open_claim& all) {
  call->on_gone = nullptr;
  if (all.leases.empty())
    return call->answer(all.refusal ? refusal_of(*all.refusal) : no_content());
  response answer;
  answer.body = all.is_batch ? R"({"tasks":[)" + all.json + "]}" : std::move(all.json);
  answer.on_unwritten = [give_back = context.return_leases, leases = all.leases] {
    give_back(leases);
  };
  call->answer(std::move(answer));
}

/// The client went away before it learned of its tasks, or its claim got no turn in time.
void end_gone(gateway_context& context, const exchange_ptr& call, const open_claim& all) {
  context.desk.give_back(all.leases);
  if (call->is_gone)
    return call->answer(no_content());
  call->answer(refusal_of(
    {errc::overloaded, "the claim got no turn in time, since many of its tenant wait"}));
}

void next_step(gateway_context& context, const exchange_ptr& call, const open_claim_ptr& all);

/// The tasks of a step have come.
void end_step(
  gateway_context& context,
  const exchange_ptr& call,
  const open_claim_ptr& all,
  const claimed_tasks& found) {
  auto wanted = all->step_tasks();
  if (all->is_gone) {
    context.desk.give_back(leases_of(found.tasks));
    end_turn(context, *call, *all);
    return end_gone(context, call, *all);
  }
  add_tasks(context, call, *all, found.tasks);
  if (found.refusal && !all->refusal)
    all->refusal = found.refusal;
  end_turn(context, *call, *all);
  bool is_drained = found.tasks.size() < wanted && !(found.is_cut && !found.tasks.empty());
  bool is_full = all->leases.size() == all->in.count || all->refusal
                 || all->json.size() >= limits::http_claim_bytes_max;
  if (is_drained || is_full)
    show(context, call, *all);
  else
    next_step(context, call, all);
}

void start_step(gateway_context& context, const exchange_ptr& call, const open_claim_ptr& all) {
  claim_wish wish;
  const auto& by = *call->by;
  wish.worker = std::make_shared<const worker_identity>(
    worker_identity{worker_name_of(by.tenant, by.subject), only_incarnation});
  for (const auto& queue : all->in.queues)
    wish.queues.push_back({by.tenant, queue});
  wish.tenant = by.tenant;
  wish.count = all->step_tasks();
  wish.lease = all->in.lease;
  wish.wait = all->in.wait;
  if (wish.count > 1)
    wish.room = limits::http_claim_room_bytes;
  claim_events events;
  events.ended = [&context, call, all](const claimed_tasks& found) {
    end_step(context, call, all, found);
  };
  // A claim that waits keeps no bytes, since its task comes alone.
  events.waits = [&context, call, all] {
    if (!all->is_gone)
      all->share->force(0);
    end_turn(context, *call, *all);
  };
  put_off_deadline(context, *call, all->in.wait);
  call->is_waiting = all->in.wait > duration{0};
  auto name = context.desk.claim(std::move(wish), std::move(events));
  if (!call->is_answered && all->has_turn)
    call->on_gone = [&context, all, name] {
      all->is_gone = true;
      context.desk.end_claim_of(name);
    };
}

/// Starts the next step as soon as there is room for what it may bring.
void next_step(gateway_context& context, const exchange_ptr& call, const open_claim_ptr& all) {
  call->on_gone = [&context, all, call = std::weak_ptr(call)] {
    all->is_gone = true;
    if (auto open = call.lock())
      end_gone(context, open, *all);
  };
  auto start = [&context, call, all](const result<void>& ok) {
    all->has_turn = static_cast<bool>(ok);
    if (all->is_gone)
      return end_turn(context, *call, *all);
    if (ok)
      return start_step(context, call, all);
    all->refusal = ok.error();
    show(context, call, *all);
  };
  auto bytes = bytes_of_step(context, all->step_tasks());
  context.desk.turns().begin({call->by->tenant, all->share, bytes, std::move(start)});
}

void begin_claim(
  gateway_context& context, const exchange_ptr& call, claim_input in, bool is_batch) {
  auto share = call->share;
  next_step(
    context,
    call,
    std::make_shared<open_claim>(open_claim{std::move(in), std::move(share), is_batch}));
}

void claim_one(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  auto in = read_claim(body, *call->by);
  if (!in)
    return call->answer(refusal_of(in.error()));
  in->wait = body.period("waitSeconds").value_or(duration{0});
  begin_claim(context, call, std::move(*in), false);
}

void claim_batch(gateway_context& context, const exchange_ptr& call) {
  const auto& body = call->fields->body;
  auto in = read_claim(body, *call->by);
  if (!in)
    return call->answer(refusal_of(in.error()));
  in->count = static_cast<std::uint32_t>(*body.integer("count"));
  begin_claim(context, call, std::move(*in), true);
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
   lease_ms_field,
   {.name = "waitSeconds", .instead = "only POST /v1/codeq/tasks/claim waits"}});
static_assert(limits::http_claim_tasks_max == 10, "a refusal names it");

constexpr auto extended_claim_fields = [] {
  auto all = claim_batch_fields;
  all.front() = count_field(limits::http_extended_batch_max, "count exceeds maximum of 1000");
  return all;
}();

constexpr auto claim_parameters = std::to_array<input_field>({payload_field});

constexpr auto claim_batch_parameters = std::to_array<input_field>({extended_field, payload_field});

constexpr std::array<route, 2> claim_table{{
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
     {.query = claim_batch_parameters,
      .body = {claim_batch_fields},
      .need = body_need::required,
      .extended = {extended_claim_fields}},
   .counted = "count"},
}};

} // namespace

std::span<const route> claim_routes() {
  return claim_table;
}

} // namespace codeq::http
