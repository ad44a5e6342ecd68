// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/turn_runner.hpp"

#include "base/tuning.hpp"
#include "core/state/producer_sessions.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace codeq::coordinator {

namespace {

/// Calls `fn` with each claim of another coordinator and the number of tasks that it is granted.
template <class F>
void for_each_far_grant(const std::vector<core::effect>& effects, F&& fn) {
  for (const auto& effect : effects) {
    const auto* granted = std::get_if<core::tasks_granted>(&effect);
    if (!granted || granted->peer < claim_peers_first)
      continue;
    for (const auto& run : granted->runs)
      fn(granted->peer, run.count);
  }
}

} // namespace

turn_runner::turn_runner(core::shard_state& state, monotonic_time now, const turn_limits& limits)
  : state_(state), limits_(limits), last_snapshot_(now) {
}

bool turn_runner::decide(const core::command& command, const instant& now) {
  bool is_first = !turn_;
  if (is_first)
    turn_ = std::make_unique<core::turn>(state_);
  turn_->decide(command, now);
  return is_first;
}

bool turn_runner::is_full() const {
  if (!turn_)
    return false;
  bool has_many = turn_->commands() >= limits_.commands_max;
  return has_many || turn_->body_bytes() >= limits_.bytes_max;
}

monotonic_time turn_runner::next_snapshot() const {
  // Twice the weight that the last snapshot may have left unpacked.
  bool is_unpacked = state_.segments.weight() >= 2 * tuning::unpacked_weight_kept;
  bool has_much = is_unpacked || written_bytes_ >= tuning::snapshot_log_bytes;
  return last_snapshot_ + (has_much ? tuning::snapshot_interval_min : limits_.snapshot_interval);
}

bool turn_runner::is_snapshot_due(monotonic_time now) const {
  auto records = state_.records_since_snapshot;
  bool is_late = now >= next_snapshot();
  bool is_much = records >= limits_.snapshot_records || state_.segments.is_heavy()
                 || core::has_many_sessions(state_);
  return is_much || (records > 0 && is_late);
}

std::vector<core::event> turn_runner::close(const instant& now) {
  if (is_snapshot_due(now.steady)) {
    turn_->decide(core::take_snapshot{}, now);
    last_snapshot_ = now.steady;
    written_bytes_ = 0;
  }
  if (is_stalled(now.steady))
    state_.limits.keys().put_off_starts(std::max(state_.at, now.shard) + stalled_look);
  auto sealed = turn_->seal(now);
  turn_.reset();
  must_sync_ = sealed.must_sync;
  if (submitted_ == committed_)
    waiting_since_ = now.steady;
  submitted_ += sealed.events.empty() ? 0 : 1;
  for_each_far_grant(sealed.effects, [this](core::peer_id peer, std::uint32_t tasks) {
    granted_[peer] += tasks;
  });
  held_.push_back({submitted_, std::move(sealed.effects), std::exchange(shares_, {})});
  return std::move(sealed.events);
}

bool turn_runner::is_stalled(monotonic_time now) const {
  return submitted_ > committed_ && now - waiting_since_ > stalled_min;
}

void turn_runner::committed(std::uint64_t number, monotonic_time now) {
  committed_ = std::max(committed_, number);
  waiting_since_ = now;
}

std::optional<std::vector<core::effect>> turn_runner::release() {
  if (held_.empty() || held_.front().commit > committed_)
    return std::nullopt;
  auto effects = std::move(held_.front().effects);
  held_.pop_front();
  for_each_far_grant(effects, [this](core::peer_id peer, std::uint32_t tasks) {
    const auto at = granted_.find(peer);
    at->second -= tasks;
    if (at->second == 0)
      granted_.erase(at);
  });
  return effects;
}

std::uint32_t turn_runner::granted_to(core::peer_id peer) const {
  const auto at = granted_.find(peer);
  return at == granted_.end() ? 0 : at->second;
}

std::optional<turn_runner::wakeup>
turn_runner::arm(const instant& now, const std::optional<monotonic_time>& timers) {
  auto next = timers;
  auto sooner = [&](monotonic_time at) { next = next ? std::min(*next, at) : at; };
  if (auto wait = core::next_wakeup(state_, now))
    sooner(now.steady + *wait);
  if (state_.records_since_snapshot > 0)
    sooner(next_snapshot());
  if (!next || (armed_ && *armed_ <= *next))
    return std::nullopt;
  armed_ = next;
  return wakeup{std::max(duration{1}, *next - now.steady), ++armed_number_};
}

bool turn_runner::wake(std::uint64_t number) {
  if (number != armed_number_)
    return false;
  armed_.reset();
  return true;
}

} // namespace codeq::coordinator
