// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/lookup_desk.hpp"

namespace codeq::coordinator {

namespace {

/// Number of refused look-ups after which waiting ones get a turn. A refusal costs about a
/// hundredth of a turn.
constexpr std::size_t refusals_per_turn = 128;

error no_room(const std::string& what, std::string_view limit, std::size_t max) {
  auto number = std::to_string(max);
  return {
    errc::overloaded,
    "the connection has " + number + " " + what + " waiting; " + std::string(limit) + "="
      + number};
}

} // namespace

std::optional<lookup_refusal> lookup_desk::check(const stored_inquiry& asked) const {
  constexpr std::string_view limit = "lookups_waiting_max";
  auto max = bounds_.inquiries_max;
  if (!asked.is_bounded || inquiries_.size_of(asked.why.peer) < max)
    return std::nullopt;
  auto tenant = asked.asker ? asked.asker->tenant : std::string("default");
  return lookup_refusal{limit, max, std::move(tenant), no_room("look-ups", limit, max)};
}

std::optional<lookup_refusal> lookup_desk::check(const stored_list& asked) const {
  constexpr std::string_view limit = "lists_waiting_max";
  auto max = bounds_.lists_max;
  if (!asked.is_bounded || lists_.size_of(asked.in_memory.peer) < max)
    return std::nullopt;
  const auto& tenant = asked.in_memory.part.filter.tenant;
  return lookup_refusal{limit, max, tenant, no_room("lists", limit, max)};
}

void lookup_desk::take_inquiries(lookup_turn& to) {
  to.inquiries = inquiries_.take();
  if (!to.inquiries.empty())
    to.peers.insert(to.inquiries.front().why.peer);
}

lookup_turn lookup_desk::take() {
  lookup_turn next;
  next.keys = keys_.take();
  take_inquiries(next);
  next.lists = lists_.take();
  for (const auto& list : next.lists)
    next.peers.insert(list.peer);
  next.survivors = survivors_.take();
  return next;
}

lookup_turn lookup_desk::take_after_refusal() {
  lookup_turn next;
  if (++refused_ % refusals_per_turn == 0)
    take_inquiries(next);
  return next;
}

void lookup_desk::drop(core::peer_id peer) {
  inquiries_.drop(peer);
  lists_.drop(peer);
}

} // namespace codeq::coordinator
