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

/// @pre `next` is greater than `last`
void append_element(std::string& bytes, const number_pair& last, const number_pair& next) {
  append_number(bytes, next.first - last.first);
  append_distance(bytes, last.second, next.second);
}

number_pair read_element(number_reader& from, const number_pair& last) {
  auto first = last.first + from.number();
  return {first, from.distance_from(last.second)};
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
  return elements;
}

void packed_set::add_leaf(
  const std::vector<number_pair>& ascending, std::size_t from, std::size_t to) {
  leaf made;
  made.last = ascending[to - 1];
  made.count = static_cast<std::uint32_t>(to - from);
  for (auto i = from + 1; i < to; ++i)
    append_element(made.bytes, ascending[i - 1], ascending[i]);
  made.bytes.shrink_to_fit();
  leaves_.emplace_hint(leaves_.end(), ascending[from], std::move(made));
}

void packed_set::assign(const std::vector<number_pair>& ascending) {
  CODEQ_ASSERT(leaves_.empty());
  for (std::size_t at = 0; at < ascending.size(); at += leaf_elements_max_)
    add_leaf(ascending, at, std::min(at + leaf_elements_max_, ascending.size()));
  size_ = ascending.size();
}

bool packed_set::insert(const number_pair& pair) {
  auto found = leaf_of(pair);
  if (found == leaves_.end() && !leaves_.empty())
    found = leaves_.begin();
  if (found == leaves_.end()) {
    add_leaf({pair}, 0, 1);
    ++size_;
    return true;
  }
  auto at = leaves_.find(found->first);
  auto& target = at->second;
  if (pair > target.last && std::next(at) == leaves_.end()) {
    if (target.count >= leaf_elements_max_) {
      target.bytes.shrink_to_fit();
      add_leaf({pair}, 0, 1);
    } else {
      append_element(target.bytes, target.last, pair);
      target.last = pair;
      ++target.count;
    }
    ++size_;
    return true;
  }
  auto elements = unpack(*at);
  auto place = std::lower_bound(elements.begin(), elements.end(), pair);
  if (place != elements.end() && *place == pair)
    return false;
  elements.insert(place, pair);
  leaves_.erase(at);
  auto half = elements.size() > leaf_elements_max_ ? elements.size() / 2 : elements.size();
  add_leaf(elements, 0, half);
  if (half < elements.size())
    add_leaf(elements, half, elements.size());
  ++size_;
  return true;
}

bool packed_set::erase(const number_pair& pair) {
  if (!leaves_.empty() && front() == pair) {
    pop_front();
    return true;
  }
  auto at = leaf_of(pair);
  if (at == leaves_.end() || pair > at->second.last)
    return false;
  auto elements = unpack(*at);
  auto place = std::lower_bound(elements.begin(), elements.end(), pair);
  if (place == elements.end() || *place != pair)
    return false;
  elements.erase(place);
  leaves_.erase(at);
  if (!elements.empty())
    add_leaf(elements, 0, elements.size());
  --size_;
  return true;
}

void packed_set::pop_front() {
  auto node = leaves_.extract(leaves_.begin());
  --size_;
  auto& rest = node.mapped();
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
  leaves_.insert(leaves_.begin(), std::move(node));
}

bool packed_set::contains(const number_pair& pair) const {
  auto found = first_from(pair);
  return found && *found == pair;
}

std::optional<number_pair> packed_set::first_from(const number_pair& pair) const {
  auto at = leaf_of(pair);
  if (at != leaves_.end() && pair <= at->second.last) {
    auto element = at->first;
    number_reader from(at->second.bytes, at->second.skipped);
    while (element < pair)
      element = read_element(from, element);
    return element;
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
