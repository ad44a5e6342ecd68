// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "isolation.capnp.h"

#include <vector>

/// Conversion of what a child process sends to its worker: follow-ups, and limits of tasks.
namespace codeq::worker {

/// @pre `spec` is valid: values that are out of bounds may change
void write_spec(schema::FromChild::FollowUp::Builder to, const task_spec& spec);

[[nodiscard]] task_spec read_spec(schema::FromChild::FollowUp::Reader from);

/// @pre the list has as many elements
void write_child_limits(
  capnp::List<schema::FromChild::Limit>::Builder to, const std::vector<task_limit>& all);

[[nodiscard]] std::vector<task_limit>
read_child_limits(capnp::List<schema::FromChild::Limit>::Reader from);

} // namespace codeq::worker
