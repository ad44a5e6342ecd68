// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <caf/actor_addr.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace codeq::transport {

class admission_ticket;

/// Counts the connections of one acceptor and knows which of them wait to be accepted, and until
/// when. The acceptor asks it on a tick, so that a connection that comes and goes leaves no timer
/// behind it. Thread-safe; shared by the acceptor and its tickets.
class admission : public std::enable_shared_from_this<admission> {
public:
  using time_point = std::chrono::steady_clock::time_point;

  admission(std::size_t connections_max, std::size_t unauthenticated_max)
    : connections_max_(connections_max), unauthenticated_max_(unauthenticated_max) {}

  /// A place for one more connection, or why there is none: `overloaded`.
  [[nodiscard]] result<std::shared_ptr<admission_ticket>> admit();

  /// Connections that wait and whose time is over at `now`; each is named once.
  [[nodiscard]] std::vector<caf::strong_actor_ptr> take_overdue(time_point now);

private:
  friend class admission_ticket;

  struct waiting {
    caf::actor_addr connection;
    time_point deadline;
  };

  std::mutex mutex_;
  std::size_t connections_max_;
  std::size_t unauthenticated_max_;
  std::size_t connections_ = 0;
  std::size_t unauthenticated_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, waiting> waiting_;
};

/// The place of one connection; given back when it is destroyed.
class admission_ticket {
public:
  admission_ticket(std::shared_ptr<admission> owner, std::uint64_t id)
    : owner_(std::move(owner)), id_(id) {}

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
  bool authenticated_ = false;
};

} // namespace codeq::transport
