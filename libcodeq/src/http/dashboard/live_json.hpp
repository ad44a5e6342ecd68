// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"
#include "base/json_writer.hpp"
#include "http/server/caller.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Queues and workers as dashboards get them, in JSON.
namespace codeq::http {

/// The workers that the caller may see, with their oldest leases, as the member `workers`.
void write_workers(
  base::json_writer& json, std::vector<base::worker_counts> workers, const caller& by);

/// The rows of a tenant's queues by name: the values of the columns, without the name.
using queue_rows = std::map<std::string, std::string>;

/// Ages are written as the second in which they began, so that a row stays as it is while nothing
/// happens.
[[nodiscard]] queue_rows
rows_of(const base::coordinator_counts& stats, std::string_view tenant, timestamp now);

/// The difference of `rows` to those of the event before: the changed rows and the names of queues
/// that are gone. Without `before` all rows.
void write_rows(base::json_writer& json, const queue_rows& rows, const queue_rows* before);

} // namespace codeq::http
