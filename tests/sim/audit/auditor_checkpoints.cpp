// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/auditor.hpp"

/// Checks of checkpoints as clients see them.
namespace codeq::sim {

void auditor::saves(const lease_place& lease, std::uint32_t number, const std::string& data) {
  auto* l = find(lease);
  if (!l)
    return;
  auto& saved = tasks_.at(l->id).saved[{lease.second, number}];
  saved.data = data;
  saved.sent_at = saved.sent_at.value_or(world_.time.now());
}

void auditor::told_saved(const lease_place& lease, std::uint32_t number) {
  auto* l = find(lease);
  if (!l)
    return;
  auto& t = tasks_.at(l->id);
  auto saved = t.saved.find({lease.second, number});
  if (saved == t.saved.end())
    return breach("checkpoint", t.name + " was told of a checkpoint that it did not save");
  for (const auto& [token, later] : t.leases) {
    bool was_over = token > lease.second && !later.doubtful && later.delivered_at;
    if (was_over && saved->second.sent_at && *saved->second.sent_at > *later.delivered_at)
      breach("checkpoint", t.name + ": what an attempt saved was taken after a later one began");
  }
  saved->second.told_at = world_.time.now();
}

void auditor::check_checkpoint(const std::string& who, const delivery& d, const task_view& t) {
  // `least`: the latest checkpoint known to be durable before this attempt. A later one may be
  // durable, too.
  const std::pair<fencing_token, std::uint32_t>* least = nullptr;
  const std::pair<fencing_token, std::uint32_t>* got = nullptr;
  for (const auto& [mark, state] : t.saved) {
    bool is_earlier = mark.first < d.token || (d.redelivered && mark.first == d.token);
    if (is_earlier && state.told_at && mark.first < d.token)
      least = &mark;
    if (is_earlier && state.data == d.checkpoint)
      got = &mark;
  }
  totals_.handed_on += d.checkpoint.empty() ? 0 : 1;
  if (!d.checkpoint.empty() && got == nullptr)
    return breach("checkpoint", who + " got a checkpoint that no earlier attempt saved");
  // A redriven task starts without a checkpoint, and operators may have ended attempts. A task that
  // ended while a lease of it was on its way again has no checkpoint any more.
  bool has_ended = d.redelivered && t.final_at;
  if (t.redrive_asked || is_meddled_with(d.id, t) || has_ended || least == nullptr)
    return;
  if (got == nullptr || *got < *least)
    breach("checkpoint", who + " did not get what an earlier attempt was told to be saved");
}

} // namespace codeq::sim
