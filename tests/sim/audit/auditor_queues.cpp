// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/auditor.hpp"

#include <algorithm>
#include <functional>
#include <string>

/// Answers to pauses and purges of queues must stay true.
namespace codeq::sim {

std::uint64_t auditor::pause_asked(shard_id shard, const queue_address& queue, bool paused) {
  auto wish = ++pause_wishes_;
  if (!paused)
    pauses_.erase({shard, queue});
  else
    pauses_.try_emplace({shard, queue}, pause_view{wish});
  return wish;
}

void auditor::pause_answered(
  shard_id shard, const queue_address& queue, std::uint64_t wish, bool paused) {
  auto asked = pauses_.find({shard, queue});
  // A resume requested since may have overtaken this answer, even when another pause was requested
  // after it.
  bool counts = paused && asked != pauses_.end() && wish >= asked->second.wish;
  if (!counts || asked->second.told_at)
    return;
  ++totals_.pauses;
  asked->second.told_at = world_.time.now();
}

void auditor::purge_asked(const queue_address& queue) {
  purges_.insert(queue);
}

bool auditor::is_purge_asked(const task_id& id, const task_view& t) const {
  const auto* spec = purges_.empty() ? nullptr : spec_of(id, t);
  return spec != nullptr
         && (purges_.contains({spec->tenant, spec->queue}) || purges_.contains({spec->tenant, ""}));
}

void auditor::purged(shard_id shard, const queue_address& queue, virtual_time began_at) {
  for (auto& [id, t] : tasks_) {
    const auto* spec = id.shard == shard ? spec_of(id, t) : nullptr;
    bool is_in = spec != nullptr && spec->tenant == queue.tenant
                 && (queue.queue.empty() || queue.queue == spec->queue);
    if (is_in && !t.name.empty() && t.seen_at < began_at && !t.doubtful && !t.purged_at) {
      t.purged_at = world_.time.now();
      ++totals_.purged;
    }
  }
}

void auditor::listed(
  shard_id shard, const std::vector<sequence>& seen, virtual_time began_at) {
  if (std::adjacent_find(seen.begin(), seen.end(), std::greater_equal<>()) != seen.end())
    breach("list", "of shard " + std::to_string(value(shard)) + " has a task twice");
  for (const auto& [id, t] : tasks_) {
    const auto* spec = id.shard == shard ? spec_of(id, t) : nullptr;
    bool is_expected = spec != nullptr && spec->tenant == "default" && t.acked_at
                       && *t.acked_at < began_at && !t.doubtful && !t.forgotten && !t.is_unknown
                       && !is_purge_asked(id, t) && !may_be_forgotten(id, t);
    if (is_expected && !std::binary_search(seen.begin(), seen.end(), id.seq))
      breach("list", t.name + " is missing in a list of all tasks");
  }
}

void auditor::check_start(const task_id& id, const task_view& t, const std::string& worker) {
  if (t.cancelled_at || t.cancelling_since)
    breach("cancel", t.name + " was leased after it was cancelled");
  if (t.purged_at)
    breach("purge", t.name + " was leased to " + worker + " after it was purged");
  const auto* spec = spec_of(id, t);
  if (spec == nullptr)
    return;
  auto paused = pauses_.find({id.shard, {spec->tenant, spec->queue}});
  if (paused != pauses_.end() && paused->second.told_at)
    breach("pause", t.name + " was leased to " + worker + " while its queue was paused");
}

} // namespace codeq::sim
