// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/enqueue_outbox.hpp"
#include "client/watch_list.hpp"
#include "sim/auditor.hpp"
#include "sim/peer_link.hpp"
#include "sim/world.hpp"

#include <functional>
#include <string>
#include <vector>

namespace codeq::sim {

/// A producer: the real outbox and watch list. It enqueues random tasks and waits for their ends.
class producer_process {
public:
  struct parts {
    std::string name;
    std::vector<std::string> queues;
    auditor* audit = nullptr;
    /// The earliest shard time that "now" can mean.
    std::function<timestamp()> shard_now;
  };

  producer_process(world& all, network& net, parts made);

  /// Enqueues one request of random tasks.
  void submit();

  /// Asks for the ends of tasks once more.
  void look_again(const std::vector<task_id>& tasks);

  /// Ends that it still waits for.
  [[nodiscard]] std::size_t waits_for() const { return watches_.size(); }

private:
  [[nodiscard]] task_spec some_task();
  void take(const protocol::wire_frame& frame);

  world& world_;
  parts parts_;
  process process_;
  peer_link link_;
  client::enqueue_outbox outbox_;
  client::watch_list watches_;
  std::uint64_t submitted_ = 0;
};

} // namespace codeq::sim
