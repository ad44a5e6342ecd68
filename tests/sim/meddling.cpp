// SPDX-License-Identifier: Apache-2.0
#include "sim/meddling.hpp"

#include "sim/workload.hpp"

#include <array>

namespace codeq::sim {

namespace {

queue_address own(const std::string& queue) {
  return {"default", queue};
}

queue_config some_config(chance& random) {
  queue_config config;
  config.defaults.max_attempts = static_cast<std::uint32_t>(random.between(1, 5));
  config.defaults.retry =
    retry_policy{retry_kind::fixed, duration{random.between(50, 500)}, duration{500}};
  config.defaults.lease = duration{random.between(1'000, 4'000)};
  if (random.hits(600))
    config.max_leased = static_cast<std::uint64_t>(random.between(1, 3));
  if (random.hits(400))
    config.max_depth = static_cast<std::uint64_t>(random.between(1, 6));
  if (random.hits(300))
    config.quarantine_after = static_cast<std::uint32_t>(random.between(1, 3));
  return config;
}

} // namespace

void meddling::meddle() {
  auto which = world_.random.workload.below(100);
  if (which < 50)
    change_task();
  else if (which < 65)
    change_by_key();
  else if (which < 77)
    force_task();
  else if (which < 89)
    change_queue();
  else if (which < 91)
    operator_.count();
  else if (which < 94)
    operator_.list();
  else if (which < 95)
    operator_.misbehave();
  else
    operator_.purge(
      world_.random.workload.hits(800) ? own(purged_queue) : queue_address{other_tenant, ""});
}

void meddling::change_task() {
  constexpr std::array changes = {
    task_change::cancel, task_change::promote, task_change::promote, task_change::redrive};
  auto what = changes[world_.random.workload.below(changes.size())];
  auto candidates = auditor_.candidates(what);
  // Sometimes any task, in whatever state.
  if (candidates.empty() || world_.random.workload.hits(100))
    candidates = auditor_.known_tasks();
  if (!candidates.empty())
    operator_.ask(candidates[world_.random.workload.below(candidates.size())], what);
}

void meddling::change_by_key() {
  task_key key;
  key.queue.queue = keyed_queue;
  key.group = some_group_of_key(world_.random.workload);
  key.key = some_key(world_.random.workload);
  operator_.ask(key, world_.random.workload.hits(300) ? task_change::cancel : task_change::promote);
}

void meddling::force_task() {
  auto candidates = auditor_.candidates(task_change::cancel);
  if (!candidates.empty())
    operator_.force(
      candidates[world_.random.workload.below(candidates.size())],
      static_cast<force_kind>(world_.random.workload.below(3)));
}

void meddling::change_queue() {
  const auto& queue = world_.random.workload.hits(300) ? keyed_queue : managed_queue;
  auto which = world_.random.workload.below(100);
  if (which < 40)
    operator_.pause(own(queue), true);
  else if (which < 70)
    operator_.pause(own(queue), false);
  else
    operator_.configure(own(managed_queue), some_settings());
}

queue_config meddling::some_settings() {
  auto& random = world_.random.workload;
  auto config = some_config(random);
  // Its tasks are on all shards, which need permits of the one that owns the key.
  if (world_.options.has_limits && random.hits(500))
    config.limits = {{random.hits(500) ? "one" : "slow", "managed"}};
  if (config.defaults.max_attempts % 2 == 0)
    config.fairness_header = fairness_header;
  return config;
}

void meddling::relent() {
  for (const auto& queue : {keyed_queue, managed_queue})
    operator_.pause(own(queue), false);
  operator_.purge({other_tenant, ""});
}

} // namespace codeq::sim
