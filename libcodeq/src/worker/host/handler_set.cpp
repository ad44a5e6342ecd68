// SPDX-License-Identifier: Apache-2.0
#include "worker/host/handler_set.hpp"

#include "codeq/limits.hpp"

#include "base/queue_pattern.hpp"
#include "base/errors.hpp"
#include "worker/host/plugin_loader.hpp"
#include "worker/process/child_handler.hpp"
#include "worker/process/exec_handler.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace codeq::worker {

namespace {

using base::wrong;

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

/// Names the queues of the entries that there are, at most ten.
error no_handler(const std::string& queue, const std::vector<handler_registry::entry>& there_are) {
  constexpr std::size_t named_max = 10;
  std::string names;
  for (std::size_t i = 0; i < there_are.size() && i < named_max; ++i)
    names += (i == 0 ? "" : ", ") + there_are[i].queue;
  if (there_are.size() > named_max)
    names += " and " + std::to_string(there_are.size() - named_max) + " more";
  auto rest = names.empty() ? "; there are no handlers" : "; there are handlers of " + names;
  return wrong("queue `" + queue + "` has no handler here" + rest);
}

/// `first` and `second` are the sources of the handlers.
error has_two(const std::string& queue, const std::string& first, const std::string& second) {
  auto from = first == second ? "both from " + first : "from " + first + " and " + second;
  return wrong("queue `" + queue + "` has two handlers, " + from + "; it must have one");
}

using entry = handler_registry::entry;

/// The name or pattern of a handler or of an option.
result<base::queue_pattern> parse_queue(const std::string& text) {
  auto pattern = base::queue_pattern::parse(text);
  return pattern ? std::move(pattern) : wrong("queue: " + pattern.error().context);
}

/// The queues of each entry. @pre their names are valid
std::vector<base::queue_pattern> patterns_of(const std::vector<entry>& entries) {
  std::vector<base::queue_pattern> patterns;
  for (const auto& each : entries)
    patterns.push_back(*base::queue_pattern::parse(each.queue));
  return patterns;
}

/// The entry that decides for the queues of `wanted`; null when none handles all of them. @pre the
/// names of the entries are valid
const entry* find_entry(const std::vector<entry>& entries, const base::queue_pattern& wanted) {
  auto patterns = patterns_of(entries);
  const auto* found = base::most_specific(patterns, wanted);
  return found ? &entries[static_cast<std::size_t>(found - patterns.data())] : nullptr;
}

/// Sets the operator's options. Those of queues that only a pattern handles make a handler of their
/// own.
result<void>
set_options(std::vector<entry>& entries, const std::map<std::string, queue_options>& options) {
  for (const auto& [queue, wish] : options) {
    auto name = parse_queue(queue);
    const auto* found = name ? find_entry(entries, *name) : nullptr;
    if (!found)
      return name ? no_handler(queue, entries) : name.error();
    if (found->queue == queue) {
      entries[static_cast<std::size_t>(found - entries.data())].options = wish;
    } else {
      auto own = *found;
      own.queue = queue;
      own.options = wish;
      entries.push_back(std::move(own));
    }
  }
  return {};
}

/// Adds the handlers of the queues that one wish names. `patterns`: of the entries.
result<void> select(
  const std::vector<entry>& from,
  const std::vector<base::queue_pattern>& patterns,
  const std::string& wish,
  std::map<std::string, entry>& to) {
  auto wanted = parse_queue(wish);
  if (!wanted)
    return wanted.error();
  bool any = false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto common = wanted->common_with(patterns[i]);
    // Another handler may decide for these queues.
    if (!common || base::most_specific(patterns, *common) != &patterns[i])
      continue;
    any = true;
    auto chosen = from[i];
    chosen.queue = common->text();
    to.emplace(chosen.queue, std::move(chosen));
  }
  return any ? result<void>{} : no_handler(wish, from);
}

/// The handlers of the queues that the wishes name, in the order of registration.
result<std::vector<entry>>
select_all(const std::vector<entry>& from, const std::vector<std::string>& wishes) {
  if (wishes.empty())
    return from;
  auto patterns = patterns_of(from);
  std::map<std::string, entry> chosen;
  for (const auto& wish : wishes)
    if (auto ok = select(from, patterns, wish, chosen); !ok)
      return ok.error();
  std::vector<entry> ordered;
  for (const auto& each : from)
    if (auto at = chosen.extract(each.queue))
      ordered.push_back(std::move(at.mapped()));
  for (auto& [queue, each] : chosen)
    ordered.push_back(std::move(each));
  return ordered;
}

result<void> check_counts(const std::vector<entry>& chosen) {
  if (chosen.empty())
    return wrong("no queue is handled; give a handler library, a program or handlers");
  if (chosen.size() > limits::queues_per_worker_max)
    return wrong(
      std::to_string(chosen.size()) + " queues are handled; it must be 1.."
      + std::to_string(limits::queues_per_worker_max));
  auto patterns = std::count_if(chosen.begin(), chosen.end(), [](const entry& each) {
    return !base::queue_pattern::parse(each.queue)->is_one_queue();
  });
  if (static_cast<std::size_t>(patterns) > limits::queue_patterns_per_worker_max)
    return wrong(
      std::to_string(patterns) + " patterns of queues are handled; it must be 0.."
      + std::to_string(limits::queue_patterns_per_worker_max));
  return {};
}

} // namespace

result<handler_set> handler_set::load(handler_sources from) {
  handler_set set;
  set.all_ = from.own;
  set.note_source("this process");
  for (const auto& file : from.libraries) {
    if (auto ok = load_handlers(file, set.all_); !ok)
      return ok.error();
    set.note_source("handler library " + file);
  }
  for (const auto& text : from.programs) {
    auto command = parse_exec_command(text);
    if (!command)
      return command.error();
    auto queue = command->queue;
    auto source = "program " + command->arguments.front();
    set.program_queues_.push_back(queue);
    set.all_.handle(queue, make_exec_handler(std::move(*command)));
    set.note_source(source);
  }
  set.from_ = std::move(from);
  return set;
}

result<std::vector<handler_registry::entry>>
handler_set::choose(const handler_wishes& wishes) const {
  if (auto ok = check_registered(); !ok)
    return ok.error();
  auto all = all_.entries();
  if (auto ok = set_options(all, wishes.queues); !ok)
    return ok.error();
  auto chosen = select_all(all, wishes.only);
  if (!chosen)
    return chosen;
  for (auto& handler : *chosen) {
    if (auto ok = check(handler); !ok)
      return ok.error();
    auto isolated = isolate(std::move(handler));
    if (!isolated)
      return isolated.error();
    handler = std::move(*isolated);
  }
  if (auto ok = check_counts(*chosen); !ok)
    return ok.error();
  return chosen;
}

result<handler_registry::entry> handler_set::handler_of(const std::string& queue) const {
  if (auto ok = check_registered(); !ok)
    return ok.error();
  auto name = parse_queue(queue);
  if (!name)
    return name.error();
  const auto* found = find_entry(all_.entries(), *name);
  return found ? result<entry>(*found) : no_handler(queue, all_.entries());
}

result<void> handler_set::check_registered() const {
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto& queue = all_.entries()[i].queue;
    if (auto name = parse_queue(queue); !name)
      return name.error();
    auto [first, is_new] = seen.emplace(queue, sources_[i]);
    if (!is_new)
      return has_two(queue, first->second, sources_[i]);
  }
  return {};
}

bool handler_set::is_program(const std::string& queue) const {
  auto name = base::queue_pattern::parse(queue);
  const auto* found = name ? find_entry(all_.entries(), *name) : nullptr;
  return found && contains(program_queues_, found->queue);
}

std::string_view handler_set::kind_of(const handler_registry::entry& handler) const {
  if (is_program(handler.queue))
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
  if (is_program(handler.queue))
    return handler;
  if (!std::holds_alternative<handler_function>(handler.handler))
    return wrong(of + "process is for functions only; actors and batches may have a thread");
  if (from_.isolation_program.empty())
    return wrong(
      of + "process needs a program that serves the handler; isolation_program is empty");
  child_command command{from_.isolation_program, handler.queue, from_.libraries};
  handler_registry made;
  made.handle(handler.queue, make_child_handler(std::move(command)), handler.options);
  return made.entries().front();
}

} // namespace codeq::worker
