// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The tasks that ask the coordinator of a shard to change what it keeps there. Pure.
namespace codeq::http {

/// The task that brings a wish to the coordinator that serves the shard. `queue`: its tenant has
/// all wishes of a kind, and its name is that of the tenant whose wish it is. `name`: never used
/// before for a wish in the queue. `text`: an object with the member `atMs`, the time of the wish.
/// @pre shards > 0
[[nodiscard]] task_spec wish_task(
  const queue_address& queue,
  std::string_view name,
  std::string text,
  shard_id shard,
  std::uint16_t shards);

/// When the user wished it. Errors: `corruption`.
[[nodiscard]] result<timestamp> time_of_wish(std::string_view text);

/// The outcome of a wish, as the result of its task; what is told may be empty.
[[nodiscard]] std::string to_wish_answer(const result<std::string>& done);

/// Errors: those of the change; `corruption`.
[[nodiscard]] result<std::string> read_wish_answer(std::string_view answer);

} // namespace codeq::http
