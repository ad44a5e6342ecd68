// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/routes/router.hpp"

/// The settings of a queue, which every shard has a part of.
namespace codeq::http {

/// Each shard's part, indexed by shard number.
using queue_parts = std::vector<client::queue_part>;

/// Asks every shard a question about a queue, which is part of the command `origin` if it changes
/// the queue.
void ask_parts(
  gateway_context& context,
  const std::function<client::question(std::uint16_t shard)>& question_of,
  shard_desk::then<queue_parts> done,
  const core::origin_ptr& origin = {});

/// The settings as they are.
void show_parts(
  gateway_context& context, const queue_address& queue, shard_desk::then<queue_parts> done);

/// The refusal of a queue that does not exist, which says how to make it.
[[nodiscard]] error missing_queue(const queue_address& queue);

/// Goes on if the queue exists; answers that it does not, or why that is unknown, if not.
void with_existing(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  std::function<void()> go_on);

/// Sets the whole queue's settings, divided among the shards.
void set_parts(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  const queue_config& config,
  shard_desk::then<queue_parts> done);

} // namespace codeq::http
