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

/// A checkpoint on its way to the coordinator.
struct checkpoint_line {
  /// Number of the checkpoint within the attempt, from 1; 0: none.
  std::uint32_t number = 0;
  bytes data;
  /// It was sent over this connection before, and postponed.
  bool is_repeated = false;
};

/// The latest checkpoint of one attempt that is not known to be durable, and the callbacks that
/// wait for it. Thread-safe.
class unsaved_checkpoint {
public:
  /// Does the same as `give_up`; no other references exist by now.
  ~unsaved_checkpoint();

  // Called by the handler.

  void save(std::string state, checkpoint_saved then);

  // Called by the dispatcher.

  /// The latest checkpoint, unless it was sent since the connection opened or is postponed; it then
  /// counts as sent.
  [[nodiscard]] std::optional<checkpoint_line> take();

  /// The connection is new: a checkpoint that is not known to be durable has to be sent again.
  void resend();

  /// The coordinator has no room for the checkpoint of that number: unless a later one was sent, no
  /// checkpoint is sent until `resend_postponed`.
  void postpone(std::uint32_t number);

  /// The latest checkpoint has to be sent if one was postponed. Returns true if there is one to
  /// send.
  [[nodiscard]] bool resend_postponed();

  /// The latest checkpoint that is not known to be durable; number 0: there is none.
  [[nodiscard]] checkpoint_line latest() const;

  /// All checkpoints up to this number are durable.
  void saved(std::uint32_t number);

  /// The attempt has ended: calls the waiting callbacks with false.
  void give_up();

private:
  using waiter = std::pair<std::uint32_t, checkpoint_saved>;

  [[nodiscard]] std::vector<waiter> take_waiters(std::uint32_t up_to);

  mutable std::mutex mutex_;
  std::uint32_t count_ = 0;
  checkpoint_line latest_;
  bool is_unsent_ = false;
  bool is_postponed_ = false;
  /// The checkpoint that was sent last over this connection; 0: none.
  std::uint32_t sent_ = 0;
  std::vector<waiter> waiters_;
};

} // namespace codeq::worker
