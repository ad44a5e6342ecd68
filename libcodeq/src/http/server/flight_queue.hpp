// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fair_share.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace codeq::http {

/// A request of a tenant to a host.
struct flight {
  std::string tenant;
  std::string host;
  std::uint64_t number = 0;
};

/// The requests that wait to be sent to hosts, and the order in which they start. Tenants take
/// turns and share the flights fairly, the hosts of a tenant take turns, and each tenant has a
/// bounded number of flights to each host. Pure; used from one thread.
class flight_queue {
public:
  flight_queue(std::size_t total_max, std::size_t per_host_max)
    : share_(total_max), per_host_max_(per_host_max) {}

  void add(const flight& waiting);

  /// Starts the next flight; empty when every waiting flight has to wait until another ends.
  [[nodiscard]] std::optional<flight> start_next();

  /// Ends a flight that `start_next` returned.
  void end(const flight& over);

  [[nodiscard]] std::size_t in_flight() const { return static_cast<std::size_t>(share_.used()); }

private:
  struct host_lane {
    std::size_t in_flight = 0;
    std::deque<std::uint64_t> waiting;
  };

  struct tenant_lane {
    std::map<std::string, host_lane> hosts;
    /// The hosts with waiting flights, the next one first.
    std::deque<std::string> turns;
  };

  /// Starts a flight to the tenant's next host that is not full, and ends that host's turn.
  [[nodiscard]] std::optional<flight> start_of(const std::string& tenant, tenant_lane& lane);

  base::fair_share share_;
  std::size_t per_host_max_;
  std::map<std::string, tenant_lane> tenants_;
  /// The tenants with waiting flights, the next one first.
  std::deque<std::string> turns_;
};

} // namespace codeq::http
