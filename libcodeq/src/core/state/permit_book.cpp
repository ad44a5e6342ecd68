// SPDX-License-Identifier: Apache-2.0
#include "core/state/permit_book.hpp"

#include "core/state/shard_state.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

bool must_list(const permit_book::asker_state& asker) {
  return asker.is_doubtful && !asker.booked.empty();
}

} // namespace

void permit_book::want(shard_id asker, const permit& what) {
  auto place = next_place_++;
  askers_[asker].waiting.emplace(what.number, place);
  wanted_.emplace(place, wanted_permit{asker, what});
  look_at(place);
}

const permit_book::wanted_permit* permit_book::find(sequence place) const {
  auto at = wanted_.find(place);
  return at == wanted_.end() ? nullptr : &at->second;
}

void permit_book::forget(sequence place) {
  auto at = wanted_.find(place);
  if (at == wanted_.end())
    return;
  askers_.at(at->second.asker).waiting.erase(at->second.what.number);
  wanted_.erase(at);
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
  bool any = std::any_of(
    askers_.begin(), askers_.end(), [](const auto& one) { return must_list(one.second); });
  return any ? std::optional(look_) : std::nullopt;
}

void change_permits(shard_state& state, const permits_changed& e) {
  auto& asker = state.lent.of(e.asker);
  asker.session = e.session;
  asker.heard = e.heard;
  for (const auto& booked : e.booked)
    if (asker.booked.emplace(booked.number, booked).second)
      state.limits.keys().occupy(state.limits.describe(
        booked.tenant, booked.uses, {first_permit_place, booked.priority, {}, permit_queue}));
  for (auto number : e.freed)
    if (auto found = asker.booked.extract(number); !found.empty())
      state.limits.keys().free(
        state.limits.describe(found.mapped().tenant, found.mapped().uses, {}).uses, state.at);
}

} // namespace codeq::core
