// SPDX-License-Identifier: Apache-2.0
#include "support/random_writes.hpp"

#include "storage/keys/keyspace.hpp"

#include <charconv>
#include <memory>
#include <utility>

namespace codeq::test {

using namespace storage;

namespace {

constexpr std::uint64_t shard_count = 3;

std::string take(std::vector<std::string>& keys, std::uint64_t index) {
  std::swap(keys[index], keys.back());
  auto key = std::move(keys.back());
  keys.pop_back();
  return key;
}

} // namespace

random_writes::random_writes(std::uint64_t seed, shape what)
  : random_(seed), shape_(std::move(what)) {
}

write_group random_writes::next() {
  ++made_;
  write_group group(1 + below(shape_.sets_max));
  for (auto& element : group) {
    auto set = std::make_shared<write_set>();
    for (auto left = 1 + below(shape_.operations_max); left > 0; --left)
      add_operation(*set);
    if (&element == &group.back())
      set->put(store_key{}.encode(), std::to_string(made_));
    element = std::move(set);
  }
  return group;
}

void random_writes::add_operation(write_set& set) {
  auto shard = shard_id{static_cast<std::uint16_t>(below(shard_count))};
  auto number = next_number_++;
  switch (below(8)) {
  case 0:
  case 1:
    removable_.push_back(segment_key{shard, number}.encode());
    return set.put(removable_.back(), random_value());
  case 2:
    removable_.push_back(grant_key{shard, number}.encode());
    return set.put(removable_.back(), random_value());
  case 3:
    return set.put(outcome_key{shard, number}.encode(), random_value());
  case 4:
    overwritable_.push_back(block_key{shard, number}.encode());
    return set.put(overwritable_.back(), random_value());
  case 5:
    if (!overwritable_.empty())
      return set.put(overwritable_[below(overwritable_.size())], random_value());
    return set.put(shard_key{shard}.encode(), random_value());
  case 6:
    if (!overwritable_.empty())
      return set.remove(take(overwritable_, below(overwritable_.size())));
    return set.put(shard_key{shard}.encode(), random_value());
  default:
    if (!removable_.empty())
      return set.single_remove(take(removable_, below(removable_.size())));
    return set.put(shard_key{shard}.encode(), random_value());
  }
}

std::string random_writes::random_value() {
  std::string value(below(shape_.value_bytes_max + 1), '\0');
  const auto& part = shape_.value_part;
  for (std::size_t at = 0; at < value.size(); ++at)
    value[at] = part.empty() ? static_cast<char>(random_()) : part[at % part.size()];
  return value;
}

std::uint64_t random_writes::group_in(const contents& state) {
  auto found = state.find(store_key{}.encode());
  std::uint64_t number = 0;
  if (found != state.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

void random_writes::continue_from(const contents& state) {
  made_ = group_in(state);
  removable_.clear();
  overwritable_.clear();
  for (const auto& [key, value] : state)
    if (segment_key::decode(key) || grant_key::decode(key))
      removable_.push_back(key);
    else if (block_key::decode(key))
      overwritable_.push_back(key);
}

} // namespace codeq::test
