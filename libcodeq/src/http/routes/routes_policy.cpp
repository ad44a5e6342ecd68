// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"
#include "client/shard_walk.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_fields.hpp"
#include "http/routes/queue_parts.hpp"
#include "http/routes/queue_policy.hpp"
#include "http/routes/route_steps.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <variant>

/// The settings of a queue in codeQ's words.
namespace codeq::http {

namespace {

constexpr unsigned created = 201;
constexpr unsigned unprocessable = 422;

/// The maximum of codeQ, which is smaller than `limits::attempts_max`.
constexpr std::int64_t policy_attempts_max = 100;

/// A value that no topic can have, with the text of its refusal.
struct bad_field {
  std::string field;
  std::string text;
};

bad_field bad_value(std::string_view field, const std::string& value, const std::string& rule) {
  return {std::string(field), describe_value(quote_name({}, field), value, rule)};
}

response refusal_of_field(const bad_field& bad) {
  base::json_writer json;
  json.begin_object()
    .field("error", "invalid " + bad.field + ": " + bad.text)
    .field("field", bad.field)
    .end_object();
  return reply(unprocessable, json);
}

std::string policy_id(const queue_address& queue) {
  return queue.tenant + "." + queue.queue;
}

/// The topic that the path names; answers when no queue can have that name.
std::optional<queue_address> named_queue(const exchange_ptr& call) {
  queue_address queue{call->by->tenant, call->arguments[0]};
  if (is_valid_name(queue.queue))
    return queue;
  call->answer(refusal_of_field(bad_value("topicName", quote(queue.queue), describe_queue_name())));
  return std::nullopt;
}

/// The settings that a request asks for.
struct policy_wish {
  std::vector<std::int64_t> tiers{};
  std::uint32_t max_attempts = limits::attempts_default;
  duration retention = limits::retention_completed_default;
};

/// Reads `policy_fields`; returns the first bad field if there is one.
std::variant<policy_wish, bad_field> read_policy_wish(const input& body) {
  policy_wish wish;
  if (body.has("priorityTiers")) {
    auto tiers = read_tiers(body.raw("priorityTiers"));
    if (!tiers)
      return bad_value(
        "priorityTiers",
        describe_json(body.raw("priorityTiers")),
        "an array of 1 to 10 different whole numbers in 0..9");
    wish.tiers = std::move(*tiers);
  }
  if (auto attempts = body.integer("maxAttempts")) {
    if (*attempts < 1 || *attempts > policy_attempts_max)
      return bad_value("maxAttempts", std::to_string(*attempts), "1..100");
    wish.max_attempts = static_cast<std::uint32_t>(*attempts);
  }
  if (auto seconds = body.integer("retentionSeconds")) {
    if (
      std::find(retention_numbers.begin(), retention_numbers.end(), *seconds)
      == retention_numbers.end())
      return bad_value(
        "retentionSeconds",
        std::to_string(*seconds),
        describe_range({.name = "retentionSeconds", .numbers = retention_numbers}));
    wish.retention = std::chrono::seconds(*seconds);
  }
  if (body.has("deadLetterTopicRef"))
    return bad_value(
      "deadLetterTopicRef",
      quote(body.text("deadLetterTopicRef")),
      "left out, since dead tasks stay in their own queue");
  if (auto most = body.integer("maxConsumers"); most && *most != 0)
    return bad_value(
      "maxConsumers",
      std::to_string(*most),
      "0, since consumers are not limited; 'maxLeased' of the queue's settings limits leases");
  return wish;
}

/// A topic with the settings of its queue.
struct policy_state {
  queue_address queue;
  queue_policy record;
  queue_config config;
};

void answer_policy(const exchange_ptr& call, unsigned status, const policy_state& state) {
  const auto& defaults = state.config.defaults;
  base::json_writer json;
  json.begin_object()
    .field("topicId", policy_id(state.queue))
    .field("tenantId", state.queue.tenant)
    .field("topicName", state.queue.queue)
    .begin_object("policy");
  if (!state.record.tiers.empty()) {
    json.begin_array("priorityTiers");
    for (auto tier : state.record.tiers)
      json.number(tier);
    json.end_array();
  }
  json.field("maxAttempts", defaults.max_attempts)
    .field("retentionSeconds", defaults.retention / std::chrono::seconds(1))
    .field("maxConsumers", 0)
    .end_object()
    .field("version", state.record.version)
    .field("createdAt", base::to_rfc3339(state.record.created_at))
    .field("updatedAt", base::to_rfc3339(state.record.updated_at))
    .end_object();
  call->answer(reply(status, json));
}

/// The topic's record, or nothing when there is none, and the settings of its queue.
using found_policy = std::function<void(std::optional<queue_policy>, const queue_config&)>;

/// Answers when that cannot be found out.
void find_policy(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  found_policy found) {
  auto address = client::address_of(key_of_policy(queue), context.desk.shard_count());
  auto with_record =
    [&context, call, queue, found = std::move(found)](const result<task_detail>& task) {
      if (!task && task.error().code != errc::unknown_task)
        return call->answer(refusal_of(task.error()));
      auto record = task ? read_policy(*task) : std::nullopt;
      auto with_parts = [call, queue, record, found](const result<queue_parts>& parts) {
        if (!parts)
          return call->answer(refusal_of(parts.error()));
        found(record, client::merge_parts(queue, *parts).config);
      };
      show_parts(context, queue, std::move(with_parts));
    };
  context.desk.describe_with_body(queue.tenant, address, std::move(with_record));
}

/// Calls `change` with a lock of the queue, which it holds until the change is stored.
void change_policy(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  std::function<void(
    const queue_locks::lock&, const std::optional<queue_policy>&, const queue_config&)> change) {
  auto locked =
    [&context, call, queue, change = std::move(change)](const queue_locks::lock& taken) {
      // The request may have been given up while it waited.
      if (call->is_answered)
        return;
      find_policy(context, call, queue, [taken, change](const auto& known, const auto& config) {
        change(taken, known, config);
      });
    };
  context.changing_queues.take(queue, std::move(locked));
}

void show_policy(gateway_context& context, const exchange_ptr& call) {
  auto queue = named_queue(call);
  if (!queue)
    return;
  find_policy(
    context, call, *queue, [call, queue = *queue](const auto& record, const auto& config) {
      if (!record)
        return call->answer(refusal(404, "queue topic \"" + policy_id(queue) + "\" not found"));
      answer_policy(call, 200, {queue, *record, config});
    });
}

/// Stores the settings, then the record.
void store_policy(
  gateway_context& context,
  const exchange_ptr& call,
  const policy_state& state,
  std::function<void()> done) {
  auto stored = [call, done = std::move(done)](const result<enqueued_task>& added) {
    if (!added)
      return call->answer(refusal_of(added.error()));
    done();
  };
  auto set = [&context, call, state, stored = std::move(stored)](const result<queue_parts>& parts) {
    if (!parts)
      return call->answer(refusal_of(parts.error()));
    auto ticket =
      context.desk.enqueue(state.queue.tenant, to_task(state.queue, state.record), stored);
    call->on_given_up = [&context, ticket] { context.desk.give_up(ticket); };
  };
  set_parts(context, call, state.queue, {state.config}, std::move(set));
}

void set_policy(gateway_context& context, const exchange_ptr& call) {
  auto queue = named_queue(call);
  if (!queue)
    return;
  auto read = read_policy_wish(call->fields->body);
  if (const auto* bad = std::get_if<bad_field>(&read))
    return call->answer(refusal_of_field(*bad));
  auto change = [&context, call, queue = *queue, wish = std::get<policy_wish>(read)](
                  const queue_locks::lock& taken, const auto& known, const queue_config& config) {
    policy_state state{queue, {wish.tiers}, config};
    state.config.defaults.max_attempts = wish.max_attempts;
    state.config.defaults.retention = wish.retention;
    bool is_same = known && known->tiers == wish.tiers && state.config == config;
    if (is_same)
      return answer_policy(call, 200, {queue, *known, config});
    state.record.updated_at = context.desk.now();
    state.record.created_at = known ? known->created_at : state.record.updated_at;
    state.record.version = known ? known->version + 1 : 1;
    auto status = known ? 200 : created;
    store_policy(
      context, call, state, [call, taken, status, state] { answer_policy(call, status, state); });
  };
  change_policy(context, call, *queue, std::move(change));
}

/// Stores the settings, then ends the record, and answers. `taken` is held until then.
void drop_policy(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  const queue_config& config,
  const queue_locks::lock& taken) {
  auto ended = [call, taken](const result<change_outcome>& outcome) {
    if (!outcome && outcome.error().code != errc::unknown_task)
      return call->answer(refusal_of(outcome.error()));
    call->answer(no_content());
  };
  auto set = [&context, call, queue, ended](const result<queue_parts>& parts) {
    if (!parts)
      return call->answer(refusal_of(parts.error()));
    auto record = client::address_of(key_of_policy(queue), context.desk.shard_count());
    context.desk.ask<change_outcome>(
      value(record.task.shard),
      client::ask_change(record, task_change::cancel),
      &client::read_change,
      shard_desk::then<change_outcome>(ended));
  };
  set_parts(context, call, queue, {config}, std::move(set));
}

/// Gives the queue the settings that queues have by default; its tasks stay.
void delete_policy(gateway_context& context, const exchange_ptr& call) {
  auto queue = named_queue(call);
  if (!queue)
    return;
  auto remove = [&context, call, queue = *queue](
                  const queue_locks::lock& taken, const auto& known, const queue_config& config) {
    if (!known)
      return call->answer(no_content());
    auto plain = config;
    plain.defaults.max_attempts = task_settings{}.max_attempts;
    plain.defaults.retention = task_settings{}.retention;
    drop_policy(context, call, queue, plain, taken);
  };
  change_policy(context, call, *queue, std::move(remove));
}

// Their values are checked by `read_policy_wish`, since codeQ answers 422 for them.
constexpr input_range any_number{.least = std::numeric_limits<std::int64_t>::min()};

constexpr auto policy_fields = std::to_array<input_field>({
  {.name = "priorityTiers", .type = input_type::json},
  {.name = "maxAttempts", .type = input_type::integer, .range = any_number},
  {.name = "deadLetterTopicRef"},
  {.name = "retentionSeconds", .type = input_type::integer, .range = any_number},
  {.name = "maxConsumers", .type = input_type::integer, .range = any_number},
});

constexpr auto deletion_policies = std::to_array<std::string_view>({"Delete"});

constexpr auto deletion_parameters = std::to_array<input_field>(
  {{.name = "deletionPolicy",
    .type = input_type::choice,
    .is_required = true,
    .choices = deletion_policies,
    .refusal = "deletionPolicy=Delete is required"}});

constexpr std::array<route, 3> policy_table{{
  {.method = "PUT",
   .pattern = "admin/topics/:",
   .who = access::admin,
   .rate = "admin",
   .run = &set_policy,
   .fields = {.body = {policy_fields, "invalid request body"}, .need = body_need::required}},
  {.method = "GET",
   .pattern = "admin/topics/:",
   .who = access::inspect,
   .rate = "admin",
   .run = &show_policy},
  {.method = "DELETE",
   .pattern = "admin/topics/:",
   .who = access::admin,
   .rate = "admin",
   .run = &delete_policy,
   .fields = {.query = deletion_parameters, .need = body_need::unread}},
}};

} // namespace

std::span<const route> policy_routes() {
  return policy_table;
}

} // namespace codeq::http
