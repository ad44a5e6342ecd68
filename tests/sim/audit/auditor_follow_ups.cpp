// SPDX-License-Identifier: Apache-2.0
#include "sim/audit/auditor.hpp"

#include "protocol/task_validation.hpp"

/// A follow-up exists exactly once if its completion was accepted, and otherwise never.
namespace codeq::sim {

void auditor::will_follow(
  const lease_place& lease, const std::string& text, const std::vector<task_spec>& tasks) {
  const auto* l = find(lease);
  if (!l)
    return;
  follow_up_plan plan{l->id, text, {}};
  for (const auto& spec : tasks) {
    plan.names.emplace_back(spec.payload);
    wish wanted{spec, timestamp{}, clock_, std::nullopt};
    wanted.spec.tenant = protocol::tenant_of(spec);
    wanted.is_follow_up = true;
    wishes_.emplace(spec.payload, std::move(wanted));
  }
  plans_.push_back(std::move(plan));
}

std::optional<bool> auditor::is_accepted(const follow_up_plan& plan) const {
  const auto& t = tasks_.at(plan.of);
  if (t.final)
    return t.final->state == task_state::completed && t.final->result == plan.text;
  // The task may have been redriven since its end was reported; then the worker's answer decides.
  if (t.final_token)
    return t.leases.at(*t.final_token).text == plan.text;
  return t.redrive_asked || t.forgotten ? std::nullopt : std::optional{false};
}

std::string auditor::missing_follow_ups() const {
  std::string missing;
  for (const auto& plan : plans_) {
    if (!is_accepted(plan).value_or(false))
      continue;
    for (const auto& name : plan.names) {
      // A follow-up that is dead may have been lost at all its deliveries.
      if (!wishes_.at(name).id && !ledger_.has_ended(name))
        missing += name + " was never delivered\n";
    }
  }
  return missing;
}

void auditor::check_follow_ups() {
  for (const auto& plan : plans_) {
    auto accepted = is_accepted(plan);
    if (!accepted)
      continue;
    totals_.follow_ups += *accepted ? plan.names.size() : 0;
    for (const auto& name : plan.names) {
      const auto& id = wishes_.at(name).id;
      // A follow-up that a power cut took back had been seen before.
      if (!*accepted && id && !tasks_.at(*id).doubtful)
        breach("I4", name + " exists, though the completion that it follows was not accepted");
    }
  }
}

} // namespace codeq::sim
