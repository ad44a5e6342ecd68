// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace codeq::observe {

/// Chooses the queues that have metrics of their own, because each costs the monitoring system many
/// series. The other queues of a tenant are summed under the queue `*`, whose counters never go
/// back. Tenants take turns at the places. A queue keeps its place until it is removed, or until
/// it has no tasks while another one that has some lacks a place. Use from one thread.
class queue_series {
public:
  /// `named_max`: maximum number of queues with metrics of their own, and of tenants with a sum.
  explicit queue_series(std::size_t named_max) : named_max_(named_max) {}

  /// The queues to show, of all queues that exist now; of the sums, `paused` is true when a queue
  /// of them is paused.
  [[nodiscard]] std::vector<base::queue_counts>
  choose(const std::vector<base::queue_counts>& all);

private:
  using queue_list = std::vector<const base::queue_counts*>;

  void drop_removed(const std::map<queue_address, const base::queue_counts*>& all);
  void name_more(const std::map<queue_address, const base::queue_counts*>& all);

  /// The key of a tenant's sum.
  [[nodiscard]] std::string sum_name(const std::string& tenant) const;

  std::size_t named_max_;
  std::set<queue_address> named_;
  /// The counters of each queue as of the last call.
  std::map<queue_address, base::queue_counts> seen_;
  /// The counters of the other queues, by tenant.
  std::map<std::string, base::queue_counts> sums_;
};

} // namespace codeq::observe
