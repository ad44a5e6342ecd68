// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline.hpp"

#include <algorithm>
#include <utility>

namespace codeq::sim {

void timeline::after(virtual_time wait, action what) {
  entries_.push_back({now_ + std::max(wait, virtual_time{0}), next_number_++, std::move(what)});
  std::push_heap(entries_.begin(), entries_.end(), std::greater<>{});
}

bool timeline::step() {
  if (entries_.empty())
    return false;
  std::pop_heap(entries_.begin(), entries_.end(), std::greater<>{});
  auto next = std::move(entries_.back());
  entries_.pop_back();
  now_ = next.when;
  next.what();
  return true;
}

} // namespace codeq::sim
