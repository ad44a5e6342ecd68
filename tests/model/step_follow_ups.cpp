// SPDX-License-Identifier: Apache-2.0
#include "model/step.hpp"

#include <algorithm>
#include <utility>

/// Steps about follow-ups that shards send to each other.
namespace codeq::model {

std::vector<core::follow_up> step_maker::random_follow_ups(dice& d, const instant& now) {
  std::vector<core::follow_up> made;
  for (auto n = 1 + d.below(3); n > 0; --n) {
    auto shard = d.one_in(2) ? 0u : 1 + d.below(2);
    made.push_back(
      {static_cast<shard_id>(shard), d.one_in(3) ? keyed_run(d, now) : random_run(d, now)});
    if (shard == 0)
      continue;
    // Fields that only the other shard interprets.
    auto& run = made.back().run;
    run.key = std::string(d.below(4), 'k');
    run.duplicate = static_cast<on_duplicate>(d.below(5));
    run.replace_payload = d.one_in(2);
    run.left_to_queue = static_cast<std::uint16_t>(d.below(128));
  }
  return made;
}

core::confirm_follow_ups
step_maker::random_confirmation(dice& d, const reference_shard& reference) {
  std::vector<core::confirm_follow_ups> said{{shard_id{1}, 1 + d.below(100)}};
  for (const auto& delivery : reference.outgoing)
    if (delivery.said)
      said.push_back({delivery.to, delivery.number});
  return d.pick(said);
}

core::take_follow_ups
step_maker::follow_ups_of_others(dice& d, const reference_shard& reference, const instant& now) {
  auto from = static_cast<shard_id>(1 + d.below(2));
  auto& earlier = handed_out_[from];
  auto number = earlier.empty() ? 1 : earlier.rbegin()->first + 1 + d.below(3);
  core::take_follow_ups c{from, number, number, {}};
  if (!earlier.empty() && d.one_in(2)) {
    auto at = earlier.begin();
    std::advance(at, d.below(earlier.size()));
    c = at->second;
  } else {
    for (auto n = 1 + d.below(2); n > 0; --n)
      c.runs.push_back(d.one_in(3) ? keyed_run(d, now) : random_run(d, now));
    earlier.emplace(number, c);
  }
  // Every number below `answered_below` was taken. It may lag behind, since the sender may not have
  // received every confirmation.
  auto taken = reference.taken.find(from);
  for (auto at = earlier.rbegin(); at != earlier.rend(); ++at) {
    bool is_taken = taken != reference.taken.end() && taken->second.contains(at->first);
    if (!is_taken || d.one_in(4))
      c.answered_below = std::min(c.answered_below, at->first);
  }
  return c;
}

} // namespace codeq::model
