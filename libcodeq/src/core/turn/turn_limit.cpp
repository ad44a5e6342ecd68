// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/duration_text.hpp"
#include "core/queues/limit_counts.hpp"
#include "core/queues/limit_forecast.hpp"
#include "core/queues/queue_limits.hpp"
#include "core/state/apply.hpp"
#include "core/state/queue_slots.hpp"
#include "core/state/task_limits.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

/// Definitions of limits, their keys, and attempts that met a foreign limit; permits: what other
/// shards want of limit keys of this shard, and what this shard's tasks have of keys of others.
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

limited_task task_at(shard_state& state, const permit& what, sequence place) {
  return state.limits.describe(
    what.tenant, what.uses,
    {place, what.priority, {}, state.lent.queue_of(what), what.turn.fairness_key});
}

/// The cost of the use in the end; its own cost when that is not told.
std::uint32_t cost_of(const permit_return& returned, const task_limit& use) {
  if (returned.is_unspent)
    return 0;
  auto at = std::find_if(
    returned.costs.begin(), returned.costs.end(), [&](const task_limit& actual) {
      return actual.name == use.name;
    });
  return at == returned.costs.end() ? use.cost : at->cost;
}

/// True unless the tenant uses as many limit keys of this shard as it may, and the permit would use
/// another one of a limit with a rate: it would stay in use after the permit has ended, whereas
/// other keys are in use by tasks that wait already. Its shard asks for it again.
bool has_room_for_keys(const shard_state& state, const permit& what) {
  if (is_slot(what))
    return true;
  return std::all_of(what.uses.begin(), what.uses.end(), [&](const task_limit& use) {
    const auto* limit = state.limits.find({what.tenant, use.name});
    return !limit || !limit->rate || state.limits.check_new(what.tenant, {use});
  });
}

error too_many_closes(const permit_recalls& recalls, const limit_address& limit) {
  return {
    errc::overloaded,
    "limit \"" + limit.name + "\": " + std::to_string(recalls.waiting_of(limit.tenant))
      + " closes of keys of tenant \"" + limit.tenant + "\" wait on this shard, and "
      + std::to_string(recalls.waiting()) + " of all tenants; a tenant may have "
      + std::to_string(permit_recalls::waiting_max) + ", and half of those that others leave of "
      + std::to_string(permit_recalls::waiting_of_all_max)};
}

error not_confirmed(const permit_recalls::ended& made) {
  std::string shards;
  for (auto shard : made.unconfirmed)
    shards += (shards.empty() ? "" : ", ") + std::to_string(value(shard));
  return {
    errc::timeout,
    "limit \"" + made.what.limit.name + "\": key \"" + made.what.key
      + "\" is closed, but what had been admitted may still start on shards that have not "
        "confirmed it: "
      + shards};
}

/// As many messages as it takes to say everything of depths.
std::vector<give_permits> in_parts(give_permits whole) {
  constexpr auto most = static_cast<std::ptrdiff_t>(depth_desk::message_levels_max);
  std::vector<give_permits> parts;
  auto depths = std::exchange(whole.depths, {});
  parts.push_back(std::move(whole));
  for (auto from = depths.begin(); from != depths.end();) {
    auto end = depths.end() - from > most ? from + most : depths.end();
    parts.back().depths.assign(from, end);
    from = end;
    if (from == depths.end())
      break;
    parts.push_back(parts.back());
    parts.back().given.clear();
    parts.back().recalled.clear();
    parts.back().recall = 0;
  }
  return parts;
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
  if (const auto* limit = state_.limits.find(c.limit)) {
    answer.keys = count_limit_keys(state_, c.limit, c.part, c.only_busy, answer.more);
    answer.is_out_of_keys = limit->rate && state_.limits.is_out_of_keys(c.limit.tenant);
  } else {
    answer.allowed = unknown_limit(c.limit);
  }
  effects_.emplace_back(std::move(answer));
}

void turn::run(const close_limit_key& c) {
  const bool closes = c.closed_for > duration{0};
  const task_limit use{c.limit.name, c.limit_key, 1};
  limits_answered answer{c.peer, c.number};
  answer.allowed = state_.limits.find(c.limit) ? state_.limits.check_new(c.limit.tenant, {use})
                                               : unknown_limit(c.limit);
  if (answer.allowed && closes && !state_.recalls.has_room(c.limit.tenant))
    answer.allowed = too_many_closes(state_.recalls, c.limit);
  if (!answer.allowed) {
    effects_.emplace_back(std::move(answer));
    return;
  }
  const bool was_closed =
    state_.limits.describe_key(c.limit, c.limit_key).closed_until > now_.shard;
  // Operators ask the owner of the key.
  state_.limits.keys().close(
    state_.limits.place_of(c.limit.tenant, use), closes ? now_.shard + c.closed_for : timestamp{});
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
  const permit_recalls::close made{c.limit, c.limit_key, c.peer, c.number};
  auto holders = state_.lent.holders_of({c.limit.tenant, c.limit.name, c.limit_key});
  if (!closes || holders.empty())
    return answer_close({made, {}});
  state_.recalls.wait(made, std::move(holders), state_.epoch, now_.steady);
}

void turn::answer_close(const permit_recalls::ended& made) {
  const auto& what = made.what;
  limits_answered answer{what.peer, what.number};
  if (made.unconfirmed.empty())
    answer.keys.push_back(count_limit_key(state_, what.limit, what.key));
  else
    answer.allowed = not_confirmed(made);
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
    close_limit(state_, tenant, *find_use(s, r.limit), until, state_.id);
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

void turn::run(const ask_permits& c) {
  auto& asker = state_.lent.of(c.from);
  asker.heard_at = now_.steady;
  bool is_past =
    std::pair(c.session, c.number) <= std::pair(asker.session, asker.heard);
  if (is_past)
    return;
  state_.recalls.confirm(c.from, c.session, c.recall);
  auto& answer = permits_given_[c.from];
  answer.session = c.session;
  if (!c.is_list && (c.session != asker.session || asker.is_doubtful)) {
    answer.wants_list = true;
    return;
  }
  asker.session = c.session;
  asker.heard = c.number;
  answer.heard = c.number;
  answer.wants_list = false;
  for (const auto& closed : c.closed)
    close_limit(state_, closed.tenant, closed.use, now_.shard + closed.lasting, c.from);
  for (const auto& returned : c.returned)
    take_back(c, returned);
  if (c.is_list)
    take_list(c);
  for (const auto& wanted : c.wanted) {
    if (asker.booked.contains(wanted.number))
      answer.given.push_back(wanted.number);
    else if (!asker.waiting.contains(wanted.number))
      want(c.from, wanted);
  }
  for (const auto& level : c.levels)
    take_level(c.from, level);
}

void turn::want(shard_id asker, const permit& what) {
  if (has_room_for_keys(state_, what))
    return state_.lent.want(asker, what);
  if (tenants_out_of_keys_.insert(what.tenant).second)
    effects_.emplace_back(limit_keys_met{what.tenant});
}

void turn::take_back(const ask_permits& c, const permit_return& what) {
  auto& asker = state_.lent.of(c.from);
  if (auto waiting = asker.waiting.find(what.number); waiting != asker.waiting.end())
    drop_wanted(waiting->second);
  auto booked = asker.booked.find(what.number);
  if (booked == asker.booked.end())
    return;
  if (is_slot(booked->second)) {
    if (what.is_unspent)
      state_.lent.note_missed(queue_of_slot(booked->second), c.from);
  } else {
    for (const auto& use : booked->second.uses)
      state_.limits.keys().settle(
        {state_.limits.place_of(booked->second.tenant, use), use.cost}, cost_of(what, use),
        booked->second.charged_at, now_.shard);
  }
  permits_changed change;
  change.freed.push_back(what.number);
  change_permit(c.from, std::move(change));
}

void turn::drop_wanted(sequence place) {
  const auto& what = state_.lent.find(place)->what;
  if (!is_slot(what))
    state_.limits.keys().drop(task_at(state_, what, place));
  state_.lent.forget(place);
}

void turn::take_list(const ask_permits& c) {
  auto& asker = state_.lent.of(c.from);
  asker.is_doubtful = false;
  for (const auto& [number, place] : std::map<permit_number, sequence>(asker.waiting))
    drop_wanted(place);
  permits_changed change;
  std::set<permit_number> held;
  for (const auto& has : c.held) {
    held.insert(has.number);
    if (!asker.booked.contains(has.number))
      change.booked.push_back(has);
  }
  for (const auto& [number, booked] : asker.booked)
    if (!held.contains(number))
      change.freed.push_back(number);
  if (!change.booked.empty() || !change.freed.empty())
    change_permit(c.from, std::move(change));
}

void turn::change_permit(shard_id shard, permits_changed change) {
  const auto& asker = state_.lent.of(shard);
  auto [at, is_first] = permits_.try_emplace(shard);
  auto& record = at->second;
  if (is_first) {
    record.position = state_.positions.take(1);
    record.asker = shard;
  }
  record.at = now_.shard;
  record.session = asker.session;
  record.heard = asker.heard;
  change.asker = shard;
  change.session = asker.session;
  change.heard = asker.heard;
  change_permits(state_, change);
  // A booking that is made again in the same turn stays.
  for (const auto& booked : change.booked)
    std::erase(record.freed, booked.number);
  std::move(change.booked.begin(), change.booked.end(), std::back_inserter(record.booked));
  record.freed.insert(record.freed.end(), change.freed.begin(), change.freed.end());
}

void turn::give_wanted(sequence place) {
  const auto* wanted = state_.lent.find(place);
  auto asker = wanted->asker;
  permits_changed change;
  change.booked.push_back(wanted->what);
  change.booked.back().turn = {};
  change.booked.back().charged_at = now_.shard;
  permits_given_[asker].given.push_back(wanted->what.number);
  state_.lent.forget(place);
  change_permit(asker, std::move(change));
}

void turn::book_permits(bool in_turns) {
  for (auto place : state_.lent.wanted_in_vain(now_.steady))
    drop_wanted(place);
  book_slots(in_turns);
  auto& keys = state_.limits.keys();
  for (auto place : state_.lent.take_to_look_at()) {
    const auto* wanted = state_.lent.find(place);
    if (!wanted)
      continue;
    auto task = task_at(state_, wanted->what, place);
    if (auto refused = keys.check(task, now_.shard)) {
      keys.hold(task, *refused, state_.lent.terms_of(task.queue, task.fairness_key));
      continue;
    }
    bool is_next = std::none_of(task.uses.begin(), task.uses.end(), [&](const limit_use& use) {
      return keys.was_permitted(use.at);
    });
    if (in_turns && !is_next) {
      state_.lent.look_at(place);
      continue;
    }
    keys.drop(task);
    keys.charge(task, now_.shard);
    give_wanted(place);
    for (const auto& use : task.uses)
      keys.note_permitted(use.at, task.queue);
  }
}

void turn::run(const give_permits& c) {
  const auto has_rate = [this](const std::string& tenant, const task_limit& use) {
    const auto* limit = state_.limits.find({tenant, use.name});
    return limit && limit->rate;
  };
  admit(state_, state_.permits.hear(c, now_.steady, has_rate));
  hear_depths(c);
  take_changed_slots(state_);
}

void turn::settle_paused() {
  const auto& awaiting = state_.permits.awaiting();
  const auto were_paused = std::exchange(state_.were_grants_paused, state_.are_grants_paused);
  if (were_paused != state_.are_grants_paused)
    for (const auto& [index, keys] : awaiting)
      changed_queues_.insert(index);
  for (auto index : changed_queues_) {
    if (!awaiting.contains(index))
      continue;
    const auto& queue = *state_.queues[index];
    // A queue whose workers are busy, or claim only now and then, goes on: they may have a credit
    // when the permit comes.
    const auto is_idle = state_.are_grants_paused || queue.settings.paused;
    state_.permits.set_idle(index, queue.address.tenant, is_idle, now_.steady);
  }
}

void turn::say_recalls() {
  if (state_.recalls.empty())
    return;
  for (const auto& made : state_.recalls.take_ended(now_.steady))
    answer_close(made);
  for (auto& letter : state_.recalls.say(now_.steady, state_.lent.having())) {
    auto& said = permits_given_[letter.to];
    said.recalled = std::move(letter.keys);
    said.recall = letter.recall;
  }
}

void turn::say_permits() {
  say_recalls();
  for (auto shard : state_.lent.take_questions(now_.steady))
    permits_given_[shard].wants_list = true;
  for (auto& [shard, said] : depths_given_) {
    auto& depths = permits_given_[shard].depths;
    depths.reserve(said.size());
    for (auto& [queue, one] : said)
      depths.push_back(std::move(one));
  }
  for (auto& [shard, answer] : permits_given_) {
    const auto& asker = state_.lent.of(shard);
    answer.by = state_.id;
    // An answer to an older process than the one that asks is its question for a list.
    answer.session = std::max(answer.session, asker.session);
    answer.heard = std::max(answer.heard, asker.heard);
    for (auto& part : in_parts(std::move(answer)))
      effects_.emplace_back(shard_told{shard, std::move(part)});
  }
  for (auto& letter : state_.permits.say(now_.steady, fairness_terms(state_)))
    effects_.emplace_back(shard_told{letter.to, std::move(letter.what)});
}

} // namespace codeq::core
