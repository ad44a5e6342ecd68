// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/auditor.hpp"

#include <algorithm>
#include <utility>

/// Answers to enqueues of tasks with keys must stay true.
namespace codeq::sim {

void auditor::enqueued(const std::string& name, const result<enqueued_task>& how) {
  if (!how)
    return refused(name, how.error());
  check_verdict(name, *how);
  if (how->kind != enqueue_kind::created)
    return met_record(name, *how);
  auto* t = meet(name, how->id);
  if (!t)
    return;
  t->acked_at = t->acked_at.value_or(world_.time.now());
  // The shard's part of the request was answered before the power cut, the rest of it later.
  bool was_cut = wishes_.at(name).power_cuts != totals_.power_cuts;
  t->doubtful = t->doubtful || (was_cut && !ledger_.knows(how->id));
}

void auditor::refused(const std::string& name, const error& reason) {
  auto& wanted = wishes_.at(name);
  ++totals_.refused;
  wanted.is_settled = true;
  bool is_known = reason.code == errc::duplicate || reason.code == errc::queue_full
                  || (reason.code == errc::disk_full && world_.was_disk_full);
  if (!is_known)
    return breach("enqueue", name + " was refused: " + to_string(reason));
  auto verdict = ledger_.verdict_on(name);
  bool is_told = reason.code == errc::duplicate;
  if (wanted.power_cuts != totals_.power_cuts || !verdict)
    return;
  if (!is_told || verdict->kind != enqueue_kind::duplicate)
    breach("keys", name + " was refused, though a record says that it was executed");
}

void auditor::check_verdict(const std::string& name, const std::optional<enqueued_task>& told) {
  const auto& wanted = wishes_.at(name);
  auto verdict = ledger_.verdict_on(name);
  // A power cut may have taken the answer back.
  if (wanted.power_cuts != totals_.power_cuts || !verdict)
    return;
  if (*verdict != *told)
    breach(
      "keys",
      name + " was answered " + std::string(to_string(told->kind)) + " and the record says "
        + std::string(to_string(verdict->kind)));
}

void auditor::met_record(const std::string& name, const enqueued_task& how) {
  ++totals_.duplicates;
  auto& wanted = wishes_.at(name);
  wanted.is_settled = true;
  if (wanted.id && wanted.power_cuts == totals_.power_cuts)
    breach("I10", name + " has a task of its own, and met the record of another");
  auto first = ledger_.first_payload_of(how.id);
  if (first.empty())
    return breach("keys", name + " met a record that nobody enqueued");
  auto* t = meet(first, how.id);
  if (!t)
    return;
  if (!ledger_.knows(how.id)) {
    t->doubtful = t->doubtful || wanted.power_cuts != totals_.power_cuts;
    return;
  }
  auto now = world_.time.now();
  t->acked_at = t->acked_at.value_or(now);
  bool has_time = how.kind == enqueue_kind::deferred || how.kind == enqueue_kind::unchanged;
  // Without `allow_promotion` the time moves only to later times.
  if (has_time && !wishes_.at(first).spec.allow_promotion)
    t->floors.push_back({now, {wanted.earliest, wanted.clock}});
}

void auditor::check_floors(
  const std::string& who, const task_view& t, const lease_view& l, timestamp at) {
  for (const auto& [told_at, floor] : t.floors) {
    bool comparable = floor.clock == ~0ull || floor.clock == clock_;
    if (comparable && told_at <= l.granted_at && at < floor.earliest)
      breach("I5", who + " was delivered before the time to which a duplicate put it off");
  }
}

std::string auditor::check_payload(const delivery& d) {
  auto first = ledger_.first_payload_of(d.id);
  auto promised = ledger_.payload_of(d.id.shard, d.token);
  if (promised && *promised != d.name)
    breach("payload", first + " was delivered with " + d.name + " and not with " + *promised);
  return first.empty() ? d.name : first;
}

const task_spec* auditor::spec_of(const task_id& id, const task_view& t) const {
  auto wanted = wishes_.find(t.name.empty() ? ledger_.first_payload_of(id) : t.name);
  return wanted == wishes_.end() ? nullptr : &wanted->second.spec;
}

} // namespace codeq::sim
