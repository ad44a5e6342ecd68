// SPDX-License-Identifier: Apache-2.0
// The part of a claim that follows shards between coordinators, and uses those of others.
#include "http/desk/claim_peer.hpp"
#include "observe/log.hpp"
#include "worker/node/wire.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace codeq::http {

void claim_state::tell(
  shard_id shard, std::uint32_t attachment, const coordinator::claim_step& step) {
  if (const auto& to = far_[value(shard)])
    self_->send(
      to, coordinator::make_claim_at({options_.claim, attachment, shard}, step).to_wire());
}

void claim_state::take(const coordinator::shard_moved& m) {
  const auto change = ways_->set_here(m.shard, m.is_here);
  detach(m.shard, change);
  follow(m.shard, change);
}

void claim_state::take(const shard_found& m) {
  const auto change = ways_->find_here(m.shard, m.is_here);
  detach(m.shard, change);
  follow(m.shard, change);
}

void claim_state::take(const far_shards_found& m) {
  for (const auto& [shard, to] : m.shards)
    set_far(shard, to);
  look_again();
}

void claim_state::take(const far_shards_lost& m) {
  for (std::uint16_t i = 0; i < far_.size(); ++i)
    if (far_[i] == m.connection)
      set_far(shard_id{i}, {});
  look_again();
}

void claim_state::set_far(shard_id shard, const actors::connection_actor& to) {
  if (finished_)
    return;
  const auto change = ways_->set_far(shard, static_cast<bool>(to));
  detach(shard, change);
  far_[value(shard)] = to;
  follow(shard, change);
}

void claim_state::detach(shard_id shard, const claim_ways::change& change) {
  if (change.attachment != 0)
    tell(shard, change.attachment, coordinator::claim_detached{});
}

void claim_state::follow(shard_id shard, const claim_ways::change& change) {
  if (finished_ || change == claim_ways::change{})
    return;
  if (change.has_left) {
    may_get_late_tasks_ = true;
    // The shard forgets which room for tasks it was given.
    untold_room_[value(shard)] = std::max(std::int64_t{0}, room_[value(shard)]);
    // Tasks that are read there may never come, so the claim stops waiting for them.
    being_read_ = 0;
    carry_out(router_->set_here(shard, false));
  }
  if (change.has_come) {
    quiet_rounds_ = 0;
    carry_out(router_->set_here(shard, true));
  }
  // A shard that left does not answer, and one that came may have work.
  if (round_ > 0 && !std::exchange(will_look_again_, true))
    self_->send(self_, http::look_again{});
  finish_if_settled();
}

void claim_state::look_again() {
  if (!std::exchange(will_look_again_, false) || ending_)
    return;
  attach_to_all();
  ask_all();
}

void claim_state::take(const end_claim& m) {
  end();
  if (!m.at_once)
    return;
  for (std::uint16_t i = 0; i < far_.size(); ++i)
    if (ways_->to(shard_id{i}) == way::far)
      set_far(shard_id{i}, {});
}

void claim_state::take(const claim_news_arrived& m) {
  const auto read = coordinator::read_claim_news(m.news);
  if (!read)
    CODEQ_LOG_ERROR(
      "claim cannot read news of another coordinator reason=\"{}\"", to_string(read.error()));
  else if (value(read->first.shard) < far_.size())
    take_far(read->first, read->second);
}

void claim_state::take_far(
  const coordinator::claim_place& place, const coordinator::claim_event& event) {
  const auto is_current =
    place.attachment != 0 && place.attachment == ways_->attachment(place.shard) && !finished_;
  if (is_current)
    return std::visit(
      [this, shard = place.shard](const auto& what) { take_far(shard, what); }, event);
  if (const auto* late = std::get_if<coordinator::claim_tasks>(&event))
    take_late(place, *late);
}

void claim_state::take_late(
  const coordinator::claim_place& place, const coordinator::claim_tasks& tasks) {
  auto read = read_batch(tasks.batch);
  if (!read)
    return;
  // The proxy gives back what it sent on an attachment that ended otherwise.
  if (place.attachment != 0 && place.attachment == left_[value(place.shard)])
    add_late(std::move(*read));
  else
    give_back(*read);
}

void claim_state::take_far(shard_id shard, const coordinator::credit_news& news) {
  if (value(news.by) < far_.size())
    return use(news);
  CODEQ_LOG_ERROR(
    "claim leaves another coordinator shard={} reason=\"news of shard {} of {} shards\"",
    value(shard), value(news.by), far_.size());
  set_far(shard, {});
}

void claim_state::take_far(shard_id shard, const coordinator::claim_tasks& tasks) {
  auto read = read_batch(tasks.batch);
  if (!read || read->empty())
    // Without a confirmation the proxy gives them back.
    return set_far(shard, {});
  const auto number = ++received_[value(shard)];
  tell(shard, ways_->attachment(shard), coordinator::claim_received{number});
  const auto count = static_cast<std::uint32_t>(read->size());
  const int priority = read->back().priority;
  add(shard, {std::move(*read), count, tasks.room, tasks.more, tasks.was_read, priority});
}

void claim_state::take_far(shard_id, const coordinator::claim_answer& answer) {
  take_answer(answer.number, answer.awaits_slots);
}

void claim_state::take_far(shard_id shard, const coordinator::claim_left& left) {
  if (left.reason.code == errc::not_owner) {
    // The proxy ends by itself, when no more tasks can come.
    const auto change = ways_->set_far(shard, false);
    left_[value(shard)] = change.attachment;
    far_[value(shard)] = actors::connection_actor{};
    return follow(shard, change);
  }
  note_refused(
    "the coordinator of shard " + std::to_string(value(shard)), left.reason);
  refusal_ = left.reason;
  end();
  set_far(shard, {});
}

std::optional<std::vector<task>> claim_state::read_batch(const bytes& batch) {
  auto frame = protocol::task_batch::parse(batch);
  auto delivery = frame ? worker::read_task_batch(*frame) : frame.error();
  if (delivery)
    return std::move(delivery->tasks);
  CODEQ_LOG_ERROR("claim cannot read its tasks reason=\"{}\"", to_string(delivery.error()));
  return std::nullopt;
}

void claim_state::give_back(const std::vector<task>& tasks) {
  if (!tasks.empty())
    self_->send(options_.gateway, leases_unread{leases_of(tasks)});
}

} // namespace codeq::http
