// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "client/shard_walk.hpp"

#include <cstdint>

/// Errors of an operator's requests.
namespace codeq::node {

/// The coordinator has not answered for so long.
[[nodiscard]] error no_answer(duration waited);

[[nodiscard]] error unknown_queue(const queue_address& queue);

/// The error of a change that shard `at` of `shards` has not made; `earlier` tells of the shards
/// before it.
[[nodiscard]] error not_changed(
  const error& reason, client::change_places earlier, std::uint16_t at, std::uint16_t shards);

/// How long the actor of a client has to say why a request has no answer.
inline constexpr duration give_up_wait{1000};

/// How long a request waits until `operator_options::waits` is told.
inline constexpr duration quiet_wait{2000};

/// How long the shards after a silent one have for their answers.
inline constexpr duration next_silence{1000};

/// A request that has changed so many tasks.
[[nodiscard]] error after_tasks(const error& reason, std::uint64_t changed);

[[nodiscard]] error
out_of_range(const char* field, std::uint64_t found, std::uint64_t least, std::uint64_t most);

} // namespace codeq::node
