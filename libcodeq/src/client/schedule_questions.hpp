// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/schedule.hpp"

#include "client/operator_questions.hpp"

#include <cstdint>

/// Requests for schedules. A schedule is on the shard that its name determines.
namespace codeq::client {

/// The shard of a schedule, and its name.
struct schedule_place {
  std::uint16_t shard = 0;
  schedule_address name;
};

/// @pre shard_count > 0
[[nodiscard]] schedule_place place_of(const schedule_address& name, std::uint16_t shard_count);

/// Errors: as `protocol::encode_spec`.
[[nodiscard]] result<question>
ask_set_schedule(const schedule_place& at, const schedule_spec& spec);
[[nodiscard]] question ask_change_schedule(const schedule_place& at, schedule_action what);
[[nodiscard]] question
ask_backfill_schedule(const schedule_place& at, timestamp from, timestamp until);
[[nodiscard]] question ask_schedule(const schedule_place& at, std::uint32_t next);
[[nodiscard]] result<question> ask_preview_schedule(
  const schedule_place& at, const schedule_spec& spec, std::uint32_t count);
[[nodiscard]] question ask_schedule_history(const schedule_place& at);

/// `at.name.name`: only schedules behind it.
[[nodiscard]] question ask_schedules(const schedule_place& at, std::uint32_t limit);

} // namespace codeq::client
