// SPDX-License-Identifier: Apache-2.0
// The desk's functions for a cluster, in which operations move with the shards of their records.
#include "http/operations/operation_desk.hpp"
#include "observe/log.hpp"

#include <iterator>
#include <utility>

namespace codeq::http {

void operation_desk::leave(std::uint16_t shard) {
  std::vector<waiter> waiters;
  std::vector<enqueue_ticket> saving;
  for (auto at = all_.begin(); at != all_.end();) {
    const auto& o = at->second.run.operation();
    if (home_of(o.request.tenant, o.id, desk_->shard_count()) != shard) {
      ++at;
      continue;
    }
    CODEQ_LOG_INFO("gateway leaves an operation id={} shard={}", o.id, shard);
    if (!is_over(o.status))
      places_.give_back(o.request.tenant);
    desk_->cancel(at->second.timer);
    saving.push_back(at->second.saving);
    std::move(
      at->second.waiters.begin(), at->second.waiters.end(), std::back_inserter(waiters));
    at = all_.erase(at);
  }
  for (const auto& one : waiters)
    one.done(moved_away());
  // They would be sent again, and replace what the next coordinator stores.
  for (const auto& ticket : saving)
    desk_->give_up(ticket);
}

void operation_desk::look_for_wishes() {
  if (!desk_->is_in_cluster() || stopped_ || std::exchange(will_look_, true))
    return;
  desk_->after(limits::operation_wish_pause, [this] {
    will_look_ = false;
    std::set<std::uint16_t> homes;
    for (const auto& [id, one] : all_)
      if (const auto& o = one.run.operation(); !is_over(o.status))
        homes.insert(home_of(o.request.tenant, id, desk_->shard_count()));
    if (stopped_ || homes.empty())
      return;
    for (auto home : homes)
      desk_->walk_ready(wishes_tenant, home, [this, home](const result<client::list_part>& part) {
        for (const auto& found : part ? part->tasks : std::vector<task_summary>())
          read_wish_of({shard_id{home}, found.id.seq});
        return true;
      });
    look_for_wishes();
  });
}

void operation_desk::read_wish_of(task_id task) {
  if (!wishes_.insert(task).second)
    return;
  auto take = [this, task](const result<task_detail>& found) {
    auto wish = found ? read_wish(found->payload.value_or("")) : found.error();
    if (stopped_ || !found)
      return static_cast<void>(wishes_.erase(task));
    grant(task, wish ? *wish : operation_wish{});
  };
  desk_->describe_with_body(shard_desk::own_reads, {task, {}}, std::move(take));
}

void operation_desk::grant(task_id task, const operation_wish& wish) {
  auto done = [this, task](const result<void>& outcome) {
    desk_->ask<change_outcome>(
      value(task.shard),
      client::ask_force(task, force_kind::complete, to_wish_answer(outcome)),
      &client::read_change,
      shard_desk::then<change_outcome>(
        [this, task](const result<change_outcome>&) { wishes_.erase(task); }));
  };
  // Its user has been told that it has failed.
  if (desk_->now() - wish.at > limits::operation_wish_wait)
    return done(error{errc::timeout, "the wish is too old"});
  alter_own(wish, std::move(done));
}

} // namespace codeq::http
