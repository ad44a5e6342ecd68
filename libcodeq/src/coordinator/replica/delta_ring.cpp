// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/delta_ring.hpp"

#include <utility>

namespace codeq::coordinator {

std::size_t delta_ring::size_of(const replication::entry& e) {
  return e.byte_size() + sizeof e;
}

void delta_ring::push(replication::entry e) {
  if (!entries_.empty() && entries_.back().at != e.previous)
    clear();
  bytes_ += size_of(e);
  memory_.bytes += size_of(e);
  entries_.push_back(std::move(e));
  const auto is_over = [this] { return bytes_ > bytes_max_ || memory_.bytes > memory_.bytes_max; };
  while (entries_.size() > 1 && is_over())
    drop_oldest();
}

void delta_ring::drop_oldest() {
  const auto size = size_of(entries_.front());
  bytes_ -= size;
  memory_.bytes -= size;
  entries_.pop_front();
}

std::vector<replication::entry>
delta_ring::read_after(replication::position after, std::size_t bytes_max) const {
  std::vector<replication::entry> found;
  if (entries_.empty() || after.number < entries_.front().previous.number)
    return found;
  std::size_t bytes = 0;
  const auto first = entries_.front().at.number;
  for (auto i = after.number + 1 - first; i < entries_.size() && bytes < bytes_max; ++i) {
    bytes += entries_[i].byte_size();
    found.push_back(entries_[i]);
  }
  return found;
}

void delta_ring::clear() {
  while (!entries_.empty())
    drop_oldest();
}

} // namespace codeq::coordinator
