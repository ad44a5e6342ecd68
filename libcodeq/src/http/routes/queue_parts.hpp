// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/routes/router.hpp"

/// The settings of a queue, which every shard has a part of.
namespace codeq::http {

/// The settings of each shard's part, indexed by shard number.
using queue_parts = std::vector<core::queue_settings>;

/// Asks every shard a question about a queue.
void ask_parts(
  gateway_context& context,
  const std::function<client::question(std::uint16_t shard)>& question_of,
  shard_desk::then<queue_parts> done);

/// The settings as they are.
void show_parts(
  gateway_context& context, const queue_address& queue, shard_desk::then<queue_parts> done);

/// Sets the whole queue's settings, divided among the shards.
void set_parts(
  gateway_context& context,
  const queue_address& queue,
  const queue_config& config,
  shard_desk::then<queue_parts> done);

} // namespace codeq::http
