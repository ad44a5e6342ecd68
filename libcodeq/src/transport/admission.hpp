// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/fair_share.hpp"
#include "observe/line_pace.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace codeq::transport {

class admission_ticket;

/// A connection that was admitted.
struct admitted {
  std::shared_ptr<admission_ticket> ticket;
  /// The unauthenticated connection that it replaces; null when there was a free place.
  caf::strong_actor_ptr evicted;
};

/// The places of one acceptor's connections. Remote addresses share them fairly. There are few
/// places for unauthenticated connections: when all are taken, a new one replaces the oldest one of
/// the address that has the most. The acceptor checks deadlines on a periodic tick, so that
/// connections need no timers of their own. Thread-safe; shared by the acceptor and its tickets.
class admission : public std::enable_shared_from_this<admission> {
public:
  using time_point = std::chrono::steady_clock::time_point;

  admission(std::size_t connections_max, std::size_t unauthenticated_max)
    : shares_(connections_max), unauthenticated_max_(unauthenticated_max) {}

  /// Takes a place for a connection from that address. Errors: `overloaded`.
  [[nodiscard]] result<admitted> admit(const std::string& remote);

  /// Connections whose deadline has passed at `now`; each is returned once.
  [[nodiscard]] std::vector<caf::strong_actor_ptr> take_overdue(time_point now);

  /// The acceptor ends and checks no more deadlines: returns the connections that wait. One that
  /// begins to wait later closes by itself; see `admission_ticket::wait_until`.
  [[nodiscard]] std::vector<caf::strong_actor_ptr> stop();

private:
  friend class admission_ticket;

  /// Log lines about the connections of one address.
  static constexpr std::uint32_t lines_per_second = 10;

  /// An unauthenticated connection.
  struct stranger {
    std::string remote;
    /// Empty until it waits.
    caf::actor_addr connection{};
    time_point deadline = time_point::max();
  };

  /// As `take_overdue`. @pre `mutex_` is locked
  [[nodiscard]] std::vector<caf::strong_actor_ptr> find_overdue(time_point now);

  /// Frees the place of the unauthenticated connection to be replaced and returns the connection;
  /// null when none can be.
  [[nodiscard]] caf::strong_actor_ptr evict();

  std::mutex mutex_;
  base::fair_share shares_;
  observe::line_pace lines_{lines_per_second};
  std::size_t unauthenticated_max_;
  std::uint64_t last_id_ = 0;
  /// Keyed by ticket id, the oldest first.
  std::map<std::uint64_t, stranger> strangers_;
  bool is_stopped_ = false;
};

/// The place of one connection; the destructor gives it back.
class admission_ticket {
public:
  admission_ticket(std::shared_ptr<admission> owner, std::uint64_t id, std::string remote)
    : owner_(std::move(owner)), id_(id), remote_(std::move(remote)) {}

  ~admission_ticket();
  admission_ticket(const admission_ticket&) = delete;
  admission_ticket& operator=(const admission_ticket&) = delete;

  /// The connection must make progress by `deadline`. False when the acceptor has ended, so that
  /// nobody checks the deadline; then the connection has to close.
  [[nodiscard]] bool wait_until(caf::actor_addr connection, admission::time_point deadline);

  /// The connection was accepted; it has no deadline any more.
  void authenticated();

  /// See `observe::line_pace::take`, with the connection's address as the owner.
  [[nodiscard]] std::optional<std::uint64_t> take_log_line(admission::time_point now);

private:
  std::shared_ptr<admission> owner_;
  std::uint64_t id_;
  std::string remote_;
};

} // namespace codeq::transport
