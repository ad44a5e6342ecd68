// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/task.hpp"

#include "http/json/task_json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// A topic is codeQ's word for a queue. This record contains the fields of a topic that the queue's
/// settings do not have. It is stored as a task in a tenant of its own. Pure.
struct queue_policy {
  /// The priorities that its producers mean to use.
  std::vector<std::int64_t> tiers{};
  /// From 1, with each change.
  std::int64_t version = 1;
  timestamp created_at{};
  timestamp updated_at{};

  friend bool operator==(const queue_policy&, const queue_policy&) = default;
};

/// The task that stores the topic; a repeat replaces what is stored.
[[nodiscard]] task_spec to_task(const queue_address& queue, const queue_policy& record);

/// The key of that task.
[[nodiscard]] task_key key_of_policy(const queue_address& queue);

/// Reads the record from the task that stores it; empty when the topic was deleted, or the task
/// contains something else.
[[nodiscard]] std::optional<queue_policy> read_policy(const task_detail& task);

/// The priorities in a JSON array; nothing unless it has 1 to 10 different whole numbers in 0..9.
[[nodiscard]] std::optional<std::vector<std::int64_t>> read_tiers(std::string_view json);

} // namespace codeq::http
