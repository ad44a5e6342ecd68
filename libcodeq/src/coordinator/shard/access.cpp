// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/access.hpp"

#include "base/errors.hpp"
#include "base/queue_pattern.hpp"
#include "core/tables/lane.hpp"
#include "security/token_table.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace codeq::coordinator::access {

namespace {

error unauthorized(std::string text) {
  return {errc::unauthorized, std::move(text)};
}

error no_claim(const principal& who, const std::string& from, const std::string& tenant) {
  return unauthorized(
    "the token of " + who.subject + std::string(base::no_claim_words) + from + " of tenant "
    + tenant);
}

result<void> check_tenant(const principal& who, const std::string& tenant) {
  if (who.sees(tenant))
    return {};
  return unauthorized(std::string(base::other_tenant_words) + who.tenant + ", not for " + tenant);
}

result<void> check_queue(const principal& who, const queue_address& queue) {
  if (auto ok = check_tenant(who, queue.tenant); !ok)
    return ok;
  if (who.may_use(queue))
    return {};
  return unauthorized("the token does not allow to use queue " + queue.queue);
}

/// The words for the role of a token that is refused.
std::string role_text(const principal& who) {
  return "the role of the token is " + std::string(to_string(who.role));
}

result<void> check_producer(const principal& who) {
  if (who.may_produce())
    return {};
  return unauthorized(role_text(who) + "; this takes a producer's or an admin's");
}

result<void> check_reader(const principal& who) {
  if (who.may_read())
    return {};
  return unauthorized(role_text(who) + "; this takes a producer's, a reader's or an admin's");
}

result<void> check_admin(const principal& who) {
  if (who.may_operate())
    return {};
  return unauthorized("this takes an admin's token");
}

/// For a command that may identify its task by key.
template <class Command>
result<void> check_named(const principal& who, const Command& c) {
  return c.key ? check_queue(who, c.key->queue) : result<void>{};
}

/// For a command that changes its task.
template <class Command>
result<void> check_change(const principal& who, const Command& c) {
  if (auto ok = check_producer(who); !ok)
    return ok;
  return check_named(who, c);
}

result<void> check_admin_of(const principal& who, const std::string& tenant) {
  if (auto ok = check_admin(who); !ok)
    return ok;
  return check_tenant(who, tenant);
}

result<void> check_inspector_of(const principal& who, const std::string& tenant) {
  if (auto ok = check_inspector(who); !ok)
    return ok;
  return check_tenant(who, tenant);
}

/// Refuses a worker whose token lacks a scope: the messages of a node are not checked one by one.
result<void> check_node_scopes(const principal& who) {
  using security::scope;
  for (auto one : {scope::claim, scope::heartbeat, scope::abandon, scope::nack, scope::result})
    if (!who.scopes.has(one))
      return unauthorized(
        "the token of " + who.subject + " has no scope "
        + std::string(security::scope_names[static_cast<std::size_t>(one)])
        + ", which a worker node needs");
  return {};
}

/// Removes the elements selected by `is_foreign` from `from` and returns them.
template <class T, class F>
std::vector<T> take_if(std::vector<T>& from, F is_foreign) {
  auto kept =
    std::stable_partition(from.begin(), from.end(), [&](const T& x) { return !is_foreign(x); });
  std::vector<T> taken(std::make_move_iterator(kept), std::make_move_iterator(from.end()));
  from.erase(kept, from.end());
  return taken;
}

} // namespace

error unknown_task() {
  return {errc::unknown_task, "no such task, or it is past its retention"};
}

bool may_see(const principal& who, const queue_address& queue) {
  return (who.may_read() || who.may_work()) && who.may_use(queue);
}

bool may_see(const principal& who, core::shard_state& state, sequence seq) {
  auto* s = core::find_segment(state.segments, seq);
  return s == nullptr || may_see(who, state.queue_of(*s).address);
}

result<void> check(const principal& who, const protocol::node_introduction& node) {
  // A coordinator gets all data of the cluster, and its gateway acts for all tenants.
  if (node.role == schema::Role::COORDINATOR || node.role == schema::Role::GATEWAY)
    return check_admin_of(who, "*");
  if (node.role != schema::Role::WORKER)
    return check_reader(who);
  if (!who.may_work())
    return unauthorized(
      "the token of " + who.subject + " is not a worker's; a worker needs one that is");
  if (auto ok = check_node_scopes(who); !ok)
    return ok;
  for (const auto& queue : node.queues)
    if (auto ok = check_claim(who, queue); !ok)
      return ok;
  return {};
}

result<void> check_claim(const principal& who, const queue_address& queue) {
  if (who.may_claim(queue))
    return {};
  return no_claim(who, "queue " + queue.queue, queue.tenant);
}

result<void> check_inspector(const principal& who) {
  if (who.may_inspect())
    return {};
  return unauthorized("this takes " + std::string(base::inspectors_only_words) + " token");
}

result<void> narrow(
  const principal& who, std::vector<queue_address>& queues, std::vector<queue_address>& prefixes) {
  std::vector<queue_address> kept;
  for (const auto& prefix : prefixes) {
    auto pattern = base::queue_pattern::of_prefix(prefix.queue);
    bool is_allowed = false;
    for (const auto& text : who.queues) {
      auto right = base::queue_pattern::parse(text);
      auto common = right ? pattern.common_with(*right) : std::nullopt;
      if (!common || !who.sees(prefix.tenant))
        continue;
      is_allowed = true;
      (common->is_one_queue() ? queues : kept).push_back({prefix.tenant, common->stem()});
    }
    if (!is_allowed)
      return no_claim(who, "any queue " + pattern.text(), prefix.tenant);
  }
  prefixes = std::move(kept);
  return {};
}

result<void> check(const principal& who, const core::enqueue& c) {
  if (auto ok = check_producer(who); !ok)
    return ok;
  for (const auto& run : c.runs)
    if (auto ok = check_queue(who, run.queue); !ok)
      return ok;
  return {};
}

result<void> check(const principal& who, const core::describe_task& c) {
  if (auto ok = check_reader(who); !ok)
    return ok;
  return check_named(who, c);
}

result<void> check(const principal& who, const core::cancel& c) {
  return check_change(who, c);
}

result<void> check(const principal& who, const core::promote& c) {
  return check_change(who, c);
}

result<void> check(const principal& who, const core::explain_task&) {
  return check_reader(who);
}

result<void> check(const principal& who, const core::tell_history&) {
  return check_reader(who);
}

result<void> check(const principal& who, const core::redrive&) {
  return check_admin(who);
}

result<void> check(const principal& who, const core::purge&) {
  return check_admin(who);
}

result<void> check(const principal& who, const core::force&) {
  return check_admin(who);
}

result<void> check(const principal& who, const core::configure_queue& c) {
  return check_admin_of(who, c.queue.tenant);
}

result<void> check(const principal& who, const core::weigh_keys& c) {
  return check_admin_of(who, c.queue.tenant);
}

result<void> check(const principal& who, const core::pause_queue& c) {
  return check_admin_of(who, c.queue.tenant);
}

result<void> check(const principal& who, const core::show_queue& c) {
  return check_inspector_of(who, c.queue.tenant);
}

result<void> check(const principal& who, const core::change_many& c) {
  return check_admin_of(who, c.part.filter.tenant);
}

result<void> check(const principal& who, const core::list_tasks& c) {
  return check_inspector_of(who, c.part.filter.tenant);
}

result<void> check(const principal& who, const core::tell_audit& c) {
  return c.filter.tenant.empty() ? check_inspector(who)
                                 : check_inspector_of(who, c.filter.tenant);
}

result<void> check(const principal& who, const protocol::schedule_question& asked) {
  return protocol::is_inspection(asked) ? check_inspector_of(who, asked.name.tenant)
                                        : check_admin_of(who, asked.name.tenant);
}

result<void> check(const principal& who, const core::set_limit& c) {
  return check_admin_of(who, c.limit.tenant);
}

result<void> check(const principal& who, const core::close_limit_key& c) {
  return check_admin_of(who, c.limit.tenant);
}

result<void> check(const principal& who, const core::list_limits& c) {
  return check_inspector_of(who, c.limit.tenant);
}

result<void> check(const principal& who, const core::list_limit_keys& c) {
  return check_inspector_of(who, c.limit.tenant);
}

std::vector<core::lease_beat>
take_foreign(const principal& who, core::shard_state& state, core::heartbeat& c) {
  // Progress is never answered.
  std::erase_if(
    c.progress, [&](const core::lease_progress& p) { return !may_see(who, state, p.seq); });
  // Every checkpoint comes with a heartbeat, which is answered.
  std::erase_if(
    c.checkpoints, [&](const core::lease_checkpoint& p) { return !may_see(who, state, p.seq); });
  return take_if(
    c.beats, [&](const core::lease_beat& beat) { return !may_see(who, state, beat.seq); });
}

std::vector<core::lease_report>
take_foreign(const principal& who, core::shard_state& state, core::report& c) {
  return take_if(
    c.reports, [&](const core::lease_report& r) { return !may_see(who, state, r.seq); });
}

std::vector<sequence>
take_foreign(const principal& who, core::shard_state& state, core::await_tasks& c) {
  return take_if(c.tasks, [&](sequence seq) { return !may_see(who, state, seq); });
}

namespace {

/// The follow-ups of a worker are a part of its completion. A token that enqueues by itself is held
/// to its queues in both.
result<void> check_follow_up(const principal& who, const queue_address& queue) {
  if (!who.sees(queue.tenant))
    return error{
      errc::invalid_argument,
      "tenant of a follow-up is `" + queue.tenant + "`; the worker's token is for " + who.tenant};
  if (who.may_produce() && !who.may_use(queue))
    return error{
      errc::invalid_argument,
      "queue of a follow-up is `" + queue.queue + "`; the token does not allow to use it"};
  return {};
}

} // namespace

void refuse_foreign_follow_ups(const principal& who, core::report& c) {
  for (auto& report : c.reports)
    for (const auto& task : report.follow_ups)
      if (auto ok = check_follow_up(who, task.run.queue); !ok)
        report.allowed = ok;
}

} // namespace codeq::coordinator::access
