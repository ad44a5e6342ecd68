// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "peers/connection.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace codeq::bench {

/// Called with each task's payload in place of a handler.
using payload_visitor = std::function<void(std::string_view payload)>;

/// One connection to another queue, used by one thread. Errors are thrown.
class peer {
public:
  virtual ~peer() = default;

  /// Adds tasks, pipelined; returns when all are acknowledged.
  virtual void add(std::span<const std::string> payloads) = 0;

  /// Takes the available tasks, or waits up to a second for some; passes each to `visit`,
  /// acknowledges it, and returns the number acknowledged.
  virtual std::size_t take(const payload_visitor& visit) = 0;
};

/// The fastest setup for a peer.
struct peer_kind {
  std::string name;
  /// Number of connections that add and that take, and number of tasks that each handles at once.
  std::size_t producers = 4;
  std::size_t workers = 8;
  std::size_t window = 64;
  /// Creates the objects shared by all connections; called once, before the first one.
  std::function<void(std::uint16_t port)> prepare;
  std::function<std::unique_ptr<peer>(std::uint16_t port)> connect;
};

/// Redis Streams: XADD; XREADGROUP, XACK and XDEL.
[[nodiscard]] peer_kind redis_streams();

/// NATS JetStream: a stream with work-queue retention and one pull consumer.
[[nodiscard]] peer_kind jetstream();

/// beanstalkd: put; reserve and delete.
[[nodiscard]] peer_kind beanstalkd();

} // namespace codeq::bench
