// SPDX-License-Identifier: Apache-2.0
#include "http/desk/record_walk.hpp"

#include "core/commands/routing.hpp"
#include "http/server/gateway_limits.hpp"
#include "observe/log.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace codeq::http {

namespace {

duration pause_after(std::uint32_t failures) {
  constexpr std::uint32_t doublings_max = 20;
  return std::min(
    limits::record_read_pause_min * (1 << std::min(failures - 1, doublings_max)),
    limits::record_read_pause_max);
}

} // namespace

void record_walk::start(shard_desk& desk, std::string tenant, std::string what, events then) {
  desk_ = &desk;
  tenant_ = std::move(tenant);
  what_ = std::move(what);
  then_ = std::move(then);
  shards_.resize(desk.shard_count());
  desk.follow_shards([this](shard_id shard, bool is_here) {
    if (is_here)
      return came(shard);
    auto& state = shards_[value(shard)];
    state = {state.visit + 1};
    then_.left(shard);
  });
  desk.follow_losses([this] {
    ++losses_;
    for (auto& shard : shards_)
      shard.seen = then_.are_reopened ? 0 : shard.seen;
    walk_later();
  });
}

shard_id record_walk::shard_of(const std::string& queue, const std::string& key) const {
  return core::shard_of_name({tenant_, queue}, key, desk_->shard_count());
}

void record_walk::came(shard_id shard) {
  auto& state = shards_[value(shard)];
  state = {state.visit + 1};
  walk(shard);
  // Records that were on their way to where the shard was before come here now.
  if (desk_->is_in_cluster())
    walk_later();
}

void record_walk::walk_later() {
  if (stopped_ || std::exchange(will_walk_, true))
    return;
  desk_->after(limits::record_walk_pause, [this] {
    will_walk_ = false;
    for (std::uint16_t i = 0; i < shards_.size() && !stopped_; ++i)
      if (shards_[i].is_read && shards_[i].failures == 0)
        walk(shard_id{i});
  });
}

void record_walk::walk(shard_id shard) {
  const auto& state = shards_[value(shard)];
  const bool is_first = !state.is_read && state.failures == 0;
  reading_ += is_first ? 1 : 0;
  auto of = std::make_shared<progress>(progress{0, losses_});
  auto take_part =
    [this, shard, is_first, of, visit = state.visit](const result<client::list_part>& part) {
      const auto is_past = is_over(shard, visit);
      const auto goes_on = part && !is_past && take(shard, *part, *of);
      reading_ -= is_first && !goes_on ? 1 : 0;
      if (!part && !is_past)
        walk_again(shard, part.error());
      return goes_on;
    };
  desk_->walk_ready(tenant_, value(shard), std::move(take_part));
}

bool record_walk::take(shard_id shard, const client::list_part& part, progress& of) {
  auto& state = shards_[value(shard)];
  bool has_all = !part.more;
  for (auto found : part.tasks) {
    // The answer of a shard does not name it.
    found.id.shard = shard;
    has_all = has_all || found.id.seq <= state.seen;
    if (found.id.seq <= state.seen)
      break;
    of.newest = std::max(of.newest, found.id.seq);
    then_.found(found);
  }
  if (has_all) {
    state.is_read = true;
    state.failures = 0;
    // After a loss the next walk looks at all that this one has passed.
    const auto is_whole = !then_.are_reopened || of.losses == losses_;
    state.seen = is_whole ? std::max(state.seen, of.newest) : state.seen;
  }
  return !has_all;
}

void record_walk::walk_again(shard_id shard, const error& why) {
  // A coordinator whose start fails has an error of its own to report.
  if (why.code == errc::going_away)
    return;
  auto& state = shards_[value(shard)];
  auto pause = pause_after(++state.failures);
  CODEQ_LOG_WARN(
    "gateway cannot read {} yet shard={} retry_ms={} reason=\"{}\"",
    what_,
    value(shard),
    pause.count(),
    to_string(why));
  desk_->after(pause, [this, shard, visit = state.visit] {
    if (!is_over(shard, visit))
      walk(shard);
  });
}

void record_walk::read(task_id record, shard_desk::then<task_detail> done) {
  read_text(record, 0, std::move(done));
}

void record_walk::read_text(
  task_id record, std::uint32_t failures, shard_desk::then<task_detail> done) {
  const bool is_first = failures == 0;
  reading_ += is_first ? 1 : 0;
  auto visit = shards_[value(record.shard)].visit;
  auto take_text = [this, record, failures, visit, is_first, done = std::move(done)](
                     result<task_detail>&& found) {
    reading_ -= is_first ? 1 : 0;
    if (is_over(record.shard, visit))
      return;
    const auto will_pass = !found && is_retryable(found.error().code);
    if (!will_pass)
      return done(std::move(found));
    auto pause = pause_after(failures + 1);
    if (is_first)
      CODEQ_LOG_WARN(
        "gateway cannot read one of the {} yet record={} retry_ms={} reason=\"{}\"",
        what_,
        to_string(record),
        pause.count(),
        to_string(found.error()));
    desk_->after(pause, [this, record, failures, visit, done] {
      if (!is_over(record.shard, visit))
        read_text(record, failures + 1, done);
    });
  };
  desk_->describe_with_body(shard_desk::own_reads, {record, {}}, std::move(take_text));
}

} // namespace codeq::http
