// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "sim/audit/ledger.hpp"

#include <algorithm>

/// Checks of queue settings.
namespace codeq::sim {

void ledger::read(const core::queue_configured& e) {
  book_->settings.insert_or_assign(e.queue, e.settings);
}

void ledger::check_queue(const core::batch_granted& e, const task& t, sequence seq) {
  auto known = book_->settings.find(t.queue);
  auto settings = known == book_->settings.end() ? core::queue_settings{} : known->second;
  if (settings.paused)
    breach("pause", seq, "was leased while its queue was paused");
  auto wanted = t.settings.lease == duration{0} ? settings.config.defaults.lease : t.settings.lease;
  // No claim in the simulation requests a lease of its own.
  if (e.lease != std::clamp(wanted, limits::lease_min, limits::lease_max))
    breach("queue", seq, "has another lease than it or its queue asks for");
  if (settings.config.max_leased == 0)
    return;
  auto is_leased = [&](const auto& of) {
    return of.second.state == task_state::leased && of.second.queue == t.queue;
  };
  auto leased = std::count_if(book_->tasks.begin(), book_->tasks.end(), is_leased);
  if (static_cast<std::uint64_t>(leased) >= settings.config.max_leased)
    breach("queue", seq, "was leased beyond max_leased");
}

void ledger::check_depths() {
  std::set<queue_address> grown;
  for (const auto& [payload, seq] : turn_.added) {
    if (turn_.items.contains(payload))
      grown.insert(book_->tasks.at(seq).queue);
  }
  for (const auto& queue : grown) {
    auto settings = book_->settings.find(queue);
    bool is_limited = settings != book_->settings.end() && settings->second.config.max_depth > 0;
    // Redriven tasks are not subject to the depth limit.
    if (!is_limited || turn_.has_redriven || turn_.configured.contains(queue))
      continue;
    auto is_live = [&](const auto& of) {
      return !is_terminal(of.second.state) && of.second.queue == queue;
    };
    auto live = std::count_if(book_->tasks.begin(), book_->tasks.end(), is_live);
    if (static_cast<std::uint64_t>(live) > settings->second.config.max_depth)
      breach("queue", 0, "or none: queue " + queue.queue + " is deeper than its max_depth");
  }
}

} // namespace codeq::sim
