// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/position_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace codeq::core {

namespace {

using positions = std::vector<log_position>;

positions union_of(const positions& a, const positions& b) {
  positions all;
  all.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

positions difference_of(const positions& a, const positions& b) {
  positions left;
  left.reserve(a.size());
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

bool has(const positions& ascending, log_position position) {
  return std::binary_search(ascending.begin(), ascending.end(), position);
}

} // namespace

position_set::position_set(std::vector<log_position> all) {
  push({std::move(all), {}});
}

bool position_set::contains(log_position position) const {
  for (auto at = layers_.rbegin(); at != layers_.rend(); ++at) {
    if (has((*at)->added, position))
      return true;
    if (has((*at)->removed, position))
      return false;
  }
  return false;
}

position_set
position_set::changed(std::vector<log_position> added, std::vector<log_position> removed) const {
  auto next = *this;
  next.push({std::move(added), std::move(removed)});
  return next;
}

std::vector<log_position> position_set::all() const {
  layer merged;
  for (const auto& next : layers_)
    merged = merge(merged, *next, true);
  return std::move(merged.added);
}

std::size_t position_set::size_max() const {
  std::size_t most = 0;
  for (const auto& one : layers_)
    most += one->added.size();
  return most;
}

position_set::layer position_set::merge(const layer& lower, const layer& upper, bool is_bottom) {
  layer both;
  both.added = union_of(difference_of(lower.added, upper.removed), upper.added);
  if (!is_bottom)
    both.removed = union_of(difference_of(lower.removed, upper.added), upper.removed);
  return both;
}

void position_set::push(layer top) {
  if (layers_.empty())
    top.removed.clear();
  while (!layers_.empty() && layers_.back()->size() <= 2 * top.size()) {
    top = merge(*layers_.back(), top, layers_.size() == 1);
    layers_.pop_back();
  }
  if (top.size() > 0)
    layers_.push_back(std::make_shared<const layer>(std::move(top)));
}

} // namespace codeq::core
