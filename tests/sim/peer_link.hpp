// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/messages.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"
#include "transport/backoff.hpp"

#include <functional>

namespace codeq::sim {

/// Keeps a worker, producer or operator process connected to the coordinator, as the link actor
/// does: dials, sends a hello, and dials again after a loss, with growing pauses.
class peer_link {
public:
  struct callbacks {
    /// Called when the coordinator has accepted the hello.
    std::function<void(std::size_t shards, std::uint64_t store)> up;
    std::function<void()> down;
    std::function<void(const protocol::wire_frame&)> receive;
    /// Called when the coordinator refused the process for good.
    std::function<void(errc)> refused;
  };

  peer_link(world& all, network& net, process& home);

  void start(protocol::hello hello, callbacks with);

  /// Does nothing without a connection.
  template <class S>
  void send(const protocol::frame<S>& message) {
    send(message.to_wire());
  }

  void send(const protocol::wire_frame& message) {
    if (link_ && welcomed_)
      link_->send(side::dialler, message);
  }

  [[nodiscard]] bool is_up() const noexcept { return link_ && welcomed_; }

  /// The current connection; a new one after each reconnect.
  [[nodiscard]] const connection_ptr& current() const noexcept { return link_; }

  /// Makes no further connections.
  void stop() { stopped_ = true; }

private:
  void dial();
  void take(const connection* from, const protocol::wire_frame& frame);
  void closed(const connection* which);

  world& world_;
  network& network_;
  process& home_;
  protocol::hello hello_;
  callbacks callbacks_;
  transport::backoff backoff_;
  connection_ptr link_;
  bool welcomed_ = false;
  bool stopped_ = false;
};

} // namespace codeq::sim
