// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"
#include "model/words.hpp"

/// What is volatile about workers and those who watch tasks in the reference.
namespace codeq::model {

void reference_shard::run(const core::change_queues& c) {
  auto at = workers.find(c.peer);
  if (at == workers.end())
    return;
  at->second.queues = {c.queues.begin(), c.queues.end()};
  at->second.told = false;
}

void reference_shard::tell_progress(const core::lease_progress& p) {
  const auto* task = leased_task(p.seq, p.token);
  if (!task)
    return;
  auto attempt = static_cast<std::uint16_t>(task->attempt);
  for (auto peer : watched[p.seq])
    expected.push_back(say_progress({peer, p.seq, attempt, p.percent, p.note}));
}

} // namespace codeq::model
