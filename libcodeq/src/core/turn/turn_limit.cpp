// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/duration_text.hpp"
#include "core/queues/limit_counts.hpp"
#include "core/queues/limit_forecast.hpp"
#include "core/queues/queue_limits.hpp"
#include "core/state/apply.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <string>
#include <utility>

/// Definitions of limits, their keys, and attempts that met a foreign limit.
namespace codeq::core {

namespace {

error unknown_limit(const limit_address& limit) {
  return {
    errc::unknown_limit, "tenant \"" + limit.tenant + "\" has no limit \"" + limit.name + "\""};
}

/// For the audit log, as `codeqctl limit set` takes it.
std::string describe(const limit_definition& definition) {
  std::string text;
  if (definition.concurrency)
    text = "concurrency " + std::to_string(*definition.concurrency);
  if (const auto& rate = definition.rate)
    text += (text.empty() ? "rate " : ", rate ") + std::to_string(rate->count) + "/"
            + base::format_duration(rate->period) + ", burst " + std::to_string(rate->burst);
  return text;
}

std::string describe_limit_change(const limit_definition* before, const limit_definition* after) {
  if (!before)
    return describe(*after);
  return after ? describe(*before) + " -> " + describe(*after) : describe(*before);
}

} // namespace

result<void> turn::check(const set_limit& c) const {
  bool is_known = state_.limits.find(c.limit) != nullptr;
  if (!c.definition && !is_known)
    return unknown_limit(c.limit);
  // Shard 0 is asked first and decides for all; another one may have settings that it has not.
  if (!c.definition)
    return state_.id == shard_id{} ? check_not_given(state_, c.limit) : result<void>{};
  auto defined = state_.limits.defined_by(c.limit.tenant);
  if (!is_known && defined >= limits::limits_per_tenant_max)
    return error{
      errc::too_large,
      "limit \"" + c.limit.name + "\" would be one more than the "
        + std::to_string(limits::limits_per_tenant_max) + " limits that tenant \""
        + c.limit.tenant + "\" may have"};
  return {};
}

void turn::run(const set_limit& c) {
  limits_answered answer{c.peer, c.number, check(c)};
  const auto* known = state_.limits.find(c.limit);
  if (!answer.allowed) {
    effects_.emplace_back(std::move(answer));
    return;
  }
  if (!c.definition)
    answer.limits.push_back(count_limit(state_, c.limit));
  auto before = known ? std::optional(*known) : std::nullopt;
  bool changes = !c.is_dry_run && before != c.definition;
  if (changes) {
    auto detail = describe_limit_change(
      before ? &*before : nullptr, c.definition ? &*c.definition : nullptr);
    auto action = c.definition ? operator_action::limit_set : operator_action::limit_delete;
    audit({c.origin, action, c.limit.tenant, {}, 0, 0, c.limit.name + ": " + detail});
    write_limit(c.limit, c.definition);
    tell_carrier();
  }
  if (c.definition) {
    bool is_defined = state_.limits.find(c.limit) != nullptr;
    answer.limits.push_back(
      is_defined ? count_limit(state_, c.limit) : limit_info{c.limit, *c.definition});
    answer.limits.back().definition = *c.definition;
    answer.limits.back().keys_above = state_.limits.keys_above(c.limit, *c.definition);
    if (c.is_dry_run)
      forecast_limit(answer, state_, c.limit, *c.definition);
  }
  effects_.emplace_back(std::move(answer));
}

void turn::run(const list_limits& c) {
  limits_answered answer{c.peer, c.number};
  if (c.limit.name.empty())
    answer.limits = count_limits(state_, c.limit.tenant, c.part, answer.more);
  else if (state_.limits.find(c.limit))
    answer.limits.push_back(count_limit(state_, c.limit));
  else
    answer.allowed = unknown_limit(c.limit);
  effects_.emplace_back(std::move(answer));
}

void turn::run(const list_limit_keys& c) {
  limits_answered answer{c.peer, c.number};
  if (state_.limits.find(c.limit))
    answer.keys = count_limit_keys(state_, c.limit, c.part, c.only_busy, answer.more);
  else
    answer.allowed = unknown_limit(c.limit);
  effects_.emplace_back(std::move(answer));
}

void turn::run(const close_limit_key& c) {
  limits_answered answer{c.peer, c.number};
  task_limit use{c.limit.name, c.limit_key, 1};
  answer.allowed = state_.limits.find(c.limit) ? state_.limits.check_new(c.limit.tenant, {use})
                                               : unknown_limit(c.limit);
  if (answer.allowed) {
    bool closes = c.closed_for > duration{0};
    bool was_closed =
      state_.limits.describe_key(c.limit, c.limit_key).closed_until > now_.shard;
    // Operators ask the owner of the key.
    state_.limits.keys().close(
      state_.limits.place_of(c.limit.tenant, use),
      closes ? now_.shard + c.closed_for : timestamp{});
    auto detail = c.limit.name + ": key \"" + c.limit_key + "\"";
    if (closes)
      detail += " for " + base::format_duration(c.closed_for);
    if (closes || was_closed)
      audit(
        {c.origin,
         closes ? operator_action::limit_close : operator_action::limit_open,
         c.limit.tenant,
         {},
         0,
         0,
         std::move(detail)});
    answer.keys.push_back(count_limit_key(state_, c.limit, c.limit_key));
  }
  effects_.emplace_back(std::move(answer));
}

void turn::end_limited(lease_end e, const lease_report& r) {
  e.charged = false;
  auto& s = *find_segment(state_.segments, e.seq);
  auto until = now_.shard + r.delay.value_or(duration{0});
  const auto tenant = state_.queue_of(s).address.tenant;
  const auto* use = find_use(s, r.limit);
  bool has_key = use && state_.limits.is_defined(tenant, use->name);
  if (!has_key && until > now_.shard) {
    // There is no key to close: the task has no such limit, or the limit was deleted.
    e.next = task_state::scheduled;
    e.due = until;
  }
  append_end(std::move(e));
  if (has_key)
    close_limit(state_, tenant, *find_use(s, r.limit), until);
}

void turn::close_limits() {
  auto used_up = state_.limits.take_used_up();
  auto marks = state_.limits.take_marks();
  // The time until which starts were paid for must not come again, so it is stored with the removal
  // of their marks, in the record about all keys.
  if (std::any_of(marks.begin(), marks.end(), [](const auto& mark) { return mark.is_over; }))
    used_up = state_.limits.used_up_at();
  if (!marks.empty() || used_up != timestamp{})
    limit_keys_.push_back({state_.positions.take(1), now_.shard, std::move(marks), used_up});
  state_.limits.forget_removed();
}

} // namespace codeq::core
