// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "protocol/map_convert.hpp"
#include "worker/node/dispatcher.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

/// How a dispatcher follows its links.
namespace codeq::worker {

void dispatcher::take_links(std::size_t count) {
  for (std::size_t i = 0; i < count && i < links_.size(); ++i)
    links_[i].is_there = true;
  if (step_ == step::closing)
    close_links();
}

std::size_t dispatcher::store_of(std::size_t link) const {
  return links_[link].is_of_cluster ? *cluster_store_ : link;
}

std::optional<std::size_t> dispatcher::link_of(std::size_t store, shard_id shard) const {
  if (store == cluster_store_)
    return routes_.link_of(shard);
  return links_[store].open ? std::optional(store) : std::nullopt;
}

void dispatcher::take_link_up(
  std::size_t link, const protocol::hello_ack& ack, monotonic_time now) {
  // Its acknowledgement was on its way when another link took its place.
  if (routes_.has_ended(link))
    return;
  auto& at = links_[link];
  bool takes_patterns = false;
  std::string node;
  auto shards = ack.read([&](schema::HelloAck::Reader read) -> result<std::size_t> {
    takes_patterns = read.getTakesPrefixes();
    at.takes_reach = read.getTakesReach();
    at.answers_heartbeats = read.getAnswersHeartbeats();
    node.assign(read.getNode().cStr(), read.getNode().size());
    return read.getShardCount();
  });
  if (!shards || *shards == 0 || *shards > limits::shards_max)
    return port_.break_link(link, {errc::protocol_error, "hello ack without a usable shard count"});
  // Only addresses that the user named may be those of coordinators that are alone.
  if (node.empty() && (at.is_of_cluster || link >= outbox_.stores()))
    return port_.break_link(
      link, {errc::protocol_error, "the coordinator is alone, and not of the cluster any more"});
  at.open = true;
  at.refused = false;
  at.knows_reach = false;
  port_.note_connected(link, *shards);
  if (!takes_patterns && !pool_.patterns().empty())
    port_.note_no_patterns(link);
  at.is_of_cluster = !node.empty();
  auto changes = routes_.take_up(link, node);
  if (!at.is_of_cluster)
    return resume(link, *shards, now);
  if (!cluster_store_)
    cluster_store_ = link;
  at.queues_version = 0;
  follow(changes, now);
}

void dispatcher::take(
  std::size_t link, const protocol::cluster_map_news& told, monotonic_time now) {
  if (!links_[link].open || !links_[link].is_of_cluster)
    return;
  auto read = protocol::read_cluster_map(told);
  auto changes = read ? routes_.take_places(link, read->news, read->not_here)
                      : result<cluster::shard_routes::changes>(read.error());
  if (!changes)
    return port_.break_link(link, changes.error());
  follow(*changes, now);
  // Behind what is sent again, as after any reconnect.
  if (!claims_.is_open(link))
    claims_.open(link, true);
  find_leading();
  schedule_flush();
}

void dispatcher::follow(const cluster::shard_routes::changes& changes, monotonic_time now) {
  for (const auto& address : changes.dial) {
    links_.emplace_back();
    links_.back().is_there = true;
    claims_.add_link();
    port_.open_link(links_.size() - 1, address);
  }
  for (auto link : changes.close) {
    auto& at = links_[link];
    at.open = false;
    at.refused = true;
    claims_.close(link);
    if (at.is_there)
      port_.close_link(link, {errc::disconnected, "another link leads to the coordinator"});
  }
  find_reach();
  if (!changes.resend.empty())
    resume_shards(changes.resend, now);
  if (changes.retries && !std::exchange(retries_places_, true))
    places_wake_ = wake_after(tuning::not_here_pause);
}

void dispatcher::tell_reach(std::size_t link) {
  auto& at = links_[link];
  if (!at.is_of_cluster || !at.takes_reach || at.knows_reach == reaches_all_)
    return;
  at.knows_reach = reaches_all_;
  send_to(link, make_reach(reaches_all_).to_wire());
}

void dispatcher::find_reach() {
  const auto now = routes_.reaches_all();
  if (std::exchange(reaches_all_, now) != now)
    schedule_flush();
}

void dispatcher::find_leading() {
  std::set<std::size_t> leading;
  for (std::size_t shard = 0; shard < routes_.map().shards(); ++shard)
    if (const auto link = routes_.link_of(static_cast<shard_id>(shard)))
      leading.insert(*link);
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!links_[link].is_of_cluster || !claims_.is_open(link))
      continue;
    if (const auto idle = claims_.set_leading(link, leading.contains(link)); idle > 0)
      send_to(link, make_take_back(idle).to_wire());
  }
}

void dispatcher::retry_places(monotonic_time now) {
  retries_places_ = false;
  follow(routes_.retry(), now);
  find_leading();
}

void dispatcher::resume_shards(std::span<const shard_id> shards, monotonic_time now) {
  const auto store = *cluster_store_;
  auto is_meant = [&](const lease_key& key) {
    return key.store == store && std::binary_search(shards.begin(), shards.end(), key.shard);
  };
  // The shard may deliver these leases again after the answers, and even after the next resume.
  for (const auto& key : outbox_.resend(store, shards))
    repeated_.add(key);
  send_reports();
  auto held = book_.beat_all(now, is_meant);
  std::map<shard_id, std::vector<const beat*>> by_shard;
  for (auto shard : shards)
    by_shard[shard];
  for (const auto& lease : held)
    by_shard[lease.key.shard].push_back(&lease);
  for (const auto& [shard, leases] : by_shard)
    if (auto link = routes_.link_of(shard)) {
      send_to(*link, make_resume(shard, leases, routes_.map().of(shard)->epoch).to_wire());
      // The shard may not know which queues this node wants at present.
      links_[*link].queues_version = 0;
    }
  send_beats(std::move(held), now);
  resend_news(is_meant);
  schedule_flush();
}

void dispatcher::take(std::size_t link, const protocol::credit_news& news) {
  if (!links_[link].open)
    return;
  using content = std::pair<std::uint32_t, bool>;
  auto read = news.read([](schema::CreditNews::Reader reader) -> result<content> {
    return content{reader.getReturned(), reader.getWants()};
  });
  if (!read)
    return port_.break_link(link, read.error());
  if (!claims_.told(link, read->first, read->second) && ask_wake_ == 0)
    ask_wake_ = wake_after(claim_loop::ask_again_pause);
  schedule_flush();
}

void dispatcher::ask_for_credits_again() {
  ask_wake_ = 0;
  claims_.ask_again();
  schedule_flush();
}

void dispatcher::resume(std::size_t link, std::size_t shards, monotonic_time now) {
  auto& at = links_[link];
  at.resuming.clear();
  for (std::size_t shard = 0; shard < shards; ++shard)
    at.resuming.insert(static_cast<shard_id>(shard));
  // Results are sent first, so that the tasks they end are neither listed as held nor delivered
  // again.
  outbox_.resend(link);
  for (const auto& batch : outbox_.take(link))
    send_to(link, make_results(batch).to_wire());
  auto is_of_link = [link](const lease_key& key) { return key.store == link; };
  auto held = book_.beat_all(now, is_of_link);
  for (const auto& request : make_resumes(held, shards))
    send_to(link, request.to_wire());
  // A lease that the coordinator still knows may be about to expire: send a heartbeat right away.
  send_beats(std::move(held), now);
  resend_news(is_of_link);
}

void dispatcher::resend_news(const lease_book::lease_test& is_meant) {
  // News from the time without a connection, and news that was not answered.
  book_.for_each([&](const lease_key& key, held_lease& lease) {
    if (is_meant(key) && lease.line)
      lease.line->unsaved().resend();
  });
  wake_->raise();
}

void dispatcher::take(std::size_t link, const protocol::resume_reply& reply) {
  auto shard = read_resume_reply(reply);
  if (!shard)
    return port_.break_link(link, shard.error());
  auto& at = links_[link];
  if (at.resuming.erase(*shard) == 0 || !at.resuming.empty())
    return;
  claims_.open(link);
  at.queues_version = 0;
  schedule_flush();
}

void dispatcher::take_link_down(std::size_t link, const error& reason, bool is_refused) {
  auto& at = links_[link];
  at.open = false;
  at.resuming.clear();
  claims_.close(link);
  routes_.take_down(link);
  find_reach();
  // Its credits are free for others.
  if (at.is_of_cluster)
    schedule_flush();
  if (!is_refused)
    return;
  at.refused = true;
  // The others of the cluster may not know the newer process yet, which cannot have their tasks
  // while this one lives.
  if (at.is_of_cluster && reason.code == errc::superseded)
    return end(reason);
  // After any other refusal the link dials on, and the coordinator may take its reports yet.
  if (!at.is_of_cluster && reason.code == errc::superseded)
    forget_link(link);
  bool all_refused =
    std::all_of(links_.begin(), links_.end(), [](const auto& each) { return each.refused; });
  if (all_refused)
    end(reason);
  else
    advance_drain();
}

void dispatcher::forget_link(std::size_t link) {
  if (link >= outbox_.stores())
    return;
  outbox_.drop(link);
  for (const auto& key : book_.keys())
    if (key.store == link)
      lose({book_.find(key)->seq, key});
}

void dispatcher::take_link_end(std::size_t link) {
  links_[link].is_there = false;
  routes_.take_end(link);
  advance_drain();
}

void dispatcher::send_to(std::size_t link, const protocol::wire_frame& message) {
  if (links_[link].open)
    port_.to_link(link, message);
}

} // namespace codeq::worker
