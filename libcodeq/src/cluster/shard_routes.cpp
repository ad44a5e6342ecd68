// SPDX-License-Identifier: Apache-2.0
#include "cluster/shard_routes.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster {

namespace {

shard_id shard_at(std::size_t number) {
  return static_cast<shard_id>(number);
}

} // namespace

shard_routes::shard_routes(std::vector<std::string> addresses) {
  for (auto& address : addresses)
    links_.push_back({.address = std::move(address), .is_given = true});
}

shard_routes::changes shard_routes::take_up(std::size_t link, const std::string& node) {
  auto& at = links_[link];
  at.is_up = true;
  at.is_told = false;
  at.node = node;
  changes out;
  if (node.empty())
    return out;
  is_cluster_ = true;
  // An address that the user named may be another one of a coordinator that has a link already. The
  // new connection stays, because the coordinator has ended a worker's older one for it.
  // A link to an address that the user named stays while it is down: all addresses that were told
  // may change.
  for (std::size_t other = 0; other < links_.size(); ++other) {
    const auto& known = links_[other];
    const auto is_kept = known.has_ended || (known.is_given && !known.is_up);
    if (other != link && known.node == node && !is_kept)
      end(other, out);
  }
  // A new connection: whatever was sent on an earlier one may be lost.
  find_links(out);
  return out;
}

void shard_routes::take_down(std::size_t link) {
  links_[link].is_up = false;
}

void shard_routes::take_end(std::size_t link) {
  links_[link].is_up = false;
  links_[link].has_ended = true;
}

result<shard_routes::changes> shard_routes::take_places(
  std::size_t link, const map_news& news, std::span<const shard_id> not_here) {
  if (auto merged = map_.merge(news); !merged)
    return merged.error();
  links_[link].is_told = true;
  link_of_.resize(map_.shards());
  epochs_.resize(map_.shards());
  absences_.resize(map_.shards());
  changes out;
  dial_missing(out);
  close_left(out);
  find_links(out);
  find_arrivals(link, news, not_here, out);
  for (auto shard : not_here) {
    const auto number = value(shard);
    // If the shard has moved on, what is open was or will be sent to its new place.
    if (number >= link_of_.size() || link_of_[number] != link)
      continue;
    if (std::binary_search(out.resend.begin(), out.resend.end(), shard))
      continue;
    note_nowhere(number);
    out.retries = true;
  }
  return out;
}

void shard_routes::note_nowhere(std::size_t shard) {
  auto& absent = absences_[shard];
  // Each unanswered message is refused, and only the first refusal counts.
  if (std::exchange(absent.is_nowhere, true))
    return;
  absent.pauses_left = absent.pauses_next;
  absent.pauses_next = std::min(2 * absent.pauses_next, pauses_max);
}

shard_routes::changes shard_routes::retry() {
  changes out;
  for (std::size_t i = 0; i < absences_.size(); ++i) {
    auto& absent = absences_[i];
    if (!absent.is_nowhere)
      continue;
    absent.is_nowhere = --absent.pauses_left > 0;
    if (absent.is_nowhere)
      out.retries = true;
    else if (link_of(shard_at(i)))
      out.resend.push_back(shard_at(i));
  }
  return out;
}

std::optional<std::size_t> shard_routes::link_of(shard_id shard) const {
  const auto number = value(shard);
  if (number >= link_of_.size() || !link_of_[number] || !links_[*link_of_[number]].is_up)
    return std::nullopt;
  return link_of_[number];
}

std::optional<std::size_t> shard_routes::link_to(const shard_place& place) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto& at = links_[i];
    if (at.has_ended)
      continue;
    if (at.is_up && at.node == place.node)
      return i;
    // A coordinator that was started elsewhere keeps its name, one that took its address does not.
    const auto may_be = !at.is_up && at.address == place.address;
    if (may_be && !found)
      found = i;
  }
  return found;
}

bool shard_routes::reaches_all() const {
  for (std::size_t i = 0; i < link_of_.size(); ++i)
    if (!link_of(shard_at(i)))
      return false;
  return !link_of_.empty();
}

bool shard_routes::has_moved_on(
  shard_id shard, std::size_t link, replication::epoch_number epoch) const {
  // Also while its place is not connected.
  const auto* place = map_.of(shard);
  return place && epoch < place->epoch && links_[link].node != place->node;
}

bool shard_routes::is_taken(const std::string& address) const {
  return std::any_of(links_.begin(), links_.end(), [&](const shard_routes::link& at) {
    return at.is_up && at.address == address;
  });
}

void shard_routes::end(std::size_t link, changes& out) {
  take_end(link);
  out.close.push_back(link);
}

void shard_routes::dial_missing(changes& out) {
  for (std::size_t i = 0; i < map_.shards(); ++i) {
    const auto* place = map_.of(shard_at(i));
    if (!place || link_to(*place) || is_taken(place->address))
      continue;
    links_.push_back({.address = place->address});
    out.dial.push_back(place->address);
  }
}

void shard_routes::close_left(changes& out) {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    const auto& at = links_[link];
    if (at.is_given || at.is_up || at.has_ended)
      continue;
    bool is_left = true;
    for (std::size_t i = 0; i < map_.shards() && is_left; ++i) {
      const auto* place = map_.of(shard_at(i));
      is_left = !place || place->address != at.address;
    }
    if (is_left)
      end(link, out);
  }
}

void shard_routes::find_arrivals(
  std::size_t link, const map_news& news, std::span<const shard_id> not_here, changes& out) {
  for (const auto& [shard, place] : news.items) {
    const auto number = value(shard);
    const auto is_arrival = absences_[number].is_nowhere && link_of_[number] == link
                            && place.epoch == epochs_[number]
                            && std::find(not_here.begin(), not_here.end(), shard) == not_here.end();
    if (!is_arrival)
      continue;
    absences_[number] = {};
    out.resend.insert(std::upper_bound(out.resend.begin(), out.resend.end(), shard), shard);
  }
}

void shard_routes::find_links(changes& out) {
  for (std::size_t i = 0; i < link_of_.size(); ++i) {
    const auto* place = map_.of(shard_at(i));
    auto link = place ? link_to(*place) : std::nullopt;
    // A place counts as reached when its coordinator is connected, so that a connection that is
    // made later is new to the shard.
    if (link && !(links_[*link].is_up && links_[*link].is_told))
      link.reset();
    const auto is_same = link == link_of_[i] && (!link || epochs_[i] == place->epoch);
    link_of_[i] = link;
    epochs_[i] = place ? place->epoch : 0;
    if (is_same)
      continue;
    absences_[i] = {};
    if (link)
      out.resend.push_back(shard_at(i));
  }
}

} // namespace codeq::cluster
