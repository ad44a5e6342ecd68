// SPDX-License-Identifier: Apache-2.0
#include "http/server/flight_queue.hpp"

#include <utility>

namespace codeq::http {

void flight_queue::add(const flight& waiting) {
  auto& lane = tenants_[waiting.tenant];
  auto& host = lane.hosts[waiting.host];
  if (lane.turns.empty())
    turns_.push_back(waiting.tenant);
  if (host.waiting.empty())
    lane.turns.push_back(waiting.host);
  host.waiting.push_back(waiting.number);
}

std::optional<flight> flight_queue::start_next() {
  for (auto left = turns_.size(); left > 0; --left) {
    auto tenant = std::move(turns_.front());
    turns_.pop_front();
    auto& lane = tenants_.find(tenant)->second;
    auto started = share_.has_room(tenant) ? start_of(tenant, lane) : std::nullopt;
    if (!lane.turns.empty())
      turns_.push_back(std::move(tenant));
    if (started)
      return started;
  }
  return std::nullopt;
}

std::optional<flight> flight_queue::start_of(const std::string& tenant, tenant_lane& lane) {
  for (auto left = lane.turns.size(); left > 0; --left) {
    auto name = std::move(lane.turns.front());
    lane.turns.pop_front();
    auto& host = lane.hosts.find(name)->second;
    if (host.in_flight >= per_host_max_) {
      lane.turns.push_back(std::move(name));
      continue;
    }
    flight next{tenant, name, host.waiting.front()};
    host.waiting.pop_front();
    ++host.in_flight;
    share_.force(tenant);
    if (!host.waiting.empty())
      lane.turns.push_back(std::move(name));
    return next;
  }
  return std::nullopt;
}

void flight_queue::end(const flight& over) {
  share_.give_back(over.tenant);
  auto tenant = tenants_.find(over.tenant);
  auto host = tenant->second.hosts.find(over.host);
  --host->second.in_flight;
  if (host->second.in_flight == 0 && host->second.waiting.empty())
    tenant->second.hosts.erase(host);
  if (tenant->second.hosts.empty())
    tenants_.erase(tenant);
}

} // namespace codeq::http
