// SPDX-License-Identifier: Apache-2.0
#include "core/turn/granted_run.hpp"

namespace codeq::core {

namespace {

/// Sets the attempts of the run's tasks, unless all are at attempt 1.
void note_attempts(granted_run& run, const segment& s) {
  bool all_first = true;
  for (std::uint32_t i = 0; i < run.count; ++i)
    all_first = all_first && s.view(run.first + i).attempt == 1;
  if (all_first)
    return;
  for (std::uint32_t i = 0; i < run.count; ++i)
    run.attempts.push_back(s.view(run.first + i).attempt);
}

void note_checkpoints(granted_run& run, const shard_state& state) {
  const auto& all = state.checkpoints;
  for (auto at = all.lower_bound(run.first); at != all.end() && at->first < run.first + run.count;
       ++at)
    run.checkpoints.push_back({at->first, at->second, {}});
}

} // namespace

granted_run describe_run(
  shard_state& state,
  const segment& s,
  const seq_run& tasks,
  fencing_token first_token,
  duration lease) {
  granted_run run;
  run.first = tasks.first;
  run.count = tasks.count;
  run.first_token = first_token;
  run.segment = s.first;
  run.aside = s.aside;
  run.replaced = s.replaced;
  run.queue = state.queue_of(s).address;
  run.queue_index = s.queue;
  run.priority = s.priority;
  run.lease = lease;
  run.max_attempts = s.settings.max_attempts;
  run.enqueued_at = s.enqueued_at;
  run.group = s.group;
  run.key = s.key ? s.key->name : std::string();
  note_attempts(run, s);
  note_checkpoints(run, state);
  return run;
}

} // namespace codeq::core
