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
  /// When the task was received or the latest heartbeat that counts was sent, whichever is later.
  monotonic_time counted_from;
  /// When the first heartbeat that does not count yet was sent, if later than `counted_from`.
  monotonic_time beaten_at{};
  std::shared_ptr<cancellation> cancel;
  /// Connects to the handler once it runs.
  std::shared_ptr<attempt_line> line{};
  /// When the handler got the task.
  monotonic_time started_at{};
  /// When the handler's latest request of validity was sent, and for how long.
  monotonic_time asked_at{};
  duration asked{0};
  /// End of the validity that the handler requested, independent of heartbeats.
  monotonic_time extended_until{};

  /// The end of the lease as far as this node knows it.
  [[nodiscard]] monotonic_time valid_until() const noexcept {
    return std::max(counted_from + lease, extended_until);
  }

  [[nodiscard]] bool awaits_answer() const noexcept { return beaten_at > counted_from; }

  /// A heartbeat was sent at `now`; `extend` is what the handler requested by it, or zero.
  void beat(monotonic_time now, duration extend = {}) {
    if (!awaits_answer())
      beaten_at = now;
    if (extend > duration{0}) {
      asked_at = now;
      asked = extend;
    }
  }

  /// The heartbeat that was sent at `sent` counts: it is answered, or its coordinator answers none.
  void count_from(monotonic_time sent) {
    counted_from = std::max(counted_from, sent);
    if (sent == asked_at)
      extended_until = std::max(extended_until, asked_at + asked);
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
/// before half of it has passed, and tasks that end quickly need none. A coordinator of a cluster
/// answers heartbeats while no other one may serve the shard; a lease whose heartbeats it does not
/// answer ends here as if it was not connected.
class lease_book {
public:
  using lease_test = std::function<bool(const lease_key& key)>;

  struct look_result {
    /// Heartbeats to send now; they are noted as sent.
    std::vector<beat> beats;
    /// Leases that have expired while their coordinator is not connected or does not answer; each
    /// is listed until its attempt is stopped.
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
  /// reconnect; heartbeats are noted as sent at `now`, and those of before await no answer.
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
