// SPDX-License-Identifier: Apache-2.0
#include "http/routes/queue_parts.hpp"

#include "client/shard_walk.hpp"
#include "http/json/input_refusal.hpp"
#include "http/json/task_input.hpp"
#include "http/routes/route_steps.hpp"

namespace codeq::http {

void ask_parts(
  gateway_context& context,
  const std::function<client::question(std::uint16_t shard)>& question_of,
  shard_desk::then<queue_parts> done,
  const core::origin_ptr& origin) {
  ask_each_shard<client::queue_part>(
    context, question_of, &client::read_queue, std::move(done), origin);
}

void show_parts(
  gateway_context& context, const queue_address& queue, shard_desk::then<queue_parts> done) {
  auto question_of = [queue](std::uint16_t shard) { return client::show_queue(shard, queue); };
  ask_parts(context, question_of, std::move(done));
}

void read_queue_parts(
  gateway_context& context,
  const exchange_ptr& call,
  const std::function<client::question(std::uint16_t shard)>& question_of,
  shard_desk::then<client::told_parts<client::queue_part>> done,
  client::first_shard first) {
  using told = shard_desk::then<client::queue_part>;
  auto ask = [&context, question_of](std::uint16_t shard, told take) {
    context.desk.ask<client::queue_part>(
      shard, question_of(shard), &client::read_queue, std::move(take));
  };
  read_from_shards<client::queue_part>(context, call, ask, std::move(done), first);
}

error missing_queue(const queue_address& queue) {
  return {
    errc::unknown_queue,
    "queue not found: tenant " + quote(queue.tenant) + " has no queue " + quote(queue.queue)
      + "; its first task (POST /v1/codeq/tasks) or setting (PUT /v1/codeq/admin/queues/"
      + queue.queue + "/settings) makes it"};
}

void with_existing(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  std::function<void()> go_on) {
  auto decide = [call, queue, go_on = std::move(go_on)](const result<queue_parts>& found) {
    if (!found)
      return call->answer(refusal_of(client::before_change(found.error())));
    if (!client::merge_parts(queue, *found).exists)
      return call->answer(refusal_of(missing_queue(queue)));
    go_on();
  };
  show_parts(context, queue, std::move(decide));
}

new_settings settings_after(const queue_info& before, const input& body) {
  new_settings after{before.config, {}};
  apply_settings(body, after.config);
  if (before.differing.empty())
    after.weights = weights_of(body);
  return after;
}

void set_parts(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  const new_settings& wanted,
  shard_desk::then<queue_parts> done) {
  auto part = client::part_of(wanted.config, context.desk.shard_count());
  auto question_of = [queue, part, weights = wanted.weights](std::uint16_t shard) {
    return client::set_queue(shard, queue, part, {}, weights);
  };
  ask_parts(context, question_of, std::move(done), origin_of(context, *call));
}

} // namespace codeq::http
