// SPDX-License-Identifier: Apache-2.0
#include "worker/host/handler_set.hpp"

#include "codeq/limits.hpp"

#include "worker/host/plugin_loader.hpp"
#include "worker/process/child_handler.hpp"
#include "worker/process/exec_handler.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

namespace codeq::worker {

namespace {

error wrong(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

result<void>
check_range(const std::string& what, std::size_t found, std::size_t least, std::size_t most) {
  if (found >= least && found <= most)
    return {};
  return wrong(
    what + " is " + std::to_string(found) + "; it must be " + std::to_string(least) + ".."
    + std::to_string(most));
}

result<void> check(const handler_registry::entry& handler) {
  auto of = "queue `" + handler.queue + "`: ";
  if (!is_valid_name(handler.queue))
    return wrong(
      "queue is `" + handler.queue + "`; it must be 1 to " + std::to_string(limits::name_bytes_max)
      + " letters, digits, `.`, `_` or `-`");
  const auto* function = std::get_if<handler_function>(&handler.handler);
  const auto* batch = std::get_if<handler_registry::batch>(&handler.handler);
  if ((function != nullptr && !*function) || (batch != nullptr && !batch->function))
    return wrong(of + "the handler is empty");
  if (auto ok = check_range(of + "slots", handler.options.slots, 0, limits::slots_max); !ok)
    return ok;
  auto ok = check_range(of + "weight", handler.options.weight, 1, limits::queue_weight_max);
  if (ok && batch != nullptr)
    ok = check_range(of + "batch_max", batch->tasks_max, 1, limits::batch_tasks_max);
  return ok;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

result<void> check_known(const handler_registry& all, const std::string& queue) {
  for (const auto& handler : all.entries())
    if (handler.queue == queue)
      return {};
  return wrong("queue `" + queue + "` has no handler here");
}

/// Checks that every queue with options has a handler, and that no queue has two.
result<void> check_wishes(const handler_registry& all, const handler_wishes& wishes) {
  for (const auto& [queue, options] : wishes.queues)
    if (auto ok = check_known(all, queue); !ok)
      return ok;
  for (const auto& queue : wishes.only)
    if (auto ok = check_known(all, queue); !ok)
      return ok;
  std::set<std::string> seen;
  for (const auto& handler : all.entries())
    if (!seen.insert(handler.queue).second)
      return wrong("queue `" + handler.queue + "` has two handlers; it must have one");
  return {};
}

} // namespace

result<handler_set> handler_set::load(handler_sources from) {
  handler_set set;
  set.all_ = from.own;
  for (const auto& file : from.libraries)
    if (auto ok = load_handlers(file, set.all_); !ok)
      return ok.error();
  for (const auto& text : from.programs) {
    auto command = parse_exec_command(text);
    if (!command)
      return command.error();
    auto queue = command->queue;
    set.program_queues_.push_back(queue);
    set.all_.handle(queue, make_exec_handler(std::move(*command)));
  }
  set.from_ = std::move(from);
  return set;
}

result<std::vector<handler_registry::entry>>
handler_set::choose(const handler_wishes& wishes) const {
  if (auto ok = check_wishes(all_, wishes); !ok)
    return ok.error();
  std::vector<handler_registry::entry> chosen;
  for (auto handler : all_.entries()) {
    if (!wishes.only.empty() && !contains(wishes.only, handler.queue))
      continue;
    if (auto wish = wishes.queues.find(handler.queue); wish != wishes.queues.end())
      handler.options = wish->second;
    if (auto ok = check(handler); !ok)
      return ok.error();
    auto isolated = isolate(std::move(handler));
    if (!isolated)
      return isolated.error();
    chosen.push_back(std::move(*isolated));
  }
  if (chosen.empty())
    return wrong("no queue is handled; give a handler library, a program or handlers");
  if (chosen.size() > limits::queues_per_worker_max)
    return wrong(
      std::to_string(chosen.size()) + " queues are handled; it must be 1.."
      + std::to_string(limits::queues_per_worker_max));
  return chosen;
}

std::string_view handler_set::kind_of(const handler_registry::entry& handler) const {
  if (contains(program_queues_, handler.queue))
    return "program";
  if (std::holds_alternative<handler_registry::batch>(handler.handler))
    return "batch";
  const auto* actors = std::get_if<handler_registry::actors>(&handler.handler);
  if (actors == nullptr)
    return "function";
  return actors->idle ? "keyed actor" : "actor";
}

result<handler_registry::entry> handler_set::isolate(handler_registry::entry handler) const {
  if (handler.options.run_in != isolation::process)
    return handler;
  auto of = "queue `" + handler.queue + "`: isolation ";
  if (contains(program_queues_, handler.queue))
    return handler;
  if (!std::holds_alternative<handler_function>(handler.handler))
    return wrong(of + "process is for functions only; actors and batches may have a thread");
  if (from_.isolation_program.empty())
    return wrong(of + "process needs a program that serves the handler");
  child_command command{from_.isolation_program, handler.queue, from_.libraries};
  handler_registry made;
  made.handle(handler.queue, make_child_handler(std::move(command)), handler.options);
  return made.entries().front();
}

} // namespace codeq::worker
