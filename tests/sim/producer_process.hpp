// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/enqueue_outbox.hpp"
#include "client/watch_list.hpp"
#include "sim/audit/auditor.hpp"
#include "sim/peer_link.hpp"
#include "sim/workload.hpp"
#include "sim/world.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace codeq::sim {

/// A producer: drives the production outbox and watch list. It enqueues random tasks and awaits
/// their ends.
class producer_process {
public:
  struct parts {
    std::string name;
    auditor* audit = nullptr;
    /// The earliest shard time that "now" can mean.
    std::function<timestamp()> shard_now;
  };

  producer_process(world& all, network& net, parts made);

  /// Enqueues one request of random tasks.
  void submit();

  /// Enqueues one task per key, each in a request of its own.
  void submit_keyed();

  /// Awaits the ends of tasks once more.
  void look_again(const std::vector<task_id>& tasks);

  /// Crashes. The process that replaces it has a new session and no knowledge of earlier requests.
  void crash();

  /// Tasks whose enqueue was answered and whose end was not reported.
  [[nodiscard]] const std::set<task_id>& open_tasks() const { return open_tasks_; }

  /// Number of ends that it still waits for.
  [[nodiscard]] std::size_t waits_for() const { return watches_.size(); }

private:
  void submit(std::vector<task_spec> tasks);
  void answered(const std::vector<std::string>& names, const result<enqueue_answers>& answers);
  void take(const protocol::wire_frame& frame);

  world& world_;
  parts parts_;
  process process_;
  peer_link link_;
  client::enqueue_outbox outbox_;
  client::watch_list watches_;
  workload workload_;
  std::uint64_t submitted_ = 0;
  /// Names of tasks whose enqueue was not answered.
  std::set<std::string> unanswered_;
  std::set<task_id> open_tasks_;
};

} // namespace codeq::sim
