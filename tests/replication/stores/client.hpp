// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "coordinator/shard/shard_messages.hpp"
#include "core/commands/command.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace codeq::replication::stores {

/// A producer and a worker of one queue, and a ledger of what they were told.
class client {
public:
  static constexpr core::peer_id producer = 1;
  static constexpr core::peer_id worker = 2;

  /// The next enqueue of so many tasks.
  [[nodiscard]] core::enqueue enqueue(std::uint32_t tasks);

  /// Completes all tasks that the worker was given and has not reported; what it reports, it keeps
  /// reporting until it is answered.
  [[nodiscard]] core::report report() const;

  void told(const core::enqueue_answered& answer);
  void told(const core::reports_answered& answer);
  void given(const coordinator::task_delivery& tasks);

  [[nodiscard]] const std::set<sequence>& enqueued() const { return enqueued_; }

  [[nodiscard]] const std::map<sequence, fencing_token>& completed() const { return completed_; }

  /// Tasks that the worker has, by their latest tokens.
  [[nodiscard]] const std::map<sequence, fencing_token>& held() const { return held_; }

  /// Violated promises: a token or an id that is not new.
  [[nodiscard]] const std::string& violation() const { return violation_; }

  [[nodiscard]] fencing_token last_token() const { return last_token_; }

private:
  std::uint64_t requests_ = 0;
  std::set<sequence> enqueued_;
  std::map<sequence, fencing_token> held_;
  std::map<sequence, fencing_token> completed_;
  fencing_token last_token_{};
  std::string violation_;
};

} // namespace codeq::replication::stores
