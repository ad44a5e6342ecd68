// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/frame.hpp"
#include "sim/world.hpp"

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::sim {

enum class side : std::uint8_t { dialler, acceptor };

/// One connection. In each direction frames arrive in order, each after a random delay.
class connection : public std::enable_shared_from_this<connection> {
public:
  using receive_function = std::function<void(const protocol::wire_frame&)>;
  using closed_function = std::function<void()>;

  explicit connection(world& all) : world_(all) {}

  /// Sets the callbacks of one side: for frames, and for the end of the connection.
  void attach(side where, receive_function receive, closed_function closed);

  void send(side from, const protocol::wire_frame& frame);

  /// Closes in order: what was sent arrives, then the other side is notified of the end.
  void close(side from);

  /// Breaks the connection: frames in flight are lost in both directions, and each side notices at
  /// its own time; with `silent`, only after a timeout.
  void cut(bool silent);

  /// Delays everything that `from` sends for `length`.
  void stall(side from, virtual_time length);

  /// True when a stall of frames from `from` is in progress, or ended less than `ago` ago.
  [[nodiscard]] bool was_stalled(side from, virtual_time ago);

  /// Bytes of frames that `from` sent and that have not arrived.
  [[nodiscard]] std::uint64_t flying_bytes(side from);

  [[nodiscard]] bool is_open() const noexcept { return open_; }

private:
  struct direction {
    receive_function receive;
    closed_function closed;
    /// An empty entry is the orderly end.
    std::deque<std::pair<virtual_time, std::optional<protocol::wire_frame>>> flying;
    virtual_time stalled_until{0};
    bool pumping = false;
  };

  /// Frames in flight toward a side.
  [[nodiscard]] direction& toward(side where) { return ways_[static_cast<std::size_t>(where)]; }

  void launch(side from, std::optional<protocol::wire_frame> frame);
  void pump(side to);
  void arrive(side to);
  void tell_closed(side where, virtual_time wait);

  world& world_;
  bool open_ = true;
  std::array<direction, 2> ways_;
};

using connection_ptr = std::shared_ptr<connection>;

[[nodiscard]] constexpr side other(side s) noexcept {
  return s == side::dialler ? side::acceptor : side::dialler;
}

/// All connections of a run, and how to reach the coordinator.
class network {
public:
  /// Accepts a connection; false when no process listens.
  using accept_function = std::function<bool(const connection_ptr&)>;

  explicit network(world& all) : world_(all) {}

  void listen(accept_function accept) { accept_ = std::move(accept); }

  /// Connects after a random delay and calls `done` with the connection, or with null when refused.
  void dial(const process& from, std::function<void(const connection_ptr&)> done);

  /// A random open connection, or null.
  [[nodiscard]] connection_ptr pick();

  /// Breaks all connections, as a machine crash does.
  void cut_all(bool silent);

private:
  world& world_;
  accept_function accept_;
  std::vector<std::weak_ptr<connection>> connections_;
};

} // namespace codeq::sim
