// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "isolation.capnp.h"

/// Conversion of a follow-up that a child process sends to its worker.
namespace codeq::worker {

/// @pre `spec` is valid: values that are out of bounds may change
void write_spec(schema::FromChild::FollowUp::Builder to, const task_spec& spec);

[[nodiscard]] task_spec read_spec(schema::FromChild::FollowUp::Reader from);

} // namespace codeq::worker
