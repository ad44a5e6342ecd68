// SPDX-License-Identifier: Apache-2.0
// The part of `member` that answers an operator.
#include "cluster/cluster_timing.hpp"
#include "cluster/cluster_view.hpp"
#include "cluster/member.hpp"

#include <algorithm>
#include <utility>

namespace codeq::cluster {

cluster_status member::view() const {
  auto status = view_of(known_, options_.cluster, options_.node);
  for (auto& node : status.nodes) {
    const auto last = last_told_.find(node.name);
    if (node.is_present || last == last_told_.end())
      continue;
    node.address = last->second.address;
    node.http_address = last->second.http_address;
    node.zone = last->second.zone;
  }
  return status;
}

/// Nodes may have new names again and again, so those that no status shows are not kept.
void member::forget_nodes() {
  const auto shown = view_of(known_, options_.cluster, options_.node).nodes;
  std::erase_if(last_told_, [&](const auto& one) {
    return std::none_of(shown.begin(), shown.end(), [&](const cluster_node& node) {
      return node.name == one.first;
    });
  });
}

std::shared_ptr<asked_change> member::find_change(const cluster_change& wanted) const {
  const auto found = std::find_if(changes_.begin(), changes_.end(), [&](const auto& one) {
    return wanted.operation != 0 && one->what.operation == wanted.operation;
  });
  return found == changes_.end() ? nullptr : *found;
}

/// Only the coordinator of the copy knows what it has.
result<void> member::check_asked(const cluster_change& wanted) const {
  if (!is_complete_ || !known_.cluster())
    return error{errc::going_away, "etcd has not told the state of the cluster yet"};
  if (wanted.what != cluster_change::kind::force_primary || wanted.node == options_.node)
    return {};
  const auto found = known_.nodes().find(wanted.node);
  if (found == known_.nodes().end())
    return error{errc::invalid_argument, "node `" + wanted.node + "` is not there; start it first"};
  const auto& node = found->second.record;
  return error{
    errc::invalid_argument,
    "only node `" + wanted.node + "` itself makes its copy the primary by force; ask it at "
      + node.address + (node.http_address.empty() ? "" : ", over HTTP at " + node.http_address)};
}

void member::change(
  const cluster_change& wanted,
  const std::optional<own_copy>& own,
  change_told told,
  monotonic_time now) {
  if (const auto ok = check_asked(wanted); !ok)
    return told({ok.error()});
  if (wanted.what == cluster_change::kind::none)
    return told({});
  if (const auto known = find_change(wanted)) {
    if (known->told.size() >= askers_max)
      return told({error{
        errc::overloaded,
        "this change is asked for " + std::to_string(askers_max) + " times at once"}});
    known->told.push_back(std::move(told));
    return known->tell_end();
  }
  const auto open = std::count_if(
    changes_.begin(), changes_.end(), [](const auto& one) { return !one->steps.empty(); });
  if (static_cast<std::size_t>(open) >= changes_max)
    return told({error{
      errc::overloaded,
      std::to_string(changes_max) + " changes of the cluster are under way; ask again later"}});
  auto begun = begin_change(known_, wanted, own);
  if (!begun)
    return told({begun.error()});
  auto asked = std::make_shared<asked_change>(std::move(*begun));
  asked->ends = now + timing::change;
  asked->told.push_back(std::move(told));
  changes_.push_back(asked);
  go_on(asked, now);
}

/// Continues changes that waited for the end of another decision, and forgets changes that ended a
/// while ago.
void member::go_on_with_changes(monotonic_time now) {
  for (const auto& asked : changes_)
    if (!asked->steps.empty())
      go_on(asked, now);
  while (changes_.size() > changes_max && changes_.front()->steps.empty())
    changes_.pop_front();
}

void member::go_on(const std::shared_ptr<asked_change>& asked, monotonic_time now) {
  std::vector<std::string> waiting;
  for (const auto& [key, step] : asked->steps)
    if (!step.is_sent && !busy_keys_.contains(key))
      waiting.push_back(key);
  for (const auto& key : waiting) {
    if (!asked->steps.contains(key))
      break;
    const auto next = next_swap(known_, *asked, key);
    if (!next)
      asked->fail(next.error());
    else if (!*next)
      asked->steps.erase(key);
    else if (now < asked->ends && asked->steps.at(key).attempts < change_attempts_max)
      start_step(asked, **next);
  }
  const auto is_late =
    now >= asked->ends
    && std::any_of(asked->steps.begin(), asked->steps.end(), [](const auto& one) {
         return !one.second.is_sent;
       });
  if (is_late)
    asked->fail(
      {errc::overloaded,
       "`cluster " + to_string(asked->what) + "` is not stored, since other changes came first for "
         + std::to_string(timing::change.count()) + " ms; ask again"});
  asked->tell_end();
}

void member::start_step(const std::shared_ptr<asked_change>& asked, const etcd::swap& what) {
  auto& step = asked->steps.at(what.key);
  step.is_sent = true;
  ++step.attempts;
  const auto number = ++numbers_;
  busy_keys_.insert(what.key);
  pending_[number] = {what, std::nullopt, asked};
  port_.decide(number, what);
}

void member::end_step(const pending& one, const etcd::swap_answer& how, monotonic_time now) {
  auto& asked = *one.asked;
  auto& step = asked.steps.at(one.what.key);
  step.is_sent = false;
  if (how.end == etcd::swap_end::applied) {
    asked.end.is_stored = true;
    asked.steps.erase(one.what.key);
  } else if (how.end == etcd::swap_end::unknown && now < asked.ends) {
    // The same one, again, reads the outcome and leaves no third possibility.
    return start_step(one.asked, one.what);
  } else if (how.end != etcd::swap_end::not_applied) {
    asked.fail(failed_change(how));
  }
  asked.tell_end();
}

} // namespace codeq::cluster
