// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/messages.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"
#include "transport/backoff.hpp"

#include <functional>

namespace codeq::sim {

/// Keeps a process of a worker or producer connected to the coordinator, as its link does: dials,
/// says hello, and after an end dials again with growing pauses.
class peer_link {
public:
  struct callbacks {
    /// The coordinator welcomed this process to so many shards of a store.
    std::function<void(std::size_t shards, std::uint64_t store)> up;
    std::function<void()> down;
    std::function<void(const protocol::wire_frame&)> receive;
    /// Refused for good.
    std::function<void(errc)> refused;
  };

  peer_link(world& all, network& net, process& home);

  void start(protocol::hello hello, callbacks with);

  /// Nothing happens when there is no connection.
  template <class S>
  void send(const protocol::frame<S>& message) {
    send(message.to_wire());
  }

  void send(const protocol::wire_frame& message) {
    if (link_ && welcomed_)
      link_->send(side::dialler, message);
  }

  [[nodiscard]] bool is_up() const noexcept { return link_ && welcomed_; }

  /// The connection of now; differs after each reconnect.
  [[nodiscard]] const connection_ptr& current() const noexcept { return link_; }

  /// No more connections.
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
