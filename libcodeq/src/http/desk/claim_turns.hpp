// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "http/server/answer_shares.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace codeq::http {

/// Starts the steps of claims while their tenants' shares have room for the tasks that a step may
/// bring, so that the tasks in flight to the gateway are bounded in bytes. A step waits while steps
/// of its tenant are under way; tenants take turns. A tenant whose share is used up by responses
/// that its clients do not read is refused. Used by the gateway's actor.
class claim_turns {
public:
  /// Takes `overloaded` when the step must not start. The share then has no more bytes than before.
  using start_function = std::function<void(const result<void>&)>;

  struct step {
    std::string tenant;
    /// The share of the claim's response, and the bytes to add to it.
    answer_share share;
    std::uint64_t bytes = 0;
    start_function start;
  };

  /// The shares that the steps take their bytes from.
  void connect(std::shared_ptr<answer_shares> shares) { shares_ = std::move(shares); }

  /// Calls `start` at once or later. A step that started ends with `end`.
  void begin(step next);

  /// A step of the tenant that started brings no more tasks.
  void end(const std::string& tenant);

private:
  /// Starts the tenant's first step, or refuses it; false when it has to wait.
  [[nodiscard]] bool start_first(const std::string& tenant);

  /// True when the bytes that the step needs become free soon.
  [[nodiscard]] bool may_wait(const step& next) const;
  void start_all();

  std::shared_ptr<answer_shares> shares_;
  /// The steps that have started and not ended, by tenant.
  std::map<std::string, std::size_t> started_;
  /// No queue in it is empty.
  std::map<std::string, std::deque<step>> waiting_;
  bool is_starting_ = false;
};

} // namespace codeq::http
