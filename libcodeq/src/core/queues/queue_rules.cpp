// SPDX-License-Identifier: Apache-2.0
#include "core/queues/queue_rules.hpp"

#include "codeq/limits.hpp"

#include "base/duration_text.hpp"
#include "base/enum_names.hpp"
#include "base/text_encoding.hpp"
#include "core/queues/fairness_header.hpp"
#include "core/queues/queue_limits.hpp"
#include "core/state/queue_fairness.hpp"
#include "core/state/task_keys.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace codeq::core {

namespace {

/// Number of tasks that a request adds, per queue.
using added_tasks =
  std::map<std::reference_wrapper<const queue_address>, std::uint64_t, std::less<queue_address>>;

/// Occurs in the refusals because of the depth of a queue only.
constexpr std::string_view of_queue = "queue \"";
constexpr std::string_view of_max_depth = " more; max_depth, over all shards, is ";

/// Begins the refusals of requests that could not wait for room.
constexpr std::string_view of_waiting = "it is not known yet whether queue \"";

/// Occurs in the refusals because of the number of queues only.
constexpr std::string_view of_queues = " queues that tenant \"";

/// Occurs in the refusals because of fairness keys only.
constexpr std::string_view of_fairness_keys = " fairness keys with live tasks on this shard";

bool has_max_depth(const queue_state* queue) {
  return queue && queue->settings.config.max_depth != 0;
}

/// True when a record of a queue with a maximum depth has the key of the run: it adds no task then.
bool needs_no_room(const shard_state& state, const enqueue_run& r) {
  if (r.key.empty() || !has_max_depth(state.find_queue(r.queue)))
    return false;
  const task_key name{r.queue, r.group, r.key};
  bool may_be_ended =
    r.duplicate == on_duplicate::reject || r.duplicate == on_duplicate::existing;
  return may_be_ended ? owner_of(state, name, state.at).has_value() : has_live_owner(state, name);
}

/// The fairness keys of a request, per queue.
using named_fairness = std::map<
  std::reference_wrapper<const queue_address>,
  std::set<std::string>,
  std::less<queue_address>>;

/// Checks that the tenants have room for fairness keys without live tasks.
result<void> check_fairness(const shard_state& state, const std::vector<enqueue_run>& runs) {
  named_fairness added;
  for (const auto& r : runs) {
    const auto* queue = state.find_queue(r.queue);
    const auto* keys = queue && queue->fair ? &queue->fair->keys() : nullptr;
    for (const auto& key : run_fairness(state, r).keys()) {
      auto known = keys ? keys->find(key) : std::nullopt;
      if (!known || keys->live(*known) == 0)
        added[r.queue].insert(key);
    }
  }
  std::map<std::string_view, std::size_t> by_tenant;
  for (const auto& [address, names] : added)
    by_tenant[address.get().tenant] += names.size();
  for (const auto& [tenant, count] : by_tenant) {
    auto use = state.tenant_fairness.find(std::string(tenant));
    auto active = use == state.tenant_fairness.end() ? 0 : use->second->active;
    if (active + count > limits::fairness_keys_max)
      return error{
        errc::queue_full,
        "tenant \"" + std::string(tenant) + "\" has " + std::to_string(active)
          + std::string(of_fairness_keys) + " and would have " + std::to_string(active + count)
          + "; fairness_keys_max=" + std::to_string(limits::fairness_keys_max)
          + "; there is room when some of them have ended"};
  }
  return {};
}

result<void> check_new(const shard_state& state, const added_tasks& added) {
  std::map<std::string_view, std::size_t> new_queues;
  for (const auto& [queue, count] : added) {
    const auto& address = queue.get();
    if (state.find_queue(address))
      continue;
    auto known = state.tenant_queues.find(address.tenant);
    auto has = known == state.tenant_queues.end() ? 0 : known->second.size();
    if (has + ++new_queues[address.tenant] > limits::queues_per_tenant_max)
      return too_many_queues(address);
  }
  return {};
}

} // namespace

task_settings settings_of(const shard_state& state, const enqueue_run& run) {
  auto settings = run.settings;
  if (run.left_to_queue == 0)
    return settings;
  const auto* queue = state.find_queue(run.queue);
  auto defaults = queue ? queue->settings.config.defaults : task_settings{};
  auto is_left = [&](setting_bit bit) {
    return (run.left_to_queue & static_cast<std::uint16_t>(bit)) != 0;
  };
  if (is_left(setting_bit::max_attempts))
    settings.max_attempts = defaults.max_attempts;
  if (is_left(setting_bit::retry))
    settings.retry = defaults.retry;
  if (is_left(setting_bit::lease))
    settings.lease = duration{0};
  if (is_left(setting_bit::run_timeout))
    settings.run_timeout = defaults.run_timeout;
  if (is_left(setting_bit::progress_timeout))
    settings.progress_timeout = defaults.progress_timeout;
  if (is_left(setting_bit::retention))
    settings.retention = defaults.retention;
  if (is_left(setting_bit::dead_retention))
    settings.dead_retention = defaults.dead_retention;
  if (is_left(setting_bit::on_dead))
    settings.when_dead = defaults.when_dead;
  return settings;
}

duration effective_lease(const shard_state& state, const segment& s, duration wish) {
  auto lease = wish;
  if (lease == duration{0})
    lease = s.settings.lease;
  if (lease == duration{0})
    lease = state.queues[s.queue]->settings.config.defaults.lease;
  return std::clamp(lease, limits::lease_min, limits::lease_max);
}

result<std::vector<depth_need>>
check_queues(const shard_state& state, const std::vector<enqueue_run>& runs) {
  added_tasks added;
  for (const auto& r : runs)
    added[r.queue] += needs_no_room(state, r) ? 0 : r.tasks.count();
  if (auto ok = check_new(state, added); !ok)
    return ok.error();
  std::vector<depth_need> needs;
  for (const auto& [address, count] : added) {
    const auto* queue = state.find_queue(address);
    if (!has_max_depth(queue) || count == 0)
      continue;
    if (count > queue->settings.config.max_depth)
      return queue_full(*queue, count, false);
    needs.push_back({state.queue_index.at(address), count});
  }
  for (const auto& r : runs)
    if (auto ok = run_fairness(state, r).check(); !ok)
      return ok.error();
  if (auto ok = check_fairness(state, runs); !ok)
    return ok.error();
  for (const auto& r : runs)
    if (auto ok = check_run_limits(state, r); !ok)
      return ok.error();
  return needs;
}

error queue_full(const queue_state& queue, std::uint64_t added, bool is_any_silent) {
  return {
    errc::queue_full,
    std::string(of_queue) + queue.address.queue + "\" is full: it has no room for "
      + std::to_string(added)
      + std::string(of_max_depth) + std::to_string(queue.settings.config.max_depth)
      + (is_any_silent ? "; unused room of shards that do not answer counts as used" : "")};
}

bool is_of_fairness_keys(const error& reason) {
  return reason.code == errc::queue_full
         && reason.context.find(of_fairness_keys) != std::string::npos;
}

bool is_of_max_depth(const error& reason) {
  return reason.code == errc::queue_full
         && reason.context.find(of_max_depth) != std::string::npos;
}

std::string full_queue(const error& reason) {
  // A name has no quotes.
  const auto begin = of_queue.size();
  return reason.context.substr(begin, reason.context.find('"', begin) - begin);
}

error not_answered(errc code, const queue_state& queue, const std::string& why) {
  return {
    code, std::string(of_waiting) + queue.address.queue + "\" has room: " + why};
}

bool is_not_answered(const error& reason) {
  return reason.context.starts_with(of_waiting);
}

bool is_too_many_queues(const error& reason) {
  return reason.code == errc::too_large && reason.context.find(of_queues) != std::string::npos;
}

result<void> check_new_queues(const shard_state& state, const std::vector<follow_up>& tasks) {
  added_tasks added;
  for (const auto& task : tasks)
    if (task.shard == state.id)
      added[task.run.queue] += task.run.tasks.count();
  // Every shard has the definitions of all limits. Those that queues give are no reason to refuse
  // the completion: `limits_of` leaves out what does not fit.
  for (const auto& task : tasks)
    if (auto ok = state.limits.check_new(task.run.queue.tenant, task.run.limits); !ok)
      return ok;
  return check_new(state, added);
}

namespace {

std::string text_of(duration value) {
  return base::format_duration(value);
}

std::string text_of(std::uint64_t value) {
  return std::to_string(value);
}

std::string text_of(std::string value) {
  return value;
}

std::string breaker_text(const failure_breaker& breaker) {
  if (breaker.percent == 0)
    return "off";
  return std::to_string(breaker.percent) + "%/" + base::format_duration(breaker.window);
}

/// As `codeqctl queue set` takes it.
std::string header_text(const std::string& header) {
  return header.empty() ? "none" : "header=" + header;
}

using key_weights = std::map<std::string, std::uint32_t>;

std::string weight_text(const key_weights& weights, const std::string& key) {
  auto at = weights.find(key);
  return at == weights.end() ? "none" : std::to_string(at->second);
}

/// Fairness keys are any bytes.
std::string key_text(const std::string& key) {
  return base::is_utf8(key) ? key : "base64:" + base::to_base64(key);
}

/// The keys whose weights differ, with both.
std::string weights_text(const key_weights& before, const key_weights& after) {
  auto all = before;
  all.insert(after.begin(), after.end());
  std::string text;
  for (const auto& [key, weight] : all) {
    auto old = weight_text(before, key);
    auto now = weight_text(after, key);
    if (old != now)
      text += (text.empty() ? "" : ", ") + key_text(key) + " " + old + " -> " + now;
  }
  return text;
}

std::string text_of(on_dead value) {
  return std::string(base::name_of(value, base::on_dead_names));
}

std::string text_of(retry_kind value) {
  return std::string(base::name_of(value, base::retry_option_names));
}

/// Appends a setting if it has changed.
template <class Value>
void add_change(std::string& text, const char* name, Value before, Value after) {
  if (before == after)
    return;
  text += (text.empty() ? "" : ", ") + std::string(name) + " " + text_of(before) + " -> "
          + text_of(after);
}

} // namespace

std::string describe_change(const queue_config& before, const queue_config& after) {
  std::string text;
  const auto& a = before.defaults;
  const auto& b = after.defaults;
  add_change<std::uint64_t>(text, "max-attempts", a.max_attempts, b.max_attempts);
  add_change(text, "retry", a.retry.kind, b.retry.kind);
  add_change(text, "retry-base", a.retry.base, b.retry.base);
  add_change(text, "retry-cap", a.retry.cap, b.retry.cap);
  add_change(text, "lease", a.lease, b.lease);
  add_change(text, "run-timeout", a.run_timeout, b.run_timeout);
  add_change(text, "progress-timeout", a.progress_timeout, b.progress_timeout);
  add_change(text, "retention", a.retention, b.retention);
  add_change(text, "dead-retention", a.dead_retention, b.dead_retention);
  add_change(text, "on-dead", a.when_dead, b.when_dead);
  add_change(text, "max-depth", before.max_depth, after.max_depth);
  add_change(text, "max-leased", before.max_leased, after.max_leased);
  add_change<std::uint64_t>(
    text, "quarantine-after", before.quarantine_after, after.quarantine_after);
  add_change(
    text,
    "pause-when-failing",
    breaker_text(before.pause_when_failing),
    breaker_text(after.pause_when_failing));
  add_change(text, "limits", to_text(before.limits), to_text(after.limits));
  add_change(
    text,
    "fairness-key",
    header_text(before.fairness_header),
    header_text(after.fairness_header));
  auto weights = weights_text(before.fairness_weights, after.fairness_weights);
  if (!weights.empty())
    text += (text.empty() ? "" : ", ") + std::string("fairness-weights ") + weights;
  return text;
}

result<void> check_maxima(const queue_config& config) {
  constexpr auto most = limits::queue_maximum_max;
  const auto range = "; it must be 0.." + std::to_string(most);
  if (config.max_leased > most)
    return error{
      errc::invalid_argument, "max_leased is " + std::to_string(config.max_leased) + range};
  if (config.max_depth > most)
    return error{
      errc::invalid_argument, "max_depth is " + std::to_string(config.max_depth) + range};
  return {};
}

result<void> check_config(
  const shard_state& state, const queue_address& queue, const queue_config& config) {
  if (config.keep_payload)
    return error{
      errc::unsupported,
      "keep_payload is true; it must be false: this version does not keep payloads of completed "
      "tasks"};
  if (auto ok = check_maxima(config); !ok)
    return ok;
  if (auto ok = check_weights(config.fairness_weights); !ok)
    return ok;
  return check_queue_limits(state, queue, config.limits);
}

result<void> check_weights(const std::map<std::string, std::uint32_t>& fairness_weights) {
  if (fairness_weights.size() <= limits::fairness_weights_max)
    return {};
  return error{
    errc::invalid_argument,
    "the number of fairness_weights would be " + std::to_string(fairness_weights.size())
      + "; it must be 0.." + std::to_string(limits::fairness_weights_max)
      + "; take the weight of another key away first"};
}

error too_many_queues(const queue_address& queue) {
  return {
    errc::too_large,
    "queue \"" + queue.queue + "\" would be one more than the "
      + std::to_string(limits::queues_per_tenant_max) + std::string(of_queues) + queue.tenant
      + "\" may have"};
}

} // namespace codeq::core
