// SPDX-License-Identifier: Apache-2.0
// The part of a claim that follows shards between coordinators, and uses those of others.
#include "http/claims/claim_run.hpp"

#include "worker/node/wire.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace codeq::http {

void claim_run::tell(
  shard_id shard, std::uint32_t attachment, const coordinator::claim_step& step) {
  port_.tell({options_.claim, attachment, shard}, step);
}

void claim_run::take_move(shard_id shard, bool is_here) {
  change_way(shard, ways_.set_here(shard, is_here));
}

void claim_run::find(shard_id shard, bool is_here) {
  change_way(shard, ways_.find_here(shard, is_here));
}

void claim_run::reach(shard_id shard) {
  if (!finished_)
    change_way(shard, ways_.set_far(shard, true));
}

void claim_run::lose(shard_id shard) {
  if (!finished_)
    change_way(shard, ways_.set_far(shard, false));
}

void claim_run::change_way(shard_id shard, const claim_ways::change& change) {
  if (change.attachment != 0)
    tell(shard, change.attachment, coordinator::claim_detached{});
  follow(shard, change);
}

void claim_run::follow(shard_id shard, const claim_ways::change& change) {
  if (finished_ || change == claim_ways::change{})
    return;
  tell_reach();
  if (change.has_left) {
    may_get_late_tasks_ = true;
    // The shard forgets which room for tasks it was given.
    untold_room_[value(shard)] = std::max(std::int64_t{0}, room_[value(shard)]);
    // Tasks that are read there may never come, so the claim stops waiting for them.
    being_read_ = 0;
    carry_out(router_.set_here(shard, false));
  }
  if (change.has_come) {
    quiet_rounds_ = 0;
    carry_out(router_.set_here(shard, true));
  }
  // A shard that left does not answer, and one that came may have work.
  if (round_ > 0 && !std::exchange(will_look_again_, true))
    port_.look_again_soon();
  finish_if_settled();
}

void claim_run::tell_reach() {
  const auto reaches_all = ways_.reach_all() && vain_ < vain_max;
  if (std::exchange(reaches_all_, reaches_all) == reaches_all)
    return;
  for (std::uint16_t i = 0; i < shard_count(); ++i)
    if (const shard_id shard{i}; ways_.is_attached(shard))
      command(shard, core::claim{0, 0, options_.lease, 0, 0, reaches_all});
}

void claim_run::look_again() {
  if (!std::exchange(will_look_again_, false) || ending_)
    return;
  attach_to_all();
  ask_all();
}

void claim_run::take(const protocol::claim_news& news) {
  const auto read = coordinator::read_claim_news(news);
  if (!read)
    port_.note_unread("news of another coordinator", read.error());
  else if (value(read->first.shard) < shard_count())
    take_far(read->first, read->second);
}

void claim_run::take_far(
  const coordinator::claim_place& place, const coordinator::claim_event& event) {
  const auto is_current =
    place.attachment != 0 && place.attachment == ways_.attachment(place.shard) && !finished_;
  if (is_current)
    return std::visit(
      [this, shard = place.shard](const auto& what) { take_far(shard, what); }, event);
  if (const auto* late = std::get_if<coordinator::claim_tasks>(&event))
    take_late(place, *late);
}

void claim_run::take_late(
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

void claim_run::take_far(shard_id shard, const coordinator::credit_news& news) {
  if (value(news.by) < shard_count())
    return use(news);
  port_.note_left(
    shard,
    "news of shard " + std::to_string(value(news.by)) + " of " + std::to_string(shard_count())
      + " shards");
  lose(shard);
}

void claim_run::take_far(shard_id shard, const coordinator::claim_tasks& tasks) {
  auto read = read_batch(tasks.batch);
  if (!read || read->empty())
    // Without a confirmation the proxy gives them back.
    return lose(shard);
  const auto number = ++received_[value(shard)];
  tell(shard, ways_.attachment(shard), coordinator::claim_received{number});
  const auto count = static_cast<std::uint32_t>(read->size());
  const int priority = read->back().priority;
  add(shard, {std::move(*read), count, tasks.room, tasks.more, tasks.was_read, priority});
}

void claim_run::take_far(shard_id shard, const coordinator::claim_answer& answer) {
  take_answer(shard, answer);
}

void claim_run::take_far(shard_id shard, const coordinator::claim_left& left) {
  if (left.reason.code == errc::not_owner) {
    // The proxy ends by itself, when no more tasks can come.
    const auto change = ways_.set_far(shard, false);
    left_[value(shard)] = change.attachment;
    return follow(shard, change);
  }
  port_.note_refused("the coordinator of shard " + std::to_string(value(shard)), left.reason);
  refusal_ = left.reason;
  end();
  lose(shard);
}

std::optional<std::vector<task>> claim_run::read_batch(const bytes& batch) {
  auto tasks = read_claimed_tasks(batch);
  if (tasks)
    return std::move(*tasks);
  port_.note_unread("its tasks", tasks.error());
  return std::nullopt;
}

void claim_run::give_back(const std::vector<task>& tasks) {
  if (!tasks.empty())
    port_.give_back(tasks);
}

result<std::vector<task>> read_claimed_tasks(const bytes& batch) {
  auto frame = protocol::task_batch::parse(batch);
  auto delivery = frame ? worker::read_task_batch(*frame) : frame.error();
  if (!delivery)
    return delivery.error();
  return std::move(delivery->tasks);
}

} // namespace codeq::http
