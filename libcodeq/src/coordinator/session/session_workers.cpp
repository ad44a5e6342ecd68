// SPDX-License-Identifier: Apache-2.0
// The part of `session` that drains workers for an operator, and takes them back.
#include "coordinator/session/session.hpp"

#include <string>
#include <utility>

namespace codeq::coordinator {

namespace {

bool may_drain(const security::principal& who, const std::string& worker) {
  const auto own = who.tenant + "/";
  // The refusal of a worker of the gateway says more.
  const auto is_own = worker.starts_with(own) || worker.starts_with("http:" + own);
  return who.may_operate() && (who.is_of_all_tenants() || is_own);
}

} // namespace

std::string tenant_of_worker(const std::string& name) {
  const auto slash = name.find('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

void session::set_drained(bool is_drained) {
  is_drained_ = is_drained;
  pause_claims();
}

result<std::vector<base::worker_counts>>
session::drain_worker(const protocol::workers_wish& wish) {
  if (auto ok = count_request(); !ok)
    return ok.error();
  if (const auto* bearer = options_.bearer.get(); bearer && !may_drain(*bearer, wish.worker))
    return error{
      errc::unauthorized,
      "worker is `" + wish.worker + "`; this takes the token of an admin of its tenant"};
  const auto done = port_.drain_worker(wish.worker, wish.is_drained);
  if (!done)
    return done.error();
  if (*done == drain_outcome::changed)
    note_drain(wish);
  std::vector<base::worker_counts> told;
  if (*done != drain_outcome::unknown) {
    told.emplace_back().name = wish.worker;
    told.back().is_draining = wish.is_drained;
  }
  return told;
}

void session::note_drain(const protocol::workers_wish& wish) {
  const auto action =
    wish.is_drained ? operator_action::worker_drain : operator_action::worker_resume;
  for (std::uint16_t i = 0; i < options_.shard_count; ++i)
    if (const shard_id shard{i}; router_.is_here(shard))
      return port_.command_shard(
        shard,
        core::note_command{origin_of(0), action, wish.worker, tenant_of_worker(wish.worker)});
}

} // namespace codeq::coordinator
