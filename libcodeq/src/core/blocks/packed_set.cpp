// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/packed_set.hpp"

#include "base/assert.hpp"
#include "core/blocks/packed_numbers.hpp"

#include <algorithm>
#include <iterator>

namespace codeq::core {

namespace {

/// Maximum size of erased elements at the front of a leaf.
constexpr std::size_t skipped_bytes_max = 256;

/// The memory of a leaf grows by this size, since twice its size would mostly remain unused.
constexpr std::size_t growth_bytes = 64;

void append_element(std::string& bytes, const number_pair& last, const number_pair& next) {
  append_distance(bytes, last.first, next.first);
  append_distance(bytes, last.second, next.second);
}

number_pair read_element(number_reader& from, const number_pair& last) {
  auto first = from.distance_from(last.first);
  return {first, from.distance_from(last.second)};
}

/// Makes room for one more element.
void make_room(std::string& bytes) {
  auto wanted = bytes.size() + 2 * number_bytes_max;
  if (wanted <= bytes.capacity())
    return;
  std::string grown;
  grown.reserve(wanted + growth_bytes);
  grown.append(bytes);
  bytes = std::move(grown);
}

} // namespace

packed_set::leaf_map::const_iterator packed_set::leaf_of(const number_pair& pair) const {
  auto at = leaves_.upper_bound(pair);
  return at == leaves_.begin() ? leaves_.end() : std::prev(at);
}

std::vector<number_pair> packed_set::unpack(const leaf_map::value_type& packed) const {
  const auto& [first, rest] = packed;
  std::vector<number_pair> elements;
  elements.reserve(leaf_elements_max_ + 1);
  elements.push_back(first);
  number_reader from(rest.bytes, rest.skipped);
  while (elements.size() < rest.count)
    elements.push_back(read_element(from, elements.back()));
  if (!rest.is_ordered()) {
    auto added = elements.begin() + rest.ordered;
    std::sort(added, elements.end());
    std::inplace_merge(elements.begin(), added, elements.end());
  }
  return elements;
}

void packed_set::append(leaf& target, const number_pair& pair) {
  make_room(target.bytes);
  append_element(target.bytes, target.last, pair);
  target.ordered += target.is_ordered() && pair > target.last ? 1 : 0;
  target.last = pair;
  ++target.count;
}

void packed_set::add_leaf(
  const std::vector<number_pair>& ascending, std::size_t from, std::size_t to) {
  leaf made;
  made.last = ascending[to - 1];
  made.count = made.ordered = static_cast<std::uint32_t>(to - from);
  for (auto i = from + 1; i < to; ++i)
    append_element(made.bytes, ascending[i - 1], ascending[i]);
  made.bytes.shrink_to_fit();
  leaves_.emplace_hint(leaves_.end(), ascending[from], std::move(made));
}

void packed_set::replace(leaf_map::const_iterator old, const std::vector<number_pair>& ascending) {
  leaves_.erase(old);
  if (ascending.empty())
    return;
  auto size = ascending.size();
  auto half = size > leaf_elements_max_ ? size / 2 : size;
  add_leaf(ascending, 0, half);
  if (half < size)
    add_leaf(ascending, half, size);
}

void packed_set::assign(const std::vector<number_pair>& ascending) {
  CODEQ_ASSERT(leaves_.empty());
  for (std::size_t at = 0; at < ascending.size(); at += leaf_elements_max_)
    add_leaf(ascending, at, std::min(at + leaf_elements_max_, ascending.size()));
  size_ = ascending.size();
}

void packed_set::insert(const number_pair& pair) {
  ++size_;
  auto next = leaves_.upper_bound(pair);
  if (leaves_.empty())
    return add_leaf({pair}, 0, 1);
  auto at = next == leaves_.begin() ? next : std::prev(next);
  auto& target = at->second;
  bool is_full = target.count >= leaf_elements_max_;
  if (pair > at->first && !is_full)
    return append(target, pair);
  bool is_behind_all = next == leaves_.end() && target.is_ordered() && pair > target.last;
  if (is_behind_all) {
    target.bytes.shrink_to_fit();
    return add_leaf({pair}, 0, 1);
  }
  auto elements = unpack(*at);
  elements.insert(std::lower_bound(elements.begin(), elements.end(), pair), pair);
  replace(at, elements);
}

bool packed_set::erase(const number_pair& pair) {
  auto at = leaf_of(pair);
  if (at == leaves_.end())
    return false;
  if (at->first == pair) {
    pop_first_of(at);
    return true;
  }
  auto elements = unpack(*at);
  auto place = std::lower_bound(elements.begin(), elements.end(), pair);
  if (place == elements.end() || *place != pair)
    return false;
  elements.erase(place);
  replace(at, elements);
  --size_;
  return true;
}

void packed_set::order_front() {
  if (!leaves_.begin()->second.is_ordered())
    replace(leaves_.begin(), unpack(*leaves_.begin()));
}

std::size_t packed_set::front_run(std::size_t limit) {
  order_front();
  const auto& [first, rest] = *leaves_.begin();
  auto most = std::min<std::size_t>(limit, rest.count);
  number_reader from(rest.bytes, rest.skipped);
  auto last = first;
  for (std::size_t count = 1; count < most; ++count) {
    auto next = read_element(from, last);
    if (next != number_pair{last.first + 1, last.second})
      return count;
    last = next;
  }
  return most;
}

void packed_set::pop_front() {
  pop_first_of(leaves_.begin());
}

void packed_set::pop_first_of(leaf_map::const_iterator at) {
  if (!at->second.is_ordered()) {
    const auto first = at->first;
    replace(at, unpack(*at));
    at = leaves_.find(first);
  }
  const auto next = std::next(at);
  auto node = leaves_.extract(at);
  --size_;
  auto& rest = node.mapped();
  --rest.ordered;
  if (--rest.count == 0)
    return;
  number_reader from(rest.bytes, rest.skipped);
  node.key() = read_element(from, node.key());
  rest.skipped = static_cast<std::uint32_t>(from.at());
  // Otherwise a short leaf that never becomes empty would keep all elements that were ever in it.
  if (rest.skipped >= skipped_bytes_max) {
    rest.bytes.erase(0, rest.skipped);
    rest.skipped = 0;
  }
  leaves_.insert(next, std::move(node));
}

bool packed_set::contains(const number_pair& pair) const {
  auto found = first_from(pair);
  return found && *found == pair;
}

std::optional<number_pair> packed_set::first_from(const number_pair& pair) const {
  auto at = leaf_of(pair);
  if (at != leaves_.end()) {
    std::optional<number_pair> found;
    auto element = at->first;
    number_reader from(at->second.bytes, at->second.skipped);
    for (std::uint32_t i = 0; i < at->second.count; ++i) {
      element = i == 0 ? element : read_element(from, element);
      if (element >= pair && (!found || element < *found))
        found = element;
    }
    if (found)
      return found;
  }
  auto next = at == leaves_.end() ? leaves_.begin() : std::next(at);
  if (next == leaves_.end())
    return std::nullopt;
  return next->first;
}

void packed_set::for_each(const std::function<bool(const number_pair&)>& visit) const {
  for (const auto& packed : leaves_) {
    for (const auto& element : unpack(packed)) {
      if (!visit(element))
        return;
    }
  }
}

std::vector<number_pair> packed_set::elements() const {
  std::vector<number_pair> all;
  all.reserve(size_);
  for_each([&](const number_pair& element) {
    all.push_back(element);
    return true;
  });
  return all;
}

} // namespace codeq::core
