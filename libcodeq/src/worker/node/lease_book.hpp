// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"

#include "worker/handlers/attempt_line.hpp"
#include "worker/node/lease_key.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

enum class lease_phase : std::uint8_t { running, queued };

/// Why a running handler was cancelled; determines how its outcome is reported.
enum class stop_cause : std::uint8_t {
  none,
  /// The task was cancelled: any outcome but a completion is reported as `cancelled`.
  cancelled,
  /// This node stops, or the lease has expired without a connection: a failure from now on is not
  /// the task's fault.
  own,
};

/// A lease that this node holds.
struct held_lease {
  sequence seq = 0;
  /// The task's tenant, which its follow-ups share unless they name another one.
  std::string tenant{};
  lease_phase phase = lease_phase::queued;
  stop_cause stop = stop_cause::none;
  /// Time that it is valid after each heartbeat.
  duration lease{0};
  /// When the task was received or the latest heartbeat was sent, whichever is later.
  monotonic_time counted_from;
  std::shared_ptr<cancellation> cancel;
  /// Connects to the handler once it runs.
  std::shared_ptr<attempt_line> line{};
  /// When the handler got the task.
  monotonic_time started_at{};
  /// End of the validity that the handler requested, independent of heartbeats.
  monotonic_time extended_until{};

  /// The end of the lease as far as this node knows it.
  [[nodiscard]] monotonic_time valid_until() const noexcept {
    return std::max(counted_from + lease, extended_until);
  }

  /// A heartbeat was sent at `now`.
  void count_from(monotonic_time now) {
    counted_from = now;
    if (line)
      line->set_valid_until(valid_until());
  }
};

/// One lease in a heartbeat.
struct beat {
  lease_key key;
  sequence seq = 0;
  lease_phase phase = lease_phase::queued;
  /// The handler has reported progress.
  bool progressed = false;
  /// Requested validity; zero: the lease duration.
  duration extend{0};

  friend bool operator==(const beat&, const beat&) = default;
};

/// The leases of this node and the times of their heartbeats. Pure: gets the time as a parameter,
/// sends nothing. A look is due a quarter of the shortest lease after the previous one; it lists
/// the leases that have less than three quarters of their time left. So each lease gets a heartbeat
/// before half of it has passed, and tasks that end quickly need none.
class lease_book {
public:
  using lease_test = std::function<bool(const lease_key& key)>;

  struct look_result {
    /// Heartbeats to send now; they count as sent.
    std::vector<beat> beats;
    /// Leases that have expired while their coordinator is not connected; each is listed once.
    std::vector<lease_key> over;
  };

  /// @pre the lease is not held yet
  held_lease& add(const lease_key& key, held_lease lease);

  /// Null when the lease is not held.
  [[nodiscard]] held_lease* find(const lease_key& key);

  void remove(const lease_key& key) { leases_.erase(key); }

  /// Removes and returns the lease; empty when it is not held.
  [[nodiscard]] std::optional<held_lease> take(const lease_key& key);

  /// `is_reached`: the lease's coordinator is connected.
  [[nodiscard]] look_result look(monotonic_time now, const lease_test& is_reached);

  /// Every lease that `is_meant`, in ascending order, for a resume or for heartbeats after a
  /// reconnect; heartbeats count as sent at `now`.
  [[nodiscard]] std::vector<beat> beat_all(monotonic_time now, const lease_test& is_meant);

  /// When the next look is due; empty when no lease is held.
  [[nodiscard]] std::optional<monotonic_time> next_look() const noexcept { return next_look_; }

  /// All leases, in ascending order.
  [[nodiscard]] std::vector<lease_key> keys() const;

  /// Calls `fn(key, lease)` for each lease; `fn` must not change the book.
  template <class F>
  void for_each(F&& fn) {
    for (auto& [key, lease] : leases_)
      fn(key, lease);
  }

  [[nodiscard]] std::size_t size() const noexcept { return leases_.size(); }

private:
  std::unordered_map<lease_key, held_lease, lease_key_hash> leases_;
  std::optional<monotonic_time> next_look_;
};

} // namespace codeq::worker
