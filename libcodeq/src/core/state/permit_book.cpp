// SPDX-License-Identifier: Apache-2.0
#include "core/state/permit_book.hpp"

#include "core/state/shard_state.hpp"

#include <algorithm>
#include <utility>

namespace codeq::core {

namespace {

bool must_list(const permit_book::asker_state& asker) {
  return asker.is_doubtful && !asker.booked.empty();
}

/// The number of a queue's slots that other shards have has changed.
void note_lent(shard_state& state, const queue_address& queue, std::uint64_t lent) {
  auto at = state.queue_index.find(queue);
  if (at == state.queue_index.end())
    return;
  state.queues[at->second]->lent = lent;
  state.stir(at->second);
}

/// Another shard has got a permit.
void book(shard_state& state, const permit& booked) {
  if (is_slot(booked)) {
    auto queue = queue_of_slot(booked);
    return note_lent(state, queue, state.lent.count_lent(queue, false));
  }
  state.limits.keys().occupy(state.limits.describe(
    booked.tenant, booked.uses, {first_permit_place, booked.priority, {}, first_permit_queue}));
}

/// It has returned it.
void unbook(shard_state& state, const permit& freed) {
  if (is_slot(freed)) {
    auto queue = queue_of_slot(freed);
    return note_lent(state, queue, state.lent.count_lent(queue, true));
  }
  state.limits.keys().free(
    state.limits.describe(freed.tenant, freed.uses, {}).uses, state.at);
}

} // namespace

permit_book::slot_place permit_book::place_of(const wanted_permit& wanted, sequence place) {
  return {-int{wanted.what.priority}, wanted.is_repeated ? 0 : 1, place};
}

std::set<shard_id> permit_book::having() const {
  std::set<shard_id> found;
  for (const auto& [shard, asker] : askers_)
    if (!asker.booked.empty())
      found.insert(shard);
  return found;
}

permit_recalls::holders permit_book::holders_of(const permit_recall& key) const {
  const auto is_of_key = [&](const auto& one) {
    const permit& what = one.second;
    return what.tenant == key.tenant
           && std::any_of(what.uses.begin(), what.uses.end(), [&](const task_limit& use) {
                return use.name == key.limit && use.key == key.key;
              });
  };
  permit_recalls::holders found;
  for (const auto& [shard, asker] : askers_)
    if (std::any_of(asker.booked.begin(), asker.booked.end(), is_of_key))
      found.emplace(shard, asker.session);
  return found;
}

std::uint64_t permit_book::lent_of(const queue_address& queue) const {
  auto at = slots_.find(queue);
  return at == slots_.end() ? 0 : at->second.lent;
}

std::uint64_t permit_book::count_lent(const queue_address& queue, bool is_returned) {
  auto& line = slots_[queue];
  line.lent += is_returned ? -1 : 1;
  line.was_lent = line.was_lent || !is_returned;
  if (is_returned)
    look_at_slots(queue);
  note_used(queue, line);
  return line.lent;
}

void permit_book::note_own_lease(const queue_address& queue) {
  auto at = slots_.find(queue);
  if (at == slots_.end())
    return;
  at->second.was_lent = false;
  at->second.kept_until = std::nullopt;
}

bool permit_book::keep_slot(const queue_address& queue, monotonic_time now) {
  auto& until = slots_.at(queue).kept_until;
  if (!until)
    until = now + own_claim_wait;
  return now < *until;
}

void permit_book::note_missed(const queue_address& queue, shard_id asker) {
  if (auto at = slots_.find(queue); at != slots_.end())
    at->second.has_missed.insert(asker);
}

void permit_book::look_at_slots(const queue_address& queue) {
  auto at = slots_.find(queue);
  if (at != slots_.end() && !at->second.waiting.empty())
    slots_to_look_at_.insert(queue);
}

void permit_book::note_used(const queue_address& queue, const slot_line& line) {
  if (line.waiting.empty())
    slots_to_look_at_.erase(queue);
  if (line.waiting.empty() && line.lent == 0)
    unused_.insert(queue);
  else
    unused_.erase(queue);
}

void permit_book::note_slots_seen(std::set<queue_address> kept) {
  slots_to_look_at_ = std::move(kept);
  for (const auto& queue : std::exchange(unused_, {}))
    slots_.erase(queue);
}

void permit_book::want(shard_id asker, const permit& what) {
  auto place = next_place_++;
  askers_[asker].waiting.emplace(what.number, place);
  auto& wanted = wanted_.emplace(place, wanted_permit{asker, what}).first->second;
  if (!is_slot(what)) {
    count_wanted(what);
    return fresh_.push_back(place);
  }
  auto queue = queue_of_slot(what);
  auto& line = slots_[queue];
  wanted.is_repeated = line.has_missed.erase(asker) > 0;
  line.waiting.insert(place_of(wanted, place));
  note_used(queue, line);
  slots_to_look_at_.insert(std::move(queue));
}

const permit_book::wanted_permit* permit_book::find(sequence place) const {
  auto at = wanted_.find(place);
  return at == wanted_.end() ? nullptr : &at->second;
}

void permit_book::forget(sequence place) {
  auto at = wanted_.find(place);
  if (at == wanted_.end())
    return;
  const auto& what = at->second.what;
  askers_.at(at->second.asker).waiting.erase(what.number);
  if (!is_slot(what)) {
    discount_wanted(what);
  } else {
    auto queue = queue_of_slot(what);
    auto& line = slots_.at(queue);
    line.waiting.erase(place_of(at->second, place));
    note_used(queue, line);
  }
  wanted_.erase(at);
}

void permit_book::count_wanted(const permit& what) {
  const auto [at, is_new] = queues_.try_emplace({what.tenant, what.turn.queue});
  while (is_new && (at->second < first_permit_queue || terms_.contains(at->second)))
    at->second = last_queue_ = std::max(last_queue_ + 1, first_permit_queue);
  auto& known = terms_[at->second][what.turn.fairness_key];
  ++known.wanted;
  known.now = {{what.turn.key_weight, what.turn.group_weight}, what.turn.cost};
}

void permit_book::discount_wanted(const permit& what) {
  const auto queue = queues_.find({what.tenant, what.turn.queue});
  const auto of = terms_.find(queue->second);
  const auto known = of->second.find(what.turn.fairness_key);
  if (--known->second.wanted > 0)
    return;
  of->second.erase(known);
  if (!of->second.empty())
    return;
  terms_.erase(of);
  queues_.erase(queue);
}

std::uint32_t permit_book::queue_of(const permit& what) const {
  return queues_.at({what.tenant, what.turn.queue});
}

fair_terms permit_book::terms_of(std::uint32_t queue, std::string_view key) const {
  const auto of = terms_.find(queue);
  if (of == terms_.end())
    return {};
  const auto known = of->second.find(key);
  return known == of->second.end() ? fair_terms{} : known->second.now;
}

std::vector<sequence> permit_book::take_to_look_at() {
  auto all = std::exchange(to_look_at_, {});
  all.insert(all.end(), fresh_.begin(), fresh_.end());
  fresh_.clear();
  return all;
}

std::vector<sequence> permit_book::wanted_in_vain(monotonic_time now) const {
  std::vector<sequence> places;
  for (const auto& [shard, asker] : askers_)
    if (asker.is_doubtful || asker.heard_at + silent_max <= now)
      for (const auto& [number, place] : asker.waiting)
        places.push_back(place);
  return places;
}

void permit_book::doubt_all() {
  for (auto& [shard, asker] : askers_)
    asker.is_doubtful = true;
  look_ = {};
}

void permit_book::doubt(shard_id shard) {
  auto at = askers_.find(shard);
  if (at == askers_.end())
    return;
  at->second.is_doubtful = true;
  look_ = {};
}

std::vector<shard_id> permit_book::take_questions(monotonic_time now) {
  std::vector<shard_id> asked;
  if (now < look_)
    return asked;
  for (const auto& [shard, asker] : askers_)
    if (must_list(asker))
      asked.push_back(shard);
  if (!asked.empty())
    look_ = now + ask_again;
  return asked;
}

std::optional<monotonic_time> permit_book::next_look() const {
  std::optional<monotonic_time> next;
  auto sooner = [&](monotonic_time at) { next = std::min(next.value_or(at), at); };
  if (std::any_of(askers_.begin(), askers_.end(), [](const auto& one) {
        return must_list(one.second);
      }))
    sooner(look_);
  for (const auto& queue : slots_to_look_at_)
    if (const auto& kept = slots_.at(queue).kept_until)
      sooner(*kept);
  return next;
}

void change_permits(shard_state& state, const permits_changed& e) {
  auto& asker = state.lent.of(e.asker);
  asker.session = e.session;
  asker.heard = e.heard;
  for (const auto& booked : e.booked)
    if (is_depth(booked))
      state.depths.book(e.asker, booked);
    else if (asker.booked.emplace(booked.number, booked).second)
      book(state, booked);
  for (auto number : e.freed)
    if (auto found = asker.booked.extract(number); !found.empty())
      unbook(state, found.mapped());
    else
      state.depths.free(e.asker, number);
}

} // namespace codeq::core
