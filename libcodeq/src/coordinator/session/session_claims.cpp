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
  if (!claims_.contains(place))
    return;
  port_.pass_claim(place, step);
  if (std::holds_alternative<claim_detached>(step))
    claims_.end(place);
  else if (std::holds_alternative<claim_attached>(step))
    hold_claim_if_due(place, false);
}

void session::hold_claim_if_due(const claim_place& place, bool was_held) {
  const auto is_held = high_pressure_ || claims_.is_held(place);
  if (is_held != was_held)
    port_.hold_claim(place, is_held);
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
  const auto& tenant = tenant_of(claim);
  if (claims_.add(place, tenant, places_of(claim)))
    return {};
  const auto& shares = claims_.shares();
  port_.note_limit("cluster_claims_max", shares.total());
  return error{
    errc::overloaded,
    "tenant " + tenant + " has " + std::to_string(shares.used_by(tenant)) + " of "
      + std::to_string(shares.used()) + " places of claims at shards of another coordinator; "
      + "cluster_claims_max=" + std::to_string(shares.total()) + ", shared by all tenants"};
}

void session::claim_ended(const claim_place& place) {
  for (const auto& released : claims_.remove(place))
    hold_claim_if_due(released, true);
}

} // namespace codeq::coordinator
