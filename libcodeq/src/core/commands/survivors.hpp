// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "core/commands/encoded_tasks.hpp"

#include <map>
#include <vector>

namespace codeq::core {

/// The tasks that are left of a segment most of whose tasks have ended.
struct survivors {
  /// The first task of the segment.
  sequence segment = 0;
  /// Ascending.
  std::vector<sequence> tasks;
};

/// Lets the next snapshot copy the survivors of a segment into records of their own. Without effect
/// when the segment was closed meanwhile, or when one of them is leased again.
struct copy_survivors {
  sequence segment = 0;
  /// The body of each.
  std::map<sequence, encoded_tasks> bodies;
};

} // namespace codeq::core
