// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/shard.hpp"

#include "core/state/task_limits.hpp"

#include <algorithm>
#include <utility>
#include <variant>

/// The words of shards to each other: follow-ups, the ends of schedules' tasks, and permits.
namespace codeq::coordinator {

namespace {

hand_overs::tenant_bytes bytes_by_tenant(const std::vector<core::enqueue_run>& runs) {
  hand_overs::tenant_bytes bytes;
  for (const auto& run : runs)
    bytes[run.queue.tenant] += run.tasks.body.size();
  return bytes;
}

} // namespace

void shard::carry_out(core::deliver_follow_ups& e, const instant&) {
  if (hand_overs_)
    return hand_overs_->add(e.to, e.number, bytes_by_tenant(e.runs));
  port_.to_shard(
    e.to, core::take_follow_ups{state_->id, e.number, e.answered_below, std::move(e.runs)});
}

void shard::carry_out(core::follow_ups_taken& e, const instant&) {
  if (confirmations_)
    return confirmations_->add(std::move(e), turns_.committed());
  port_.to_shard(e.from, core::confirm_follow_ups{state_->id, e.number, std::move(e.tasks)});
}

void shard::confirm_synced() {
  if (!confirmations_)
    return;
  for (auto& taken : confirmations_->take(turns_.committed()))
    port_.to_shard(
      taken.from, core::confirm_follow_ups{state_->id, taken.number, std::move(taken.tasks)});
}

void shard::carry_out(core::shard_told& e, const instant& now) {
  const auto* unwanted = std::get_if<core::cancel>(&e.what);
  if (hand_overs_ && unwanted)
    ends_.cancelled(e.to, unwanted->seq, now.steady);
  if (hand_overs_ && std::holds_alternative<core::watch_ends>(e.what))
    ends_.asked(now.steady);
  std::visit([&](auto& what) { port_.to_shard(e.to, std::move(what)); }, e.what);
}

bool shard::is_held(const core::command& command, const instant& now) const {
  const auto is_hand_over = std::holds_alternative<core::take_follow_ups>(command)
                            || std::holds_alternative<core::confirm_follow_ups>(command);
  return is_hand_over && hold_ && hold_->lasts(now.steady);
}

void shard::note_neighbour(const core::command& command, const instant& now) {
  if (std::holds_alternative<core::take_follow_ups>(command))
    confirmations_->note_taken();
  if (const auto* adopted = std::get_if<core::settings_adopted>(&command); adopted && settings_)
    settings_->confirmed(adopted->by, adopted->version);
  if (const auto* confirmed = std::get_if<core::confirm_follow_ups>(&command)) {
    hand_overs_->confirmed(confirmed->by, confirmed->number, now.steady);
    unwritten_.push_back({turns_.submitted() + 1, confirmed->by, confirmed->number});
  }
}

std::uint64_t shard::answered_below(shard_id to) const {
  auto lowest = state_->outgoing.at(to).begin()->first;
  for (const auto& confirmed : unwritten_)
    if (confirmed.by == to)
      lowest = std::min(lowest, confirmed.number);
  return lowest;
}

std::optional<shard_id> shard::full_neighbour(const core::lease_report& report) const {
  if (hand_overs_)
    for (const auto& task : report.follow_ups)
      if (hand_overs_->is_full(task.shard, task.run.queue.tenant))
        return task.shard;
  return std::nullopt;
}

error shard::full_way(shard_id to) const {
  const auto most = std::to_string(hand_overs_->limits().waiting_bytes);
  return {
    errc::overloaded,
    "shard " + std::to_string(value(to))
      + " cannot take the follow-ups at present, and as many bytes of the tenant wait for it as are"
        " allowed; they have to wait; all tenants share hand_over_bytes_max="
      + most};
}

void shard::hand_over(const instant& now) {
  const auto all_written = !turns_.has_turn() && turns_.committed() == turns_.submitted();
  std::erase_if(unwritten_, [&](const unwritten_confirmation& confirmed) {
    return all_written || confirmed.turn <= turns_.committed();
  });
  while (auto next = hand_overs_ ? hand_overs_->next(now.steady) : std::nullopt) {
    const auto records = state_->outgoing.find(next->to);
    const auto is_open =
      records != state_->outgoing.end() && records->second.contains(next->number);
    if (!is_open) {
      // Confirmed to an earlier process, after this one had read it.
      hand_overs_->confirmed(next->to, next->number, now.steady);
      continue;
    }
    port_.to_shard(
      next->to,
      core::take_follow_ups{
        state_->id,
        next->number,
        answered_below(next->to),
        records->second.at(next->number)});
  }
}

void shard::carry_settings(const instant& now) {
  if (!settings_)
    return;
  settings_->changed(settings_version());
  while (auto to = settings_->next(now.steady))
    for (auto& part : all_settings())
      port_.to_shard(*to, std::move(part));
}

std::uint64_t shard::settings_version() const {
  // Grows over processes, too.
  return std::uint64_t{state_->epoch} << 32 | state_->settings_version;
}

std::vector<core::adopt_settings> shard::all_settings() const {
  const core::adopt_settings first{state_->id, settings_version(), {}, {}, 0, false};
  std::vector parts{first};
  auto open_part = [&]() -> core::adopt_settings& {
    const auto& latest = parts.back();
    if (latest.queues.size() + latest.limits.size() == core::carried_part_max) {
      const auto number = latest.part + 1;
      parts.push_back(first);
      parts.back().part = number;
    }
    return parts.back();
  };
  for (const auto& [arrival, index] : state_->queues_by_arrival)
    if (const auto& queue = *state_->queues[index]; queue.settings != core::queue_settings{})
      open_part().queues.push_back({queue.address, queue.settings, queue.resumed_at});
  state_->limits.for_each([&](const limit_address& limit, const limit_definition& definition) {
    open_part().limits.push_back({limit, definition});
  });
  parts.back().is_last = true;
  return parts;
}

void shard::ask_ends(const instant& now) {
  if (!ends_.is_due(now.steady))
    return;
  for (auto& asked : ends_.take(state_->schedules.tasks_elsewhere(state_->id), now.steady)) {
    port_.to_shard(asked.to, core::watch_ends{state_->id, std::move(asked.tasks)});
    for (auto seq : asked.cancels)
      port_.to_shard(asked.to, core::cancel{0, 0, seq});
  }
}

void shard::neighbours_moved(const std::vector<shard_id>& shards, const instant& now) {
  if (!hand_overs_)
    return;
  for (auto shard : shards) {
    hand_overs_->moved(shard, now.steady);
    core::note_moved(*state_, shard);
  }
  decide(core::tick{}, now);
  ends_.moved(now.steady);
  if (settings_)
    for (auto shard : shards)
      settings_->moved(shard);
  hand_over(now);
  carry_settings(now);
  arm(now);
}

} // namespace codeq::coordinator
