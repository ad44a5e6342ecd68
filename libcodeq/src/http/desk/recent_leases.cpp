// SPDX-License-Identifier: Apache-2.0
#include "http/desk/recent_leases.hpp"

#include <functional>
#include <utility>

namespace codeq::http {

answered_lease& recent_leases::place_of(const task_id& task) {
  return places_[std::hash<task_id>{}(task) % places_.size()];
}

void recent_leases::note(answered_lease lease) {
  auto& place = place_of(lease.task);
  place = std::move(lease);
}

std::optional<answered_lease> recent_leases::take(const task_id& task, const caller& by) {
  auto& place = place_of(task);
  bool is_own = place.holder && place.task == task && place.holder->tenant == by.tenant
                && place.holder->subject == by.subject && by.may_use(place.queue);
  if (!is_own)
    return std::nullopt;
  return std::exchange(place, {});
}

} // namespace codeq::http
