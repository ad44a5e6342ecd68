// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "isolation.capnp.h"

/// A follow-up on its way from a child process to its worker.
namespace codeq::worker {

/// @pre valid: what is out of bounds may come out otherwise
void write_spec(schema::FromChild::FollowUp::Builder to, const task_spec& spec);

[[nodiscard]] task_spec read_spec(schema::FromChild::FollowUp::Reader from);

} // namespace codeq::worker
