// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/lookup_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace codeq::coordinator {

void lookup_queue::add(stored_inquiry asked) {
  auto peer = asked.why.peer;
  auto [at, is_new] = waiting_.try_emplace(peer);
  if (is_new)
    turns_.push_back(peer);
  at->second.push_back(std::move(asked));
  ++size_;
}

std::vector<stored_inquiry> lookup_queue::take() {
  if (turns_.empty())
    return {};
  auto peer = turns_.front();
  turns_.pop_front();
  auto at = waiting_.find(peer);
  auto& queue = at->second;
  auto count = static_cast<std::ptrdiff_t>(std::min(queue.size(), turn_max));
  std::vector<stored_inquiry> taken{
    std::make_move_iterator(queue.begin()), std::make_move_iterator(queue.begin() + count)};
  queue.erase(queue.begin(), queue.begin() + count);
  size_ -= taken.size();
  if (queue.empty())
    waiting_.erase(at);
  else
    turns_.push_back(peer);
  return taken;
}

void lookup_queue::drop(core::peer_id peer) {
  auto at = waiting_.find(peer);
  if (at == waiting_.end())
    return;
  size_ -= at->second.size();
  waiting_.erase(at);
  std::erase(turns_, peer);
}

std::size_t lookup_queue::size_of(core::peer_id peer) const {
  auto at = waiting_.find(peer);
  return at == waiting_.end() ? 0 : at->second.size();
}

} // namespace codeq::coordinator
