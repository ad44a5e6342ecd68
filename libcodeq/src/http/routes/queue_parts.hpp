// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/shard_walk.hpp"
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

/// The settings as they are. Error: a shard does not answer.
void show_parts(
  gateway_context& context, const queue_address& queue, shard_desk::then<queue_parts> done);

/// Asks every shard a question about a queue that changes nothing; a header of the response says
/// how many shards have not answered.
void read_queue_parts(
  gateway_context& context,
  const exchange_ptr& call,
  const std::function<client::question(std::uint16_t shard)>& question_of,
  shard_desk::then<client::told_parts<client::queue_part>> done,
  client::first_shard first = client::first_shard::optional);

/// The refusal of a queue that does not exist, which says how to make it.
[[nodiscard]] error missing_queue(const queue_address& queue);

/// Goes on if the queue exists; answers that it does not, or why that is unknown, if not.
void with_existing(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  std::function<void()> go_on);

/// New settings of a queue.
struct new_settings {
  /// With `weights`, its weights of fairness keys count for coordinators of earlier versions only.
  queue_config config;
  /// How the weights of fairness keys change; nothing: those of `config` replace them.
  std::optional<weight_changes> weights = weight_changes{};
};

/// The settings of a queue that is `before`, with those that `body` names. Where shards differ, it
/// gives all of them the same weights of fairness keys.
[[nodiscard]] new_settings settings_after(const queue_info& before, const input& body);

/// Sets the whole queue's settings, divided among the shards.
void set_parts(
  gateway_context& context,
  const exchange_ptr& call,
  const queue_address& queue,
  const new_settings& wanted,
  shard_desk::then<queue_parts> done);

} // namespace codeq::http
