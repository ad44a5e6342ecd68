// SPDX-License-Identifier: Apache-2.0
#include "core/queues/fairness_header.hpp"

#include "codeq/limits.hpp"

namespace codeq::core {

run_fairness::run_fairness(const shard_state& state, const enqueue_run& r)
  : state_(state), run_(r) {
  if (!r.fairness.key.empty() || !state.read_header)
    return;
  if (const auto* queue = state.find_queue(r.queue))
    header_ = queue->settings.config.fairness_header;
}

std::string run_fairness::value_of(std::size_t task) const {
  return state_.read_header(run_.tasks.part(task, 1).body, header_);
}

std::string run_fairness::key_of(std::size_t task) const {
  auto value = value_of(task);
  return value.size() <= limits::fairness_key_bytes_max ? value : std::string();
}

fairness_mark run_fairness::of(std::size_t task) const {
  return header_.empty() ? run_.fairness : fairness_mark{key_of(task), run_.fairness.weight};
}

bool run_fairness::has_key(std::size_t task, const std::string& key) const {
  return header_.empty() ? run_.fairness.key == key : key_of(task) == key;
}

std::set<std::string> run_fairness::keys() const {
  std::set<std::string> all;
  if (!header_.empty())
    for (std::size_t task = 0; task < run_.tasks.count(); ++task)
      all.insert(key_of(task));
  else if (!run_.fairness.key.empty())
    all.insert(run_.fairness.key);
  all.erase(std::string());
  return all;
}

result<void> run_fairness::check() const {
  if (header_.empty())
    return {};
  const auto& queue = run_.queue.queue;
  for (std::size_t task = 0; task < run_.tasks.count(); ++task)
    if (auto size = value_of(task).size(); size > limits::fairness_key_bytes_max)
      return error{
        errc::too_large,
        "fairness_key: queue \"" + queue + "\" takes the fairness keys of its tasks from header \""
          + header_ + "\" (codeqctl queue show " + queue + "): the header of a task has "
          + std::to_string(size) + " bytes; it must have at most "
          + std::to_string(limits::fairness_key_bytes_max)};
  return {};
}

} // namespace codeq::core
