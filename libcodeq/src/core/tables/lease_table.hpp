// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"
#include "codeq/time.hpp"

#include "core/commands/event.hpp"
#include "core/commands/heartbeat_command.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::core {

/// A live lease. Its deadline is volatile: heartbeats move it and write nothing.
struct lease {
  sequence seq = 0;
  log_position grant = 0;
  monotonic_time deadline;
  /// Heartbeats cannot extend the lease past this; the latest time point when there is no limit.
  monotonic_time run_deadline;
  /// Nor past this, which moves with the handler's progress.
  monotonic_time progress_deadline;
  /// Last reported as received but not started.
  bool queued = false;
  /// Old enough to have a timer.
  bool timed = false;
  /// The worker was sent a cancel notice; `run_deadline` is the end of the grace.
  bool cancel_sent = false;
  /// The expected run time in milliseconds that the task's fairness key was charged; 0: nothing.
  std::uint32_t charged = 0;
  /// The latest report of the handler, volatile like the deadline; null before the first.
  std::shared_ptr<const lease_progress> progress{};
};

/// A grant that still has live leases.
struct live_grant {
  std::shared_ptr<const worker_identity> worker;
  duration lease{0};
  /// Shard time.
  timestamp at;
  std::uint32_t live = 0;
  /// The first and the last token of its leases so far; those of one grant follow each other.
  fencing_token first{};
  fencing_token last{};
};

/// The live leases of a shard by token, their grants, and the leases that need no timer yet.
/// Look-ups take constant time; walks are linear and in order of tokens. A walk over the leases of
/// one worker's name does not depend on those of others.
class lease_table {
public:
  void add_grant(log_position position, live_grant grant);

  /// @pre the grant was added and the token is new
  void insert(fencing_token token, const lease& l, monotonic_time now);

  /// The live lease of the token, or null.
  [[nodiscard]] lease* find(fencing_token token);
  [[nodiscard]] const lease* find(fencing_token token) const;

  /// @pre the lease is in the table
  void erase(fencing_token token);

  /// The grant at a position. @pre it has live leases, or was just added
  [[nodiscard]] const live_grant& grant_at(log_position at) const { return grants_.at(at); }

  [[nodiscard]] std::size_t size() const noexcept { return leases_.size(); }

  /// The tokens, in ascending order, of the leases whose grant `wanted` selects.
  [[nodiscard]] std::vector<fencing_token>
  tokens_of(const std::function<bool(const live_grant&)>& wanted) const;

  /// The same for the leases of workers with that name.
  [[nodiscard]] std::vector<fencing_token> tokens_of_worker(
    const std::string& name, const std::function<bool(const live_grant&)>& wanted) const;

  /// Calls `visit(grant)` for each grant with live leases.
  template <class Visit>
  void for_each_grant(Visit&& visit) const {
    for (const auto& [position, grant] : grants_)
      visit(grant);
  }

  /// Calls `visit(lease)` for at most `most` leases, in no particular order.
  template <class Visit>
  void for_each_lease(std::size_t most, Visit&& visit) const {
    for (auto at = leases_.begin(); at != leases_.end() && most > 0; ++at, --most)
      visit(at->second);
  }

  /// Grants that ended since the last call.
  [[nodiscard]] std::vector<log_position> take_ended_grants();

  /// Removes and returns a lease that is old enough to need a timer; empty when there is none. The
  /// lease of a short task ends before that and never needs a timer.
  [[nodiscard]] std::optional<fencing_token> take_due_for_timer(monotonic_time now);

  /// When `take_due_for_timer` will return a lease next.
  [[nodiscard]] std::optional<monotonic_time> next_due_for_timer();

private:
  struct untimed_lease {
    fencing_token token;
    monotonic_time timer_due;
  };

  void drop_ended_untimed();

  std::unordered_map<fencing_token, lease> leases_;
  std::map<log_position, live_grant> grants_;
  /// The grants of each worker's name.
  std::unordered_map<std::string, std::set<log_position>> grants_by_worker_;
  std::vector<log_position> ended_grants_;
  std::deque<untimed_lease> untimed_;
};

} // namespace codeq::core
