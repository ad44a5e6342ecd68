// SPDX-License-Identifier: Apache-2.0
#include "http/desk/record_wishes.hpp"

#include "base/random.hpp"
#include "http/desk/wish_records.hpp"
#include "http/server/gateway_limits.hpp"

#include <utility>

namespace codeq::http {

void record_wishes::start(
  shard_desk& desk, std::string tenant, std::string what, grant_function grant) {
  desk_ = &desk;
  tenant_ = std::move(tenant);
  what_ = std::move(what);
  grant_ = std::move(grant);
  if (desk.is_in_cluster())
    look_later();
}

enqueue_ticket record_wishes::send(
  const std::string& by,
  std::string_view id,
  std::string text,
  shard_id shard,
  shard_desk::then<std::string> done) {
  auto name = std::string(id) + "." + std::to_string(base::random_bits());
  auto task = wish_task({tenant_, by}, name, std::move(text), shard, desk_->shard_count());
  auto added = [this, done = std::move(done)](const result<enqueued_task>& wish) {
    if (wish)
      await(wish->id, done);
    else
      done(wish.error());
  };
  return desk_->enqueue(by, task, std::move(added));
}

void record_wishes::await(task_id wish, shard_desk::then<std::string> done) {
  auto ended = [this, wish, done = std::move(done)](const result<ended_task>& how) {
    if (how)
      return done(read_wish_answer(how->result));
    // It should not take effect long after its user has given up.
    desk_->ask<change_outcome>(
      value(wish.shard), client::ask_change({wish, {}}, task_change::cancel),
      &client::read_change, [](const result<change_outcome>&) {});
    done(error{
      errc::timeout,
      "the coordinator that has the " + what_
        + " has not answered in time; whether the change took effect is unknown"});
  };
  desk_->watch(wish, limits::record_wish_wait, std::move(ended));
}

void record_wishes::look_later() {
  desk_->after(limits::record_wish_pause, [this] {
    if (stopped_)
      return;
    look();
    look_later();
  });
}

void record_wishes::look() {
  for (auto shard : desk_->own_shards_of(tenant_))
    desk_->walk_ready(tenant_, value(shard), [this, shard](const result<client::list_part>& part) {
      for (const auto& found : part ? part->tasks : std::vector<task_summary>())
        read({shard, found.id.seq});
      return true;
    });
}

void record_wishes::read(task_id wish) {
  if (!open_.insert(wish).second)
    return;
  auto take = [this, wish](const result<task_detail>& found) {
    // The next coordinator of a shard that has left finds its wishes, too.
    if (stopped_ || !found || !desk_->is_here(value(wish.shard)))
      return static_cast<void>(open_.erase(wish));
    grant(wish, found->payload.value_or(""));
  };
  desk_->describe_with_body(shard_desk::own_reads, {wish, {}}, std::move(take));
}

void record_wishes::grant(task_id wish, const std::string& text) {
  auto done = [this, wish](const result<std::string>& outcome) {
    desk_->ask<change_outcome>(
      value(wish.shard),
      client::ask_force(wish, force_kind::complete, to_wish_answer(outcome)),
      &client::read_change,
      shard_desk::then<change_outcome>(
        [this, wish](const result<change_outcome>&) { open_.erase(wish); }));
  };
  auto at = time_of_wish(text);
  if (!at)
    return done(at.error());
  // Its user has been told that it has failed.
  if (desk_->now() - *at > limits::record_wish_wait)
    return done(error{errc::timeout, "the wish is too old"});
  grant_(text, std::move(done));
}

} // namespace codeq::http
