// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"
#include "worker/dispatcher_state.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <utility>

namespace codeq::worker {

void dispatcher_state::start(dispatcher_self self, dispatcher_options options) {
  self_ = self;
  tenant_ = std::move(options.tenant);
  waiting_.emplace(waiting_tasks::rules{
    [this](const std::string& queue) { return pool_->room(queue); },
    [this](const lease_key& key) { return book_.find(key) != nullptr; },
    [this](const task& attempt) { return pool_->may_start(attempt); }});
  for (const auto& handler : options.handlers)
    waiting_->set_weight(handler.queue, handler.options.weight);
  prefetch_ = options.prefetch;
  pool_.emplace(std::move(options.handlers), options.slots);
  set_quotas();
  bell_ = make_bell();
  claims_.emplace(options.slots + options.prefetch, options.links);
  outbox_.emplace(options.links);
  links_.resize(options.links);
  on_end_ = std::move(options.on_end);
}

void dispatcher_state::take_links(std::vector<actors::link_actor> links) {
  for (std::size_t i = 0; i < links.size() && i < links_.size(); ++i) {
    self_->monitor(links[i]);
    links_[i].link = std::move(links[i]);
  }
  if (step_ == step::closing)
    close_links();
}

void dispatcher_state::take_link_up(const actors::link_up& up) {
  auto shards = up.ack.read(
    [](schema::HelloAck::Reader ack) -> result<std::size_t> { return ack.getShardCount(); });
  auto& at = links_[up.link];
  at.connection = up.connection;
  at.open = true;
  if (!shards || *shards == 0 || *shards > limits::shards_max)
    return break_link(up.link, {errc::protocol_error, "hello ack without a usable shard count"});
  CODEQ_LOG_INFO("worker connected to coordinator link={} shards={}", up.link, *shards);
  resume(up.link, *shards);
}

void dispatcher_state::resume(std::size_t link, std::size_t shards) {
  auto& at = links_[link];
  at.resuming.clear();
  for (std::size_t shard = 0; shard < shards; ++shard)
    at.resuming.insert(static_cast<shard_id>(shard));
  // Results go first, so that what they end is neither named as held nor delivered again.
  outbox_->resend(link);
  for (const auto& batch : outbox_->take(link))
    send_to(link, make_results(batch).to_wire());
  auto held = book_.beat_all(link, now());
  for (const auto& request : make_resumes(held, shards))
    send_to(link, request.to_wire());
  // A lease that the coordinator still knows may be close to its end: the beat goes right behind.
  send_beats(std::move(held));
  // What was said while there was no connection, and what nobody has answered.
  book_.for_each([link](const lease_key& key, held_lease& lease) {
    if (key.link == link && lease.line)
      lease.line->unsaved().resend();
  });
  bell_->ring();
}

void dispatcher_state::take_resumed(std::size_t link, const protocol::resume_reply& reply) {
  auto shard = read_resume_reply(reply);
  if (!shard)
    return break_link(link, shard.error());
  auto& at = links_[link];
  if (at.resuming.erase(*shard) == 0 || !at.resuming.empty())
    return;
  claims_->open(link);
  at.queues_version = 0;
  schedule_flush();
}

void dispatcher_state::take_link_down(const actors::link_down& down) {
  auto& at = links_[down.link];
  at.open = false;
  at.connection = nullptr;
  at.resuming.clear();
  claims_->close(down.link);
  if (!down.final)
    return;
  at.refused = true;
  forget_link(down.link);
  bool all_refused =
    std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link.refused; });
  if (all_refused)
    end(down.reason);
  else
    advance_drain();
}

void dispatcher_state::forget_link(std::size_t link) {
  outbox_->drop(link);
  std::vector<lease_ref> gone;
  book_.for_each([&](const lease_key& key, const held_lease& lease) {
    if (key.link == link)
      gone.push_back({lease.seq, key});
  });
  for (const auto& lease : gone)
    lose(lease);
}

void dispatcher_state::take_link_end(const caf::actor_addr& link) {
  for (auto& at : links_)
    if (at.link && at.link.address() == link)
      at.link = nullptr;
  advance_drain();
}

void dispatcher_state::break_link(std::size_t link, const error& reason) {
  CODEQ_LOG_ERROR("worker closes link={} reason=\"{}\"", link, to_string(reason));
  if (links_[link].open)
    self_->send(links_[link].connection, actors::close_connection{reason});
}

void dispatcher_state::send_to(std::size_t link, const protocol::wire_frame& message) {
  if (links_[link].open)
    self_->send(links_[link].connection, message);
}

void dispatcher_state::flush() {
  flush_scheduled_ = false;
  look_at_quotas();
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!links_[link].open)
      continue;
    // Before the reports: what they give back of a queue must not come again.
    send_queues(link);
    for (const auto& batch : outbox_->take(link))
      send_to(link, make_results(batch).to_wire());
    auto credits = outbox_->is_full() ? 0 : claims_->take(link);
    if (credits > 0)
      send_to(link, make_claim(credits).to_wire());
  }
}

void dispatcher_state::void_credits() {
  for (std::size_t link = 0; link < links_.size(); ++link)
    send_to(link, make_claim(0).to_wire());
}

void dispatcher_state::schedule_flush() {
  if (std::exchange(flush_scheduled_, true))
    return;
  // Behind everything that waits in the mailbox: what that leads to leaves in the same messages.
  self_->send(self_, actors::dispatcher_flush{});
}

void dispatcher_state::look_at_leases(std::uint64_t number) {
  if (number != look_number_)
    return;
  look_armed_.reset();
  auto seen = book_.look(now(), [this](std::size_t link) { return links_[link].open; });
  send_beats(std::move(seen.beats));
  for (const auto& key : seen.over) {
    auto& lease = *book_.find(key);
    CODEQ_LOG_WARN(
      "worker stops task={} token={}: no connection for the time of its lease",
      to_string(task_id{key.shard, lease.seq}),
      value(key.token));
    if (lease.phase == lease_phase::queued)
      lose({lease.seq, key});
    else
      stop_handler(lease, stop_cause::own);
  }
  arm_look();
}

void dispatcher_state::send_beats(std::vector<beat> beats) {
  std::vector<std::vector<beat>> by_link(links_.size());
  for (auto& line : beats)
    by_link[line.key.link].push_back(line);
  for (std::size_t link = 0; link < by_link.size(); ++link)
    for (const auto& request : make_heartbeats(std::move(by_link[link])))
      send_to(link, request.to_wire());
}

void dispatcher_state::arm_look() {
  auto due = book_.next_look();
  if (!due || (look_armed_ && *look_armed_ <= *due))
    return;
  look_armed_ = due;
  auto wait = std::max(*due - now(), duration{1});
  self_->delayed_send(self_, wait, actors::lease_look{++look_number_});
}

monotonic_time dispatcher_state::now() const {
  auto since = self_->clock().now().time_since_epoch();
  return monotonic_time{std::chrono::duration_cast<duration>(since)};
}

} // namespace codeq::worker
