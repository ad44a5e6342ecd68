// SPDX-License-Identifier: Apache-2.0
#include "core/queues/queue_limits.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <set>

namespace codeq::core {

namespace {

/// The limits that the queue gives to its tasks; null when there are none.
const std::vector<queue_limit>* given_by(const shard_state& state, const queue_address& address) {
  const auto* queue = state.find_queue(address);
  return queue && !queue->settings.config.limits.empty() ? &queue->settings.config.limits : nullptr;
}

template <class Uses>
bool is_named(const Uses& among, const std::string& limit) {
  return std::any_of(
    among.begin(), among.end(), [&](const auto& use) { return use.name == limit; });
}

task_limit
use_of(const shard_state& state, const queue_limit& given, const enqueue_run& r, std::size_t task) {
  task_limit use{given.name, given.key, given.cost};
  if (!given.header.empty() && state.read_header)
    use.key = state.read_header(r.tasks.part(task, 1).body, given.header);
  return use;
}

/// The refusal of a task because of a limit that its queue gives to it.
error
refused(const queue_address& queue, const task_limit& use, errc code, const std::string& why) {
  return {
    code,
    "limits: queue \"" + queue.queue + "\" gives its tasks limit \"" + use.name
      + "\" (codeqctl queue show " + queue.queue + "): " + why};
}

/// Checks that the task may have the last of the uses, which the queue gives, beside the others.
result<void> check_given(const queue_address& queue, const std::vector<task_limit>& uses) {
  const auto& use = uses.back();
  if (uses.size() > limits::task_limits_max)
    return refused(
      queue,
      use,
      errc::too_large,
      "the task would have " + std::to_string(uses.size()) + " limits; it must have at most "
        + std::to_string(limits::task_limits_max));
  if (use.key.size() > limits::limit_key_bytes_max)
    return refused(
      queue,
      use,
      errc::too_large,
      "the header that is its key has " + std::to_string(use.key.size())
        + " bytes; it must have at most " + std::to_string(limits::limit_key_bytes_max));
  return {};
}

/// Most queues that a refusal names.
constexpr std::size_t named_queues_max = 10;

std::string some_of(const std::set<std::string>& queues) {
  std::string text;
  std::size_t named = 0;
  for (const auto& queue : queues) {
    if (named == named_queues_max)
      return text + " and " + std::to_string(queues.size() - named) + " others";
    text += (named++ == 0 ? "\"" : ", \"") + queue + "\"";
  }
  return text;
}

} // namespace

std::vector<task_limit>
limits_of(const shard_state& state, const enqueue_run& r, std::size_t task) {
  auto uses = r.limits;
  const auto* given = given_by(state, r.queue);
  if (!given)
    return uses;
  for (const auto& one : *given) {
    if (is_named(r.limits, one.name))
      continue;
    uses.push_back(use_of(state, one, r, task));
    if (!check_given(r.queue, uses))
      uses.pop_back();
  }
  return uses;
}

result<void> check_run_limits(const shard_state& state, const enqueue_run& r) {
  if (auto ok = state.limits.check_new(r.queue.tenant, r.limits); !ok)
    return ok;
  const auto* given = given_by(state, r.queue);
  if (!given)
    return {};
  for (std::size_t task = 0; task < r.tasks.count(); ++task) {
    auto uses = r.limits;
    for (const auto& one : *given) {
      if (is_named(r.limits, one.name))
        continue;
      uses.push_back(use_of(state, one, r, task));
      if (auto ok = check_given(r.queue, uses); !ok)
        return ok;
      if (auto ok = state.limits.check_new(r.queue.tenant, {uses.back()}); !ok)
        return refused(r.queue, uses.back(), ok.error().code, ok.error().context);
    }
  }
  return {};
}

result<void> check_queue_limits(
  const shard_state& state, const queue_address& queue, const std::vector<queue_limit>& given) {
  const auto* known = given_by(state, queue);
  for (const auto& one : given)
    if (!state.limits.find({queue.tenant, one.name}) && !(known && is_named(*known, one.name)))
      return error{
        errc::unknown_limit,
        "limits: tenant \"" + queue.tenant + "\" has no limit \"" + one.name
          + "\"; define it first: codeqctl limit set " + one.name};
  return {};
}

result<void> check_not_given(const shard_state& state, const limit_address& limit) {
  std::set<std::string> queues;
  for (const auto& [arrival, index] : state.queues_by_arrival) {
    const auto& queue = *state.queues[index];
    if (
      queue.address.tenant == limit.tenant && is_named(queue.settings.config.limits, limit.name))
      queues.insert(queue.address.queue);
  }
  if (queues.empty())
    return {};
  return error{
    errc::invalid_argument,
    "queues give limit \"" + limit.name + "\" to their tasks: " + some_of(queues)
      + "; without it their new tasks would be refused. First take it from each of them: codeqctl "
        "queue set "
      + *queues.begin() + " --no-limits, or --limit for those that it keeps"};
}

std::string to_text(const std::vector<queue_limit>& given) {
  std::string text;
  for (const auto& one : given) {
    text += (text.empty() ? "" : ", ") + one.name;
    if (!one.header.empty())
      text += ":header=" + one.header;
    else if (!one.key.empty() || one.cost != 1)
      text += ":" + one.key;
    if (one.cost != 1)
      text += ":" + std::to_string(one.cost);
  }
  return text.empty() ? "none" : text;
}

} // namespace codeq::core
