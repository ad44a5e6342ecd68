// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backlog/filled_cluster.hpp"

namespace codeq::bench {

struct claim_figures {
  double per_second = 0;
  /// Of the coordinator, which does as much on a busy machine.
  double cpu_us = 0;
};

/// Medians of the rounds.
struct claim_comparison {
  claim_figures empty;
  claim_figures full;
  /// Of the claims per second of one round, full over empty.
  double ratio = 0;
};

/// Times claims from a full coordinator and from one that has little more than what is claimed, in
/// turn: a machine drifts by more than they differ while millions of tasks are added. What waits
/// for a retry cannot be claimed, so a full one of these gets as many new tasks as the other.
/// Errors: of the clusters, `timeout`, or `going_away` by a signal.
[[nodiscard]] result<claim_comparison>
compare_claims(filled_cluster& full, const backlog_options& options);

} // namespace codeq::bench
