// SPDX-License-Identifier: Apache-2.0
// The part of `session` that follows shards which come to this coordinator and leave it, and shares
// a connection's bytes over them.
#include "codeq/limits.hpp"

#include "base/fair_share.hpp"
#include "coordinator/session/session.hpp"
#include "protocol/map_convert.hpp"

#include <string>

namespace codeq::coordinator {

bool session::is_here(shard_id shard) const {
  return !options_.places || options_.places->serves(shard);
}

void session::find_places() {
  for_each_shard([this](shard_id shard) {
    if (!is_here(shard))
      carry_out(router_.set_here(shard, false));
  });
}

void session::take_request(const protocol::shard_epochs& m) {
  const auto epochs = protocol::read_shard_epochs(m, options_.shard_count);
  if (!epochs)
    return refuse(epochs.error());
  for (const auto& [shard, epoch] : *epochs)
    epochs_[shard] = epoch;
}

bool session::is_late(shard_id shard) const {
  const auto named = epochs_.find(shard);
  if (!options_.places || named == epochs_.end())
    return false;
  // While etcd cannot be reached, this coordinator may serve a shard in an epoch that its map does
  // not have. The peer cannot learn that epoch here, and would wait for it.
  const auto* place = options_.places->map().of(shard);
  return place && named->second < place->epoch
         && named->second < options_.places->served_epoch(shard);
}

bool session::resumes_now(shard_id shard, replication::epoch_number epoch) {
  const auto served = options_.places->served_epoch(shard);
  if (epoch != 0)
    epochs_[shard] = epoch;
  if (epoch > served) {
    tell_places(shard);
    return false;
  }
  // The network has held it up while the shard was elsewhere and came back, so it lacks leases that
  // the worker got since then. The worker resumes in the present epoch, too.
  if (is_late(shard))
    return false;
  // It resumes again when it hears of the shard's place once more. Its tasks are on their way to it
  // already.
  return resumes_[shard] == 0;
}

void session::shard_came(shard_id shard) {
  // It has forgotten which room for tasks it was given before, and who has resumed.
  if (!router_.is_here(shard)) {
    window_.forget(shard);
    resumes_.erase(shard);
  }
  carry_out(router_.set_here(shard, true));
  tell_arrival(shard);
}

void session::shard_left(shard_id shard) {
  window_.forget(shard);
  resumes_.erase(shard);
  producer_shards_.erase(shard);
  // The peer sends again where the shard is now what was not answered.
  std::erase_if(enqueue_bytes_, [&](const auto& waiting) {
    const auto is_there = waiting.second.shard == shard;
    inflight_bytes_ -= is_there ? waiting.second.bytes : 0;
    return is_there;
  });
  inflight_bytes_at_.erase(shard);
  carry_out(router_.set_here(shard, false));
  tell_places(shard);
}

result<void> session::check_inflight(shard_id shard, std::size_t bytes) const {
  constexpr auto most = limits::producer_inflight_bytes_max;
  const auto at = inflight_bytes_at_.find(shard);
  const auto own = at == inflight_bytes_at_.end() ? 0 : at->second;
  // The shards of a coordinator that is alone wait for no copies: one may have all.
  const auto is_alone = !options_.places;
  const base::shared_places shared{
    .total = most, .used = inflight_bytes_, .own = is_alone ? 0 : own};
  const auto is_first = (is_alone ? inflight_bytes_ : own) == 0;
  if (is_first || shared.has_room(bytes))
    return {};
  const auto max = std::to_string(most);
  if (is_alone)
    return error{errc::overloaded, "over " + max + " bytes of requests are not answered yet"};
  return error{
    errc::overloaded,
    "shard " + std::to_string(value(shard)) + " has " + std::to_string(own) + " of "
      + std::to_string(inflight_bytes_) + " bytes of requests that are not answered yet; the "
      + "shards of a connection share " + max};
}

} // namespace codeq::coordinator
