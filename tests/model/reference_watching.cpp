// SPDX-License-Identifier: Apache-2.0
#include "model/reference_shard.hpp"
#include "model/words.hpp"

/// Volatile state of workers and of peers that await or watch tasks, in the reference.
namespace codeq::model {

void reference_shard::run(const core::change_queues& c) {
  auto at = workers.find(c.peer);
  if (at == workers.end())
    return;
  at->second.queues = {c.queues.begin(), c.queues.end()};
  at->second.prefixes = c.prefixes;
  at->second.without = {c.without.begin(), c.without.end()};
  at->second.told = false;
}

void reference_shard::tell_progress(const std::vector<core::lease_progress>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bool is_last = true;
    for (std::size_t j = i + 1; j < lines.size(); ++j)
      is_last = is_last && lines[j].token != lines[i].token;
    if (is_last)
      tell_progress(lines[i]);
  }
}

void reference_shard::save(reference_task& task, const core::lease_checkpoint& c) {
  bool is_older = task.checkpoint && task.checkpoint->token == c.mark.token
                  && task.checkpoint->number >= c.mark.number;
  if (!is_older)
    task.checkpoint = {c.mark.token, c.mark.number, std::string(c.data.view())};
}

void reference_shard::save_all(const core::heartbeat& c) {
  for (const auto& saved : c.checkpoints) {
    auto* task = leased_task(saved.seq, saved.mark.token);
    if (task) {
      save(*task, saved);
      expected.push_back(say_saved(c.peer, {saved.seq, saved.mark}));
    } else {
      expected.push_back(say_lost(c.peer, {saved.seq, saved.mark.token}));
    }
  }
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
