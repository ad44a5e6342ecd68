// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/routes/router.hpp"

#include <string>
#include <vector>

/// Changes of many tasks, one part after the other.
namespace codeq::http {

/// Removes all tasks of a queue for good, one shard after the other, and answers `{"changed":n}`.
/// When the client goes away, the walk ends after the current part.
void purge_queue(gateway_context& context, const exchange_ptr& call, const queue_address& queue);

/// Redrives or purges the dead tasks that match the filter in the same way, or counts them in a dry
/// run: `{"changed":n,"dryRun":true}`. When there are none and the filter names a queue that does
/// not exist, `"exists":false` is added.
void change_all_dead(
  gateway_context& context,
  const exchange_ptr& call,
  const dead_filter& filter,
  dead_change what);

/// Counts the dead tasks that match the filter by kinds of errors, part by part, and answers
/// `{"kinds":[...],"tasks":n,"leftOut":n}`. With `newest` above 0 it looks at the newest so many
/// dead tasks alone, which the shards share, and says `"partial":true` if there are more.
void summarize_dead(
  gateway_context& context,
  const exchange_ptr& call,
  const dead_filter& filter,
  std::size_t newest);

/// Changes these tasks of the caller, and answers
/// `{"changed":n,"results":[{"id","outcome","state"}]}`.
void change_each(
  gateway_context& context,
  const exchange_ptr& call,
  const std::vector<std::string>& ids,
  task_change what);

} // namespace codeq::http
