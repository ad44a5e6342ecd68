// SPDX-License-Identifier: Apache-2.0
#include "core/state/parked_enqueues.hpp"

#include <algorithm>

namespace codeq::core {

namespace {

std::uint64_t bytes_of(const enqueue_run& run) {
  auto bytes = sizeof(run) + run.tasks.body.size() + run.tasks.sizes.size() * sizeof(std::uint32_t)
               + run.queue.tenant.size() + run.queue.queue.size() + run.group.size()
               + run.key.size() + run.fairness.key.size();
  for (const auto& limit : run.limits)
    bytes += sizeof(limit) + limit.name.size() + limit.key.size();
  return bytes;
}

std::uint64_t bytes_of(const enqueue& request) {
  auto bytes = parked_enqueues::request_bytes;
  for (const auto& run : request.runs)
    bytes += bytes_of(run);
  return bytes;
}

/// Whom the bytes of a request are charged to: the tenant of its first tasks.
const std::string& payer_of(const enqueue& request) {
  return request.runs.front().queue.tenant;
}

} // namespace

parked_enqueues::request_name parked_enqueues::name_of(const request_id& request) {
  return {request.producer, request.number};
}

bool parked_enqueues::park(std::uint32_t queue, parked what) {
  const auto bytes = bytes_of(what.request);
  auto at = queues_.find(queue);
  if (at != queues_.end() && at->second.bytes + bytes > queue_bytes_max)
    return false;
  // A large request waits when it is alone.
  if (shares_.used() == 0)
    shares_.force(payer_of(what.request), bytes);
  else if (!shares_.take(payer_of(what.request), bytes))
    return false;
  auto name = name_of(what.request.request);
  auto& line = queues_[queue];
  line.bytes += bytes;
  ends_.insert(what.until);
  names_[name] = line.requests.insert(line.requests.end(), std::move(what));
  return true;
}

bool parked_enqueues::contains(const request_id& request) const {
  return !names_.empty() && names_.contains(name_of(request));
}

void parked_enqueues::answer_to(const request_id& request, peer_id peer) {
  names_.at(name_of(request))->request.peer = peer;
}

const parked_enqueues::parked* parked_enqueues::first(std::uint32_t queue) const {
  auto at = queues_.find(queue);
  return at == queues_.end() ? nullptr : &at->second.requests.front();
}

parked_enqueues::parked parked_enqueues::take(line& from, std::list<parked>::iterator at) {
  const auto bytes = bytes_of(at->request);
  from.bytes -= bytes;
  shares_.give_back(payer_of(at->request), bytes);
  names_.erase(name_of(at->request.request));
  ends_.erase(ends_.find(at->until));
  auto taken = std::move(*at);
  from.requests.erase(at);
  return taken;
}

parked_enqueues::parked parked_enqueues::take_first(std::uint32_t queue) {
  auto at = queues_.find(queue);
  auto taken = take(at->second, at->second.requests.begin());
  if (at->second.requests.empty())
    queues_.erase(at);
  return taken;
}

std::vector<std::uint32_t> parked_enqueues::queues() const {
  std::vector<std::uint32_t> found;
  found.reserve(queues_.size());
  for (const auto& [queue, line] : queues_)
    found.push_back(queue);
  return found;
}

void parked_enqueues::note_closed_keys() {
  for (auto& [queue, line] : queues_)
    for (auto& one : line.requests)
      one.is_stale = std::any_of(
        one.request.runs.begin(), one.request.runs.end(),
        [](const enqueue_run& run) { return !run.key.empty(); });
}

std::optional<monotonic_time> parked_enqueues::next_end() const {
  return ends_.empty() ? std::nullopt : std::optional(*ends_.begin());
}

} // namespace codeq::core
