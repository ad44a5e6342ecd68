// SPDX-License-Identifier: Apache-2.0
// The part of `session` that passes on claims of the peer, which is the gateway of another
// coordinator.
#include "coordinator/session/session.hpp"
#include "protocol/peer_messages.hpp"

#include <string>
#include <utility>
#include <variant>

namespace codeq::coordinator {

namespace {

/// All queues of a claim are of one tenant.
const std::string& tenant_of(const claim_attached& claim) {
  return claim.queues.empty() ? claim.prefixes.front().tenant : claim.queues.front().tenant;
}

} // namespace

void session::take_request(const protocol::claim_at& m) {
  auto read = read_claim_at(m, options_.shard_count);
  if (!read)
    return refuse(read.error());
  const auto& [place, step] = *read;
  if (const auto* joins = std::get_if<claim_attached>(&step)) {
    if (auto ok = admit(place, *joins); !ok)
      return port_.send(make_claim_news(place, claim_left{ok.error()}).to_wire());
  }
  // An attachment may have ended while the step was on its way.
  if (claims_.contains(place))
    port_.pass_claim(place, step);
}

result<void> session::admit(const claim_place& place, const claim_attached& claim) {
  if (!options_.places)
    return error{errc::unsupported, "this coordinator is alone; it belongs to no cluster"};
  if (!is_here(place.shard)) {
    tell_places(place.shard);
    return error{
      errc::not_owner,
      "another coordinator serves shard " + std::to_string(value(place.shard))};
  }
  if (claims_.contains(place))
    return error{errc::protocol_error, "a claim attaches twice under one number"};
  if (high_pressure_)
    return claims_over_pressure();
  const auto& tenant = tenant_of(claim);
  if (!claim_shares_.take(tenant)) {
    port_.note_limit("cluster_claims_max", claim_shares_.total());
    return error{
      errc::overloaded,
      "tenant " + tenant + " has " + std::to_string(claim_shares_.used_by(tenant)) + " of "
        + std::to_string(claim_shares_.used()) + " claims at shards of another coordinator; "
        + "cluster_claims_max=" + std::to_string(claim_shares_.total())
        + ", shared by all tenants"};
  }
  claims_.emplace(place, tenant);
  return {};
}

error session::claims_over_pressure() const {
  return {
    errc::overloaded,
    "over " + std::to_string(tuning::outgoing_bytes_high)
      + " bytes wait for the connection between two coordinators"};
}

void session::claim_ended(const claim_place& place) {
  auto open = claims_.extract(place);
  if (!open.empty())
    claim_shares_.give_back(open.mapped());
}

} // namespace codeq::coordinator
