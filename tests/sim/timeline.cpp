// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline.hpp"

#include <algorithm>
#include <utility>

namespace codeq::sim {

void timeline::after(virtual_time wait, action what) {
  entries_.push({now_ + std::max(wait, virtual_time{0}), next_number_++, std::move(what)});
}

bool timeline::step() {
  if (entries_.empty())
    return false;
  // The queue lets nobody move out of it; the entry goes at once.
  auto next = std::move(const_cast<entry&>(entries_.top()));
  entries_.pop();
  now_ = next.when;
  next.what();
  return true;
}

} // namespace codeq::sim
