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

/// Something that a tenant has on its way to a host.
struct flight {
  std::string tenant;
  std::string host;
  std::uint64_t number = 0;
};

/// What waits to be sent to hosts, and which of it may start: tenants take turns and share the
/// flights fairly, a tenant's hosts take turns, and a host has a bounded number of flights of each
/// tenant. Pure; used from one thread.
class flight_queue {
public:
  flight_queue(std::size_t total_max, std::size_t per_host_max)
    : share_(total_max), per_host_max_(per_host_max) {}

  void add(const flight& waiting);

  /// Starts what may start next; nothing when all that waits has to wait for the end of another.
  [[nodiscard]] std::optional<flight> start_next();

  /// A flight that `start_next` returned is over.
  void end(const flight& over);

  [[nodiscard]] std::size_t in_flight() const { return static_cast<std::size_t>(share_.used()); }

private:
  struct host_lane {
    std::size_t in_flight = 0;
    std::deque<std::uint64_t> waiting;
  };

  struct tenant_lane {
    std::map<std::string, host_lane> hosts;
    /// Hosts for which something waits, the next one first.
    std::deque<std::string> turns;
  };

  /// The tenant's next host that is not full; its turn is over.
  [[nodiscard]] std::optional<flight> start_of(const std::string& tenant, tenant_lane& lane);

  base::fair_share share_;
  std::size_t per_host_max_;
  std::map<std::string, tenant_lane> tenants_;
  /// Tenants for whom something waits, the next one first.
  std::deque<std::string> turns_;
};

} // namespace codeq::http
