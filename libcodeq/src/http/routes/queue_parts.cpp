// SPDX-License-Identifier: Apache-2.0
#include "http/routes/queue_parts.hpp"

#include "client/shard_walk.hpp"
#include "http/routes/route_steps.hpp"

namespace codeq::http {

void ask_parts(
  gateway_context& context,
  const std::function<client::question(std::uint16_t shard)>& question_of,
  shard_desk::then<queue_parts> done) {
  ask_each_shard<core::queue_settings>(context, question_of, &client::read_queue, std::move(done));
}

void show_parts(
  gateway_context& context, const queue_address& queue, shard_desk::then<queue_parts> done) {
  auto question_of = [queue](std::uint16_t shard) { return client::show_queue(shard, queue); };
  ask_parts(context, question_of, std::move(done));
}

void set_parts(
  gateway_context& context,
  const queue_address& queue,
  const queue_config& config,
  shard_desk::then<queue_parts> done) {
  auto part = client::part_of(config, context.desk.shard_count());
  auto question_of = [queue, part](std::uint16_t shard) {
    return client::set_queue(shard, queue, part);
  };
  ask_parts(context, question_of, std::move(done));
}

} // namespace codeq::http
