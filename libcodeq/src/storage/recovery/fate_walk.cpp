// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/fate_walk.hpp"

#include "core/turn/task_selection.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/record_codec.hpp"
#include "storage/records/retention_codec.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::storage {

namespace {

using found_pair = std::optional<std::pair<std::string, std::string>>;

/// A fate of that many tasks counts as one more read.
constexpr std::size_t tasks_per_read = 256;

result<found_pair> read_first(const task_store& store, const key_range& range) {
  found_pair found;
  auto take = [&](std::string_view key, std::string_view value) {
    found.emplace(key, value);
    return false;
  };
  if (auto ok = store.scan(range.begin, range.end, take); !ok)
    return ok.error();
  return found;
}

bool contains(const core::segment_fate& fate, sequence seq) {
  return seq >= fate.first && seq - fate.first < fate.entries.size();
}

} // namespace

fate_walk::fate_walk(kind of, const range& over)
  : kind_(of),
    range_(over),
    at_(over.is_down ? over.last : over.first),
    is_over_(over.first > over.last) {
}

bool fate_walk::is_ready() const noexcept {
  return !is_over_ && fate_ && contains(*fate_, at_);
}

void fate_walk::move_to(sequence seq) {
  at_ = seq;
  is_over_ = seq < range_.first || seq > range_.last;
}

void fate_walk::next() {
  if (range_.is_down && at_ == 0)
    is_over_ = true;
  else
    move_to(range_.is_down ? at_ - 1 : at_ + 1);
}

void fate_walk::leave_fate() {
  auto first = fate_->first;
  auto end = first + fate_->entries.size();
  fate_.reset();
  if (range_.is_down && first == 0)
    is_over_ = true;
  else
    move_to(range_.is_down ? first - 1 : end);
}

result<void> fate_walk::load(const task_store& store, read_budget& budget) {
  bool is_copied = kind_ == kind::copied_tasks;
  // The first task may be in the middle of a segment.
  bool is_behind = range_.is_down || (!is_started_ && !is_copied);
  is_started_ = true;
  ++budget.used;
  result<found_pair> found = found_pair{};
  if (is_behind) {
    auto up_to =
      is_copied ? copied_fates_up_to(range_.shard, at_) : fates_up_to(range_.shard, at_);
    found = store.read_last(up_to.begin, up_to.end);
  } else {
    auto from = is_copied ? copied_fates_of(range_.shard, at_) : fates_of(range_.shard, at_);
    found = read_first(store, from);
  }
  if (!found)
    return found.error();
  fate_.reset();
  if (!*found) {
    is_over_ = is_over_ || range_.is_down || !is_behind;
    return {};
  }
  auto number = is_copied ? copied_fate_key::decode((*found)->first)->number
                          : fate_key::decode((*found)->first)->number;
  auto fate = decode_fate((*found)->second, number);
  if (!fate)
    return fate.error();
  budget.used += fate->entries.size() / tasks_per_read;
  fate_ = std::move(*fate);
  auto last = number + std::max<std::size_t>(fate_->entries.size(), 1) - 1;
  if (range_.is_down)
    move_to(std::min(at_, last));
  else if (last < at_)
    fate_.reset();
  else
    move_to(std::max(at_, number));
  return {};
}

void fate_walk::skip_unless(const task_filter& filter, timestamp now) {
  // Tasks were enqueued in the order of their sequences.
  const auto& window = filter.enqueued;
  auto at = fate_->enqueued_at;
  if (range_.is_down ? at < window.since : window.until != timestamp{} && at >= window.until) {
    is_over_ = true;
    return;
  }
  bool is_past = record_lifetime{0, fate_->closed_at, fate_->retention}.is_past(now);
  if (is_past || !core::may_match(filter, fate_->queue, at, fate_->group, fate_->key))
    leave_fate();
}

result<void> fate_walk::advance(
  const task_store& store, const task_filter& filter, timestamp now, read_budget& budget) {
  if (is_over_ || is_ready())
    return {};
  if (auto ok = load(store, budget); !ok)
    return ok;
  if (is_ready())
    skip_unless(filter, now);
  return {};
}

} // namespace codeq::storage
