// SPDX-License-Identifier: Apache-2.0
#include "core/tables/lane.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

/// True when the task was not leased or ended since its enqueue.
bool is_first_attempt(const segment& s, sequence seq) {
  if (s.entries.empty())
    return true;
  const auto& entry = s.entries[seq - s.first];
  return entry.state == task_state::ready && !has_history(entry);
}

} // namespace

segment* lane::settle(segment_table& segments) {
  while (!fresh_.empty()) {
    if (auto* head = segments.find(fresh_.front().first)) {
      auto& s = *head;
      cursor_ = std::max(cursor_, s.first);
      while (s.contains(cursor_) && !is_first_attempt(s, cursor_))
        ++cursor_;
      if (s.contains(cursor_))
        return head;
    }
    fresh_.pop_front();
  }
  return nullptr;
}

seq_run lane::front_of_returned(segment_table& segments, std::uint32_t limit) {
  auto first = returned_.front().first;
  const auto* s = segments.find(first);
  auto left = s ? std::min<sequence>(limit, s->first + s->count - first) : 1;
  return {first, static_cast<std::uint32_t>(returned_.front_run(left))};
}

seq_run lane::front(segment_table& segments, std::uint32_t limit) {
  auto* head = settle(segments);
  bool has_returned = !returned_.empty();
  if (has_returned && (!head || returned_.front().first < cursor_))
    return front_of_returned(segments, limit);
  if (!head)
    return {};
  auto end = std::min<sequence>(head->first + head->count, cursor_ + limit);
  if (has_returned)
    end = std::min(end, returned_.front().first);
  auto last = cursor_ + 1;
  while (last < end && is_first_attempt(*head, last))
    ++last;
  return {cursor_, static_cast<std::uint32_t>(last - cursor_)};
}

std::optional<sequence> lane::lower_bound() const {
  std::optional<sequence> first;
  if (!fresh_.empty())
    first = std::max(cursor_, fresh_.front().first);
  if (!returned_.empty())
    first = std::min(first.value_or(returned_.front().first), returned_.front().first);
  return first;
}

lane::heads lane::first_tasks(segment_table& segments) {
  heads first;
  if (settle(segments) != nullptr)
    first.fresh = cursor_;
  if (!returned_.empty())
    first.returned = returned_.front().first;
  return first;
}

} // namespace codeq::core
