// SPDX-License-Identifier: Apache-2.0
#include "worker/node/queue_quota.hpp"

namespace codeq::worker {

queue_quota make_quota(std::size_t own, std::size_t slots, std::size_t prefetch) {
  auto ahead = (prefetch * own + slots - 1) / slots;
  // Half of the waiting tasks are used up before more are requested, which keeps messages few.
  auto reopen = ahead == 0 ? own - 1 : own + (ahead - 1) / 2;
  return {own + ahead, reopen};
}

} // namespace codeq::worker
