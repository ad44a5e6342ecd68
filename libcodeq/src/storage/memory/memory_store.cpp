// SPDX-License-Identifier: Apache-2.0
#include "storage/memory/memory_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace codeq::storage {

namespace {

class memory_view final : public store_view {
public:
  explicit memory_view(std::map<std::string, std::string, std::less<>> pairs)
    : pairs_(std::move(pairs)) {}

  result<void>
  scan(std::string_view begin, std::string_view end, const pair_visitor& visit) override {
    for (auto at = pairs_.lower_bound(begin); at != pairs_.end() && at->first < end; ++at)
      if (!visit(at->first, at->second))
        break;
    return {};
  }

private:
  std::map<std::string, std::string, std::less<>> pairs_;
};

} // namespace

result<void>
memory_store::commit(std::span<const std::shared_ptr<const write_set>> sets, durability mode) {
  std::lock_guard lock{mutex_};
  for (const auto& set : sets) {
    apply(current_, *set);
    operations_ += set->operations().size();
  }
  unsynced_.emplace_back(sets.begin(), sets.end());
  if (mode == durability::sync)
    bring_to_disk();
  return {};
}

result<void> memory_store::sync_log() {
  std::lock_guard lock{mutex_};
  bring_to_disk();
  return {};
}

result<std::optional<std::string>> memory_store::read(std::string_view key) const {
  std::lock_guard lock{mutex_};
  auto found = current_.find(key);
  if (found == current_.end())
    return std::optional<std::string>{};
  return std::optional{found->second};
}

bool memory_store::may_have(std::string_view key) const {
  std::lock_guard lock{mutex_};
  return current_.contains(key);
}

result<void>
memory_store::read_many(std::span<const std::string> keys, const value_visitor& visit) const {
  for (std::size_t place = 0; place < keys.size(); ++place) {
    auto value = read(keys[place]);
    if (!value)
      return value.error();
    if (*value && !visit(place, **value))
      break;
  }
  return {};
}

result<void>
memory_store::scan(std::string_view begin, std::string_view end, const pair_visitor& visit) const {
  // Visits a copy, so that the visitor sees one point in time, whatever it does to the store.
  std::vector<std::pair<std::string, std::string>> pairs;
  {
    std::lock_guard lock{mutex_};
    for (auto at = current_.lower_bound(begin); at != current_.end() && at->first < end; ++at)
      pairs.emplace_back(*at);
  }
  for (const auto& [key, value] : pairs)
    if (!visit(key, value))
      break;
  return {};
}

std::unique_ptr<store_view> memory_store::view() const {
  std::lock_guard lock{mutex_};
  return std::make_unique<memory_view>(current_);
}

result<std::optional<std::pair<std::string, std::string>>>
memory_store::read_last(std::string_view begin, std::string_view end) const {
  std::lock_guard lock{mutex_};
  auto after = current_.lower_bound(end);
  if (after == current_.begin() || std::prev(after)->first < begin)
    return std::optional<std::pair<std::string, std::string>>{};
  return std::optional<std::pair<std::string, std::string>>{*std::prev(after)};
}

result<void>
memory_store::compact(std::string_view begin, std::string_view end, std::atomic<bool>& cancelled) {
  if (!horizons_)
    return {};
  auto view = horizons_->view();
  std::lock_guard lock{mutex_};
  auto is_there = [&](std::string_view key) { return current_.contains(key); };
  // Like a rewritten file, which is durable at once: dropped pairs are removed from the synced
  // content, too.
  for (auto at = current_.lower_bound(begin); at != current_.end() && at->first < end;) {
    auto how = cancelled ? verdict::keep : judge(view, at->first, at->second, is_there);
    horizons_->count_evicted(how == verdict::evicted ? 1 : 0);
    if (how != verdict::keep)
      synced_.erase(at->first);
    at = how == verdict::keep ? std::next(at) : current_.erase(at);
  }
  return {};
}

result<std::uint64_t>
memory_store::approximate_bytes(std::string_view begin, std::string_view end) const {
  std::lock_guard lock{mutex_};
  std::uint64_t bytes = 0;
  for (auto at = current_.lower_bound(begin); at != current_.end() && at->first < end; ++at)
    bytes += at->first.size() + at->second.size();
  return bytes;
}

std::uint64_t memory_store::counter(std::string_view name) const {
  std::lock_guard lock{mutex_};
  return name == "keys_written" ? operations_ : 0;
}

void memory_store::cut_power(std::size_t kept) {
  std::lock_guard lock{mutex_};
  for (std::size_t index = 0; index < std::min(kept, unsynced_.size()); ++index)
    for (const auto& set : unsynced_[index])
      apply(synced_, *set);
  unsynced_.clear();
  current_ = synced_;
}

std::size_t memory_store::unsynced_batches() const {
  std::lock_guard lock{mutex_};
  return unsynced_.size();
}

void memory_store::bring_to_disk() {
  for (const auto& batch : unsynced_)
    for (const auto& set : batch)
      apply(synced_, *set);
  unsynced_.clear();
}

void memory_store::apply(contents& target, const write_set& set) {
  for (const auto& operation : set.operations())
    switch (operation.what) {
    case write_set::kind::put:
      target.insert_or_assign(operation.key, operation.value);
      break;
    case write_set::kind::remove:
    case write_set::kind::single_remove:
      target.erase(operation.key);
      break;
    }
}

} // namespace codeq::storage
