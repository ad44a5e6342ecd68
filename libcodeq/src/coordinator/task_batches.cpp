// SPDX-License-Identifier: Apache-2.0
#include "coordinator/task_batches.hpp"

#include "codeq/limits.hpp"

#include "protocol/reply.hpp"

#include <utility>

namespace codeq::coordinator {

namespace {

/// What a run costs in a frame beside its tasks: its fields and the names of its queue.
constexpr std::size_t run_overhead_bytes = 512;

/// What a task costs beside its body: its end, and its attempt.
constexpr std::size_t task_overhead_bytes = 8;

} // namespace

task_batches::task_batches(shard_id shard, bool redelivered, sink send)
  : shard_(shard), send_(std::move(send)) {
  open_.redelivered = redelivered;
}

void task_batches::add(core::granted_run run, core::encoded_tasks bodies) {
  std::size_t handed_on = 0;
  for (const auto& checkpoint : run.checkpoints)
    handed_on += checkpoint.data.size();
  auto size = bodies.body.size() + handed_on + run.count * task_overhead_bytes + run_overhead_bytes;
  if (bytes_ + size > limits::grant_bytes_max)
    send();
  bytes_ += size;
  count_ += run.count;
  open_.runs.push_back(std::move(run));
  bodies_.push_back(std::move(bodies));
}

void task_batches::send() {
  if (open_.runs.empty())
    return;
  auto frame = protocol::make_task_batch(shard_, open_, bodies_).to_wire();
  open_.runs.clear();
  bodies_.clear();
  bytes_ = 0;
  auto count = std::exchange(count_, 0);
  send_({shard_, count, open_.redelivered, std::nullopt, std::move(frame)});
}

} // namespace codeq::coordinator
