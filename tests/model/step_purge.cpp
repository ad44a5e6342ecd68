// SPDX-License-Identifier: Apache-2.0
#include "model/dice.hpp"
#include "model/step.hpp"

/// Steps of operators that force, purge or change many tasks.
namespace codeq::model {

namespace {

constexpr core::peer_id operator_peer = 1;

} // namespace

core::force step_maker::random_force(dice& d, const reference_shard& reference) {
  core::force c{operator_peer, d.below(100), 0, static_cast<force_kind>(d.below(3)), {}};
  auto leases = reference.live_leases();
  bool any = leases.empty() || d.one_in(2);
  c.seq = any ? random_task(d, reference) : d.pick(leases).seq;
  c.text = bytes("forced " + std::to_string(d.below(1000)));
  return c;
}

core::change_many step_maker::random_change_many(dice& d, const reference_shard& reference) {
  core::change_many c{operator_peer, d.below(100), {}, {}};
  c.what = static_cast<core::bulk_kind>(d.below(7));
  c.part.filter.tenant = d.one_in(8) ? "nobody" : "default";
  if (!d.one_in(4))
    c.part.filter.queue = "q" + std::to_string(d.below(3));
  if (d.one_in(4))
    c.part.filter.state = static_cast<task_state>(d.below(7));
  if (d.one_in(4))
    c.part.below = random_task(d, reference);
  // A purge of all states starts at the beginning unless it continues an earlier part.
  bool may_skip = c.what != core::bulk_kind::purge_all || c.part.filter.state;
  if (may_skip && d.one_in(3))
    c.part.after = random_task(d, reference);
  c.part.limit = 1 + d.below(d.one_in(2) ? 3 : 30);
  if (core::is_of_list(c.what))
    add_listed(d, reference, c);
  return c;
}

void step_maker::add_listed(
  dice& d, const reference_shard& reference, core::change_many& c) {
  c.part.after = c.part.below = 0;
  c.part.filter.state.reset();
  for (const auto& [seq, task] : reference.tasks) {
    bool is_listed = d.one_in(task.state == task_state::dead ? 2 : 16);
    // A task may have had another lease since it was listed.
    if (is_listed && c.tasks.size() < 30)
      c.tasks.push_back({seq, d.one_in(8) ? fencing_token{1} : task.token});
  }
}

} // namespace codeq::model
