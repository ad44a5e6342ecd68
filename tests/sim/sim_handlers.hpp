// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"

#include "sim/audit/auditor.hpp"
#include "sim/world.hpp"
#include "worker/node/slot_pool.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace codeq::sim {

/// The handlers of one worker process. They make random use of what handlers may do: run long, save
/// checkpoints, heed or ignore cancellation, return any outcome, or end without an answer.
class sim_handlers {
public:
  struct parts {
    worker_identity of;
    auditor* audit = nullptr;
    /// Runs an action after a delay on the clock of the process.
    std::function<void(duration wait, timeline::action what)> after;
    /// A handler was told that its attempt's checkpoint with that number is durable.
    std::function<void(const lease_place& lease, std::uint32_t number)> saved;
    /// A handler returned the outcomes of its attempts, in order.
    std::function<void(worker::handler_number handler, std::vector<outcome> answers)> answer;
    /// A handler ended, and its attempts with it.
    std::function<void(worker::handler_number handler, const outcome& why)> end;
  };

  sim_handlers(world& all, parts made) : world_(all), parts_(std::move(made)) {}

  [[nodiscard]] worker::handler_number start() { return ++last_handler_; }

  void run(worker::handler_number handler, std::vector<task> attempts);

private:
  /// The attempts that a handler runs. Each run has a unique number.
  struct running {
    worker::handler_number handler = 0;
    std::vector<task> attempts;
    /// Number of checkpoints of each attempt.
    std::vector<std::uint32_t> saves;
  };

  void finish(std::uint64_t run);
  void save_sometimes(std::uint64_t run, std::size_t which);
  [[nodiscard]] outcome some_outcome(const task& attempt);
  [[nodiscard]] outcome some_completion(const task& attempt, const std::string& text);
  [[nodiscard]] std::string text_of(const task& attempt, std::uint64_t number) const;

  world& world_;
  parts parts_;
  worker::handler_number last_handler_ = 0;
  std::uint64_t last_run_ = 0;
  std::map<std::uint64_t, running> runs_;
  std::uint64_t outcomes_ = 0;
};

} // namespace codeq::sim
