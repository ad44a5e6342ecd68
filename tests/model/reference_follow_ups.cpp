// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"
#include "model/words.hpp"

#include <algorithm>
#include <utility>

/// Follow-ups of completions in the reference. Those for other shards stay listed for ever. Two
/// rules together ensure that each reaches its shard exactly once: they are sent until confirmed,
/// always under the same number; and no number is accepted twice.
namespace codeq::model {

namespace {

constexpr shard_id own{};

} // namespace

void reference_shard::add_follow_ups(const core::lease_report& r) {
  for (const auto& task : r.follow_ups) {
    if (task.shard == own) {
      add_tasks({task.run});
      continue;
    }
    // A delivery without a number is one of this turn.
    auto at = std::find_if(outgoing.begin(), outgoing.end(), [&](const auto& d) {
      return d.to == task.shard && d.number == 0;
    });
    if (at == outgoing.end())
      at = outgoing.insert(outgoing.end(), reference_delivery{task.shard});
    at->tasks += say_run(task.run) + '\n';
  }
}

void reference_shard::run(const core::take_follow_ups& c) {
  if (taken[c.from].insert(c.number).second)
    add_tasks(c.runs);
  expected.push_back(say_taken(c.from, c.number));
}

void reference_shard::run(const core::confirm_follow_ups& c) {
  for (auto& d : outgoing)
    if (d.to == c.by && d.number == c.number)
      d.confirmed = d.confirmed_now = true;
}

void reference_shard::hand_out(const std::vector<core::deliver_follow_ups>& deliveries) {
  std::map<shard_id, std::uint64_t> latest;
  for (const auto& d : deliveries) {
    require(d.number > latest[d.to], "follow-ups are handed out in another order than before");
    latest[d.to] = d.number;
    hand_out_one(d);
  }
  for (const auto& d : outgoing)
    require(d.said || d.confirmed, "follow-ups are kept back: " + d.tasks);
  if (!std::exchange(snapshotted_, false))
    return;
  for (auto& d : outgoing)
    d.is_over = std::all_of(outgoing.begin(), outgoing.end(), [&](const auto& other) {
      return other.number != d.number || other.is_over || other.confirmed_now;
    });
}

void reference_shard::hand_out_one(const core::deliver_follow_ups& d) {
  std::string tasks;
  for (const auto& run : d.runs)
    tasks += say_run(run) + '\n';
  auto is_it = [&](std::uint64_t number) {
    return [&d, number](const auto& o) { return o.to == d.to && o.number == number; };
  };
  auto at = std::find_if(outgoing.begin(), outgoing.end(), is_it(d.number));
  if (at == outgoing.end())
    at = std::find_if(outgoing.begin(), outgoing.end(), is_it(0));
  if (at == outgoing.end() || at->tasks != tasks)
    return require(false, "follow-ups that no completion asked for: " + tasks);
  require(!at->said, "follow-ups were handed out twice: " + tasks);
  require(!at->is_over, "follow-ups are handed out that a snapshot dropped: " + tasks);
  at->number = d.number;
  at->said = true;
  for (const auto& other : outgoing)
    require(
      other.to != d.to || other.number == 0 || other.confirmed || d.answered_below <= other.number,
      "follow-ups below " + std::to_string(d.answered_below) + " are not confirmed");
}

} // namespace codeq::model
