// SPDX-License-Identifier: Apache-2.0
#include "worker/node/dispatcher.hpp"

#include <algorithm>
#include <utility>

/// How a dispatcher follows its links.
namespace codeq::worker {

void dispatcher::take_links(std::size_t count) {
  for (std::size_t i = 0; i < count && i < links_.size(); ++i)
    links_[i].is_there = true;
  if (step_ == step::closing)
    close_links();
}

void dispatcher::take_link_up(
  std::size_t link, const protocol::hello_ack& ack, monotonic_time now) {
  bool takes_patterns = false;
  auto shards = ack.read([&](schema::HelloAck::Reader read) -> result<std::size_t> {
    takes_patterns = read.getTakesPrefixes();
    return read.getShardCount();
  });
  links_[link].open = true;
  if (!shards || *shards == 0 || *shards > limits::shards_max)
    return port_.break_link(link, {errc::protocol_error, "hello ack without a usable shard count"});
  port_.note_connected(link, *shards);
  if (!takes_patterns && !pool_.patterns().empty())
    port_.note_no_patterns(link);
  resume(link, *shards, now);
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
  auto held = book_.beat_all(link, now);
  for (const auto& request : make_resumes(held, shards))
    send_to(link, request.to_wire());
  // A lease that the coordinator still knows may be about to expire: send a heartbeat right away.
  send_beats(std::move(held));
  // News from the time without a connection, and news that was not answered.
  book_.for_each([link](const lease_key& key, held_lease& lease) {
    if (key.link == link && lease.line)
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

void dispatcher::take_link_down(std::size_t link, const error& reason, bool final) {
  auto& at = links_[link];
  at.open = false;
  at.resuming.clear();
  claims_.close(link);
  if (!final)
    return;
  at.refused = true;
  forget_link(link);
  bool all_refused =
    std::all_of(links_.begin(), links_.end(), [](const auto& each) { return each.refused; });
  if (all_refused)
    end(reason);
  else
    advance_drain();
}

void dispatcher::forget_link(std::size_t link) {
  outbox_.drop(link);
  for (const auto& key : book_.keys())
    if (key.link == link)
      lose({book_.find(key)->seq, key});
}

void dispatcher::take_link_end(std::size_t link) {
  links_[link].is_there = false;
  advance_drain();
}

void dispatcher::send_to(std::size_t link, const protocol::wire_frame& message) {
  if (links_[link].open)
    port_.to_link(link, message);
}

} // namespace codeq::worker
