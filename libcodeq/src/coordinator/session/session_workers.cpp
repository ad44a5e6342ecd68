// SPDX-License-Identifier: Apache-2.0
// The part of `session` that drains workers for an operator, and takes them back.
#include "coordinator/session/session.hpp"

#include <string>
#include <utility>

namespace codeq::coordinator {

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
  const auto* bearer = options_.bearer.get();
  const auto is_allowed =
    !bearer || (bearer->may_operate()
                && (bearer->is_of_all_tenants() || wish.worker.starts_with(bearer->tenant + "/")));
  if (!is_allowed)
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
  // It counts for this request only, also when nothing was changed.
  acting_for_.reset();
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
