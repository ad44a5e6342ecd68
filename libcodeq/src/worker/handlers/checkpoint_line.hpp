// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::worker {

/// What a handler hands on to the next attempt, on its way.
struct checkpoint_line {
  /// Counts what the attempt saved, from 1; 0 is nothing.
  std::uint32_t number = 0;
  bytes data;
};

/// What one attempt saves: the latest that is not known to be durable, and who waits for it to be.
/// Any thread.
class unsaved_checkpoint {
public:
  /// As `give_up`; nobody else has it by now.
  ~unsaved_checkpoint();

  // The handler's side.

  void save(std::string state, checkpoint_saved then);

  // The dispatcher's side.

  /// The latest unless it was sent since the connection opened; counted as sent.
  [[nodiscard]] std::optional<checkpoint_line> take();

  /// The connection is new: what is not known to be durable has to be sent again.
  void resend();

  /// The latest that is not known to be durable; the number 0 when all is.
  [[nodiscard]] checkpoint_line latest() const;

  /// Everything up to this number is durable.
  void saved(std::uint32_t number);

  /// The attempt is over: nobody will tell.
  void give_up();

private:
  using waiter = std::pair<std::uint32_t, checkpoint_saved>;

  [[nodiscard]] std::vector<waiter> take_waiters(std::uint32_t up_to);

  mutable std::mutex mutex_;
  std::uint32_t count_ = 0;
  checkpoint_line latest_;
  bool is_unsent_ = false;
  std::vector<waiter> waiters_;
};

} // namespace codeq::worker
