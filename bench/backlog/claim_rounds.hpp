// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backlog/filled_cluster.hpp"

namespace codeq::bench {

struct claim_figures {
  double per_second = 0;
  /// CPU time of the coordinator per claim, which does not depend on how busy the machine is.
  double cpu_us = 0;
};

/// Medians of the rounds.
struct claim_comparison {
  claim_figures empty;
  claim_figures full;
  /// Median of the ratios within a round: claims per second of the full over the empty coordinator.
  double ratio = 0;
};

/// Times claims from a full coordinator and from one with few more tasks than are claimed. The
/// rounds alternate, because the speed of a machine drifts by more than the difference while
/// millions of tasks are added. Tasks that wait for a retry cannot be claimed, so a coordinator
/// full of them gets as many new tasks as the other one. Errors: of the clusters, `timeout`, or
/// `going_away` by a signal.
[[nodiscard]] result<claim_comparison>
compare_claims(filled_cluster& full, const backlog_options& options);

} // namespace codeq::bench
