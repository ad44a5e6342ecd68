// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "base/fair_share.hpp"
#include "coordinator/session/claim_wire.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// Number of places that a claim takes: one, and a further one for each KiB of memory that its
/// names take at the shard.
[[nodiscard]] std::uint64_t places_of(const claim_attached& claim);

/// The attachments of a gateway's claims to the shards here. They take places, which tenants
/// share, until the claim has ended at its gateway. Its proxy may then still wait for tasks that
/// the shard is committing: such an attachment takes no place, so that a shard that cannot commit
/// does not keep the tenant's claims from other shards. Instead it counts for its tenant and shard.
/// While these are too many, the tenant's further claims are held at that shard: they get no tasks
/// there, and so leave nothing behind when they end. Pure.
class claim_places {
public:
  [[nodiscard]] bool contains(const claim_place& at) const { return all_.contains(at); }

  /// The places that are taken, by tenant.
  [[nodiscard]] const base::fair_share& shares() const noexcept { return shares_; }

  /// Adds an attachment; false when its tenant has too many places. @pre !contains(at)
  [[nodiscard]] bool add(const claim_place& at, const std::string& tenant, std::uint64_t places);

  /// True when the claim is held because its tenant had too many ended claims at the shard.
  [[nodiscard]] bool is_held(const claim_place& at) const;

  /// The claim has ended at its gateway.
  void end(const claim_place& at);

  /// The proxy has ended. Returns the attachments that are not held any more.
  [[nodiscard]] std::vector<claim_place> remove(const claim_place& at);

  template <class F>
  void for_each(F&& fn) const {
    for (const auto& [at, one] : all_)
      fn(at);
  }

private:
  struct attachment {
    std::string tenant;
    std::uint64_t places = 0;
    bool has_ended = false;
  };

  /// The attachments of one tenant to one shard.
  struct crowd {
    /// Number of those that have ended.
    std::size_t ended = 0;
    std::set<claim_place> held;
  };

  using crowd_key = std::pair<std::string, shard_id>;

  std::map<claim_place, attachment> all_;
  base::fair_share shares_{limits::cluster_claims_max};
  /// A tenant and a shard are in it while attachments of theirs have ended or are held.
  std::map<crowd_key, crowd> crowds_;
};

} // namespace codeq::coordinator
