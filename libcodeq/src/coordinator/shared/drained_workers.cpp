// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/drained_workers.hpp"

#include <algorithm>
#include <utility>

namespace codeq::coordinator {

bool drained_workers::join(const worker_identity& worker, core::peer_id peer, follower tell) {
  std::lock_guard guard(mutex_);
  auto& known = workers_[worker.name];
  if (known.incarnation != worker.incarnation)
    known = {worker.incarnation};
  known.peer = peer;
  known.tell = std::move(tell);
  known.left = 0;
  return known.is_drained;
}

void drained_workers::leave(const std::string& name, core::peer_id peer) {
  std::lock_guard guard(mutex_);
  auto at = workers_.find(name);
  if (at == workers_.end() || at->second.peer != peer)
    return;
  if (!at->second.is_drained) {
    workers_.erase(at);
    return;
  }
  at->second.peer = 0;
  at->second.tell = nullptr;
  at->second.left = ++last_left_;
  forget_first_gone();
}

void drained_workers::forget_first_gone() {
  std::size_t gone = 0;
  auto first = workers_.end();
  for (auto i = workers_.begin(); i != workers_.end(); ++i) {
    if (i->second.left == 0)
      continue;
    ++gone;
    if (first == workers_.end() || i->second.left < first->second.left)
      first = i;
  }
  if (gone > gone_max)
    workers_.erase(first);
}

result<drain_outcome> drained_workers::set(const std::string& name, bool is_drained) {
  if (name.starts_with("http:"))
    return error{
      errc::unsupported,
      "worker is `" + name + "`; a worker of the HTTP gateway has no connection and cannot be "
        "drained"};
  std::lock_guard guard(mutex_);
  auto at = workers_.find(name);
  if (at == workers_.end())
    return drain_outcome::unknown;
  if (std::exchange(at->second.is_drained, is_drained) == is_drained)
    return drain_outcome::unchanged;
  if (at->second.tell)
    at->second.tell(is_drained);
  else
    // It is gone, and remembered for its drain only.
    workers_.erase(at);
  return drain_outcome::changed;
}

void drained_workers::mark(std::vector<base::worker_counts>& workers) const {
  std::lock_guard guard(mutex_);
  for (auto& worker : workers)
    if (auto at = workers_.find(worker.name); at != workers_.end())
      worker.is_draining = at->second.is_drained;
}

} // namespace codeq::coordinator
