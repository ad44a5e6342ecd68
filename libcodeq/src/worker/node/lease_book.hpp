// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"

#include "worker/handlers/attempt_line.hpp"
#include "worker/node/lease_key.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

enum class lease_phase : std::uint8_t { running, queued };

/// Why a running handler was told to stop; decides what its answer is worth.
enum class stop_cause : std::uint8_t {
  none,
  /// The task was cancelled: whatever is not a completion is `cancelled`.
  cancelled,
  /// This node stops, or counts the lease as over without a connection: what the handler fails
  /// with now is not the task's fault.
  own,
};

/// One lease that this node holds.
struct held_lease {
  sequence seq = 0;
  lease_phase phase = lease_phase::queued;
  stop_cause stop = stop_cause::none;
  /// How long it is valid from one beat to the next.
  duration lease{0};
  /// When the task came or the latest beat left, whichever is later.
  monotonic_time counted_from;
  std::shared_ptr<cancellation> cancel;
  /// To the handler, once it runs.
  std::shared_ptr<attempt_line> line{};
  /// Until when the handler asked it to be valid, beat or no beat.
  monotonic_time extended_until{};

  /// Until when it is valid as far as this node knows.
  [[nodiscard]] monotonic_time valid_until() const noexcept {
    return std::max(counted_from + lease, extended_until);
  }

  /// It was beaten just now.
  void count_from(monotonic_time now) {
    counted_from = now;
    if (line)
      line->set_valid_until(valid_until());
  }
};

/// One line of a heartbeat.
struct beat {
  lease_key key;
  sequence seq = 0;
  lease_phase phase = lease_phase::queued;
  /// The handler got on with its work.
  bool progressed = false;
  /// How long it is to be valid; zero is as long as the lease.
  duration extend{0};

  friend bool operator==(const beat&, const beat&) = default;
};

/// The leases of this node and when they must be beaten. Pure: told the time, sends nothing. A look
/// is due a quarter of the shortest lease after the last one and lists what has under three
/// quarters of its time left, so that each lease is beaten before half of it is gone, and those
/// of tasks that end quickly never are.
class lease_book {
public:
  /// Whether a link has a connection.
  using is_open = std::function<bool(std::size_t link)>;

  struct look_result {
    /// What to beat now; counted as sent.
    std::vector<beat> beats;
    /// Leases whose time is over while their link has no connection; each is listed once.
    std::vector<lease_key> over;
  };

  /// @pre not held yet.
  held_lease& add(const lease_key& key, held_lease lease);

  /// Null when not held.
  [[nodiscard]] held_lease* find(const lease_key& key);

  void remove(const lease_key& key) { leases_.erase(key); }

  /// Removes it and returns what it was; nothing when not held.
  [[nodiscard]] std::optional<held_lease> take(const lease_key& key);

  [[nodiscard]] look_result look(monotonic_time now, const is_open& open);

  /// Every lease of `link`, ascending, to be named or beaten after a reconnect; counted as beaten
  /// at `now`.
  [[nodiscard]] std::vector<beat> beat_all(std::size_t link, monotonic_time now);

  /// When the next look is due; empty when nothing is held.
  [[nodiscard]] std::optional<monotonic_time> next_look() const noexcept { return next_look_; }

  /// What is held, ascending.
  [[nodiscard]] std::vector<lease_key> keys() const;

  /// Calls `fn(key, lease)` for each; `fn` must not change the book.
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
