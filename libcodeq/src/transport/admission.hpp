// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/fair_share.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace codeq::transport {

class admission_ticket;

/// A connection that may stay.
struct admitted {
  std::shared_ptr<admission_ticket> ticket;
  /// The unauthenticated connection that has to go for it; null when there was room.
  caf::strong_actor_ptr evicted;
};

/// The places of one acceptor's connections. Remote addresses share them fairly. Connections that
/// are not authenticated have few places: when all are taken, a new one takes the place of the
/// oldest one of the address that has most of them. The acceptor asks on a tick whose time is over,
/// so that a connection that comes and goes leaves no timer behind it. Thread-safe; shared by the
/// acceptor and its tickets.
class admission : public std::enable_shared_from_this<admission> {
public:
  using time_point = std::chrono::steady_clock::time_point;

  admission(std::size_t connections_max, std::size_t unauthenticated_max)
    : shares_(connections_max), unauthenticated_max_(unauthenticated_max) {}

  /// A place for one more connection of that address, or why there is none: `overloaded`.
  [[nodiscard]] result<admitted> admit(const std::string& remote);

  /// Connections that wait and whose time is over at `now`; each is named once.
  [[nodiscard]] std::vector<caf::strong_actor_ptr> take_overdue(time_point now);

private:
  friend class admission_ticket;

  /// A connection that is not authenticated.
  struct stranger {
    std::string remote;
    /// Empty until it waits.
    caf::actor_addr connection{};
    time_point deadline = time_point::max();
  };

  /// Takes the place of the stranger that has to go; null when none of them can.
  [[nodiscard]] caf::strong_actor_ptr evict();

  std::mutex mutex_;
  base::fair_share shares_;
  std::size_t unauthenticated_max_;
  std::uint64_t last_id_ = 0;
  /// By their tickets, the oldest first.
  std::map<std::uint64_t, stranger> strangers_;
};

/// The place of one connection; given back when it is destroyed.
class admission_ticket {
public:
  admission_ticket(std::shared_ptr<admission> owner, std::uint64_t id, std::string remote)
    : owner_(std::move(owner)), id_(id), remote_(std::move(remote)) {}

  ~admission_ticket();
  admission_ticket(const admission_ticket&) = delete;
  admission_ticket& operator=(const admission_ticket&) = delete;

  /// The connection has to get on by `deadline`.
  void wait_until(caf::actor_addr connection, admission::time_point deadline);

  /// The connection was accepted and waits no more.
  void authenticated();

private:
  std::shared_ptr<admission> owner_;
  std::uint64_t id_;
  std::string remote_;
};

} // namespace codeq::transport
