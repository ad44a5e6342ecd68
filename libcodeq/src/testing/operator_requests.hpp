// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "testing/test_shard.hpp"

/// An operator's requests to the shard of a test, by the messages of `operator_client`. Errors: as
/// its functions.
namespace codeq::testing {

[[nodiscard]] result<queue_info>
configure_queue(test_shard& shard, const queue_address& queue, const queue_config& config);

[[nodiscard]] result<change_outcome>
change_task(test_shard& shard, task_id task, task_change what);

[[nodiscard]] result<task_explanation> explain_task(test_shard& shard, task_id task);

} // namespace codeq::testing
