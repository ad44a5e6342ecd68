// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/segment_cache.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

namespace codeq::coordinator {

namespace {

/// Memory of one task in addition to its body.
constexpr std::size_t task_overhead_bytes = 16;

/// See the class. Reading a body back for a retry costs about as much CPU as the attempt itself.
constexpr std::size_t bounds_while_retries = 3;

std::size_t bytes_of(const std::vector<core::encoded_tasks>& pieces) {
  std::size_t size = 0;
  for (const auto& piece : pieces)
    size += piece.body.size() + piece.count() * task_overhead_bytes;
  return size;
}

core::encoded_tasks join(const std::vector<core::encoded_tasks>& parts) {
  std::string body;
  body.reserve(std::accumulate(
    parts.begin(), parts.end(), std::size_t{0}, [](std::size_t sum, const auto& part) {
      return sum + part.body.size();
    }));
  core::encoded_tasks joined;
  for (const auto& part : parts) {
    body.append(part.body.view());
    joined.sizes.insert(joined.sizes.end(), part.sizes.begin(), part.sizes.end());
  }
  joined.body = bytes(std::move(body));
  return joined;
}

} // namespace

void segment_cache::insert(sequence segment, std::vector<core::encoded_tasks> pieces) {
  auto size = bytes_of(pieces);
  if (size > bytes_max_ || segments_.contains(segment))
    return;
  auto place = order_.insert(order_.end(), segment);
  segments_.emplace(segment, entry{std::move(pieces), size, false, place});
  bytes_ += size;
  drop_oldest();
}

void segment_cache::replace(sequence segment, core::encoded_tasks body) {
  auto at = segments_.find(segment);
  if (at == segments_.end())
    return insert(segment, {std::move(body)});
  bytes_ -= at->second.bytes;
  at->second.pieces = {std::move(body)};
  at->second.bytes = bytes_of(at->second.pieces);
  bytes_ += at->second.bytes;
  drop_oldest();
}

void segment_cache::take(core::event& e) {
  if (auto* appended = std::get_if<core::segment_appended>(&e))
    take(*appended);
  else if (auto* changed = std::get_if<core::tasks_changed>(&e))
    take(*changed);
  else if (const auto* ended = std::get_if<core::leases_ended>(&e))
    take(*ended);
  else if (const auto* snapshot = std::get_if<core::snapshot_taken>(&e))
    take(*snapshot);
}

void segment_cache::take(core::segment_appended& e) {
  insert(e.first, std::move(e.pieces));
}

void segment_cache::take(const core::leases_ended& e) {
  bool is_retried = std::any_of(e.ends.begin(), e.ends.end(), [](const core::lease_end& end) {
    return end.next == task_state::scheduled;
  });
  has_new_retries_ = has_new_retries_ || is_retried;
  has_retries_ = has_retries_ || is_retried;
}

void segment_cache::take(const core::snapshot_taken& e) {
  for (const auto& closed : e.closed)
    if (auto at = segments_.find(closed.first); at != segments_.end())
      drop(at);
  bool had_retries = std::exchange(has_retries_, std::exchange(has_new_retries_, false));
  // Without retries granted segments were dropped at once.
  if (has_retries_ || !had_retries)
    return;
  drop_granted();
  drop_oldest();
}

void segment_cache::take(core::tasks_changed& e) {
  for (auto& change : e.changes)
    if (change.kind == core::change_kind::body_replaced)
      replace(
        change.seq, {std::move(change.body), {static_cast<std::uint32_t>(change.body_bytes)}});
}

void segment_cache::granted(sequence segment, sequence first, std::uint32_t count) {
  auto at = segments_.find(segment);
  if (at == segments_.end())
    return;
  std::size_t tasks = 0;
  for (const auto& piece : at->second.pieces)
    tasks += piece.count();
  if (first + count < segment + tasks)
    return;
  at->second.is_granted = true;
  if (!has_retries_)
    drop(at);
}

void segment_cache::drop(entry_map::iterator at) {
  bytes_ -= at->second.bytes;
  order_.erase(at->second.place);
  segments_.erase(at);
}

void segment_cache::drop_granted() {
  for (auto at = segments_.begin(); at != segments_.end();) {
    auto next = std::next(at);
    if (at->second.is_granted)
      drop(at);
    at = next;
  }
}

void segment_cache::drop_oldest() {
  auto bound = has_retries_ ? bytes_max_ * bounds_while_retries : bytes_max_;
  while (bytes_ > bound)
    drop(segments_.find(order_.front()));
}

std::optional<core::encoded_tasks>
segment_cache::find(sequence segment, sequence first, std::uint32_t count) const {
  auto at = segments_.find(segment);
  if (at == segments_.end())
    return std::nullopt;
  std::size_t skip = first - segment;
  std::size_t left = count;
  std::vector<core::encoded_tasks> parts;
  for (const auto& piece : at->second.pieces) {
    if (skip >= piece.count()) {
      skip -= piece.count();
      continue;
    }
    auto wanted = std::min(left, piece.count() - skip);
    if (wanted == count)
      return piece.part(skip, wanted);
    parts.push_back(piece.part(skip, wanted));
    skip = 0;
    left -= wanted;
    if (left == 0)
      break;
  }
  return join(parts);
}

} // namespace codeq::coordinator
