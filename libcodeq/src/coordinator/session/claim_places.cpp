// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/claim_places.hpp"

#include "base/tuning.hpp"

namespace codeq::coordinator {

std::uint64_t places_of(const claim_attached& claim) {
  constexpr std::uint64_t place_bytes = 1024;
  // The shard's host and the shard keep each name, which is also in a table of the shard.
  constexpr std::uint64_t copies = 3;
  constexpr std::uint64_t overhead_bytes = 96;
  std::uint64_t bytes = 0;
  for (const auto* names : {&claim.queues, &claim.prefixes})
    for (const auto& name : *names)
      bytes += copies * (name.tenant.size() + name.queue.size() + overhead_bytes);
  return 1 + bytes / place_bytes;
}

bool claim_places::add(
  const claim_place& at, const std::string& tenant, std::uint64_t places) {
  if (!shares_.take(tenant, places))
    return false;
  all_.emplace(at, attachment{tenant, places});
  const auto crowd = crowds_.find({tenant, at.shard});
  if (crowd != crowds_.end() && crowd->second.ended >= tuning::ended_claims_max)
    crowd->second.held.insert(at);
  return true;
}

bool claim_places::is_held(const claim_place& at) const {
  const auto one = all_.find(at);
  if (one == all_.end())
    return false;
  const auto crowd = crowds_.find({one->second.tenant, at.shard});
  return crowd != crowds_.end() && crowd->second.held.contains(at);
}

void claim_places::end(const claim_place& at) {
  const auto one = all_.find(at);
  if (one == all_.end() || std::exchange(one->second.has_ended, true))
    return;
  shares_.give_back(one->second.tenant, one->second.places);
  auto& crowd = crowds_[{one->second.tenant, at.shard}];
  ++crowd.ended;
  crowd.held.erase(at);
}

std::vector<claim_place> claim_places::remove(const claim_place& at) {
  end(at);
  const auto one = all_.extract(at);
  if (one.empty())
    return {};
  const auto found = crowds_.find({one.mapped().tenant, at.shard});
  auto& crowd = found->second;
  --crowd.ended;
  std::vector<claim_place> released;
  if (crowd.ended <= tuning::ended_claims_max / 2) {
    released.assign(crowd.held.begin(), crowd.held.end());
    crowd.held.clear();
  }
  if (crowd.ended == 0)
    crowds_.erase(found);
  return released;
}

} // namespace codeq::coordinator
