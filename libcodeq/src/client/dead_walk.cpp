// SPDX-License-Identifier: Apache-2.0
#include "client/dead_walk.hpp"

#include "codeq/limits.hpp"

#include <functional>
#include <utility>

namespace codeq::client {

task_filter filter_of(const dead_filter& filter) {
  task_filter tasks;
  tasks.tenant = filter.tenant;
  tasks.queue = filter.queue;
  tasks.state = task_state::dead;
  tasks.group = filter.group;
  tasks.error = filter.error;
  tasks.ended = filter.died;
  return tasks;
}

dead_walk::dead_walk(
  const dead_filter& filter, dead_change what, std::uint16_t shards, operation whole)
  : filter_(filter),
    what_(what),
    shards_(shards),
    whole_(whole),
    // A dry run changes nothing that it could overload.
    pace_(filter.limit, filter.is_dry_run ? 0 : filter.rate) {
}

bool dead_walk::is_over() const {
  return at_.shard >= shards_ || (tasks_.empty() && pace_.next_part() == 0);
}

core::bulk_kind dead_walk::kind() const {
  using core::bulk_kind;
  if (what_ == dead_change::redrive)
    return filter_.is_dry_run ? bulk_kind::count_redrive : bulk_kind::redrive_listed;
  return filter_.is_dry_run ? bulk_kind::count_purge : bulk_kind::purge_listed;
}

question dead_walk::next() const {
  if (!wants_list())
    return change_listed(kind(), {filter_.tenant, filter_.queue}, at_.shard, tasks_, whole_);
  auto at = at_;
  at.limit = pace_.next_part();
  return list_tasks(filter_of(filter_), at);
}

result<void> dead_walk::take(const list_part& part) {
  if (!part.knows_all_filters)
    return error{
      errc::unsupported, "the coordinator is of an older version and does not know the request"};
  next_after_ = part.after;
  is_more_ = part.more;
  for (const auto& dead : part.tasks)
    if (takes_key(dead))
      tasks_.push_back({dead.id.seq, dead.token});
  if (keys_.size() > limits::dry_run_keys_max)
    return error{
      errc::too_large,
      "a dry run looks at at most " + std::to_string(limits::dry_run_keys_max)
        + " tasks with keys per shard; narrow the filter"};
  if (tasks_.empty())
    go_on();
  return {};
}

bool dead_walk::takes_key(const task_summary& dead) {
  bool is_counted = filter_.is_dry_run && what_ == dead_change::redrive && !dead.key.empty();
  if (!is_counted)
    return true;
  // The sizes keep different names apart.
  auto name = dead.queue + '/' + std::to_string(dead.group.size()) + '/' + dead.group + dead.key;
  return keys_.insert(std::hash<std::string>{}(name)).second;
}

std::vector<task_id> dead_walk::redriven() const {
  std::vector<task_id> all;
  if (kind() == core::bulk_kind::redrive_listed)
    for (const auto& task : tasks_)
      all.push_back({static_cast<shard_id>(at_.shard), task.seq});
  return all;
}

duration dead_walk::take(const bulk_part& part) {
  tasks_.clear();
  go_on();
  return pace_.take(part.changed);
}

void dead_walk::go_on() {
  at_.after = is_more_ ? next_after_ : 0;
  if (is_more_)
    return;
  ++at_.shard;
  keys_.clear();
}

} // namespace codeq::client
