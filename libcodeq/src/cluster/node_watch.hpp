// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "cluster/catalogue.hpp"
#include "cluster/placement.hpp"

#include <map>
#include <string>

namespace codeq::cluster {

/// Since when nodes are missing, as one controller has seen it. A new controller begins to count
/// anew, so copies are replaced later rather than too early. Pure.
class node_watch {
public:
  /// The nodes that are there, and those that shards name, with their states.
  [[nodiscard]] std::map<std::string, placed_node> look(const catalogue& known, monotonic_time now);

private:
  std::map<std::string, monotonic_time> missing_since_;
  /// The zones of nodes that are missing.
  std::map<std::string, std::string> zones_;
};

} // namespace codeq::cluster
