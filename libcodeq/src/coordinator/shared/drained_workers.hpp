// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "base/coordinator_counts.hpp"
#include "coordinator/session/session.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace codeq::coordinator {

/// The connected workers of this coordinator, and which of them an operator has drained: their
/// sessions place no credits. A drained worker stays so when it connects again, but not when a new
/// process has its name. Nothing is stored. Thread-safe.
class drained_workers {
public:
  /// Tells the worker's session; called on any thread, and must not call this object.
  using follower = std::function<void(bool is_drained)>;

  /// Number of drained workers that are not connected and are remembered nevertheless; above it the
  /// one that left first is forgotten.
  static constexpr std::size_t gone_max = 1024;

  /// The worker has connected, in place of any earlier connection. Returns whether it is drained;
  /// `tell` is called at every change from now on.
  [[nodiscard]] bool join(const worker_identity& worker, core::peer_id peer, follower tell);

  /// The connection has ended. Does nothing when the worker has a newer one.
  void leave(const std::string& name, core::peer_id peer);

  /// Drains the worker, or takes it back. Errors: `unsupported` for a worker of the HTTP gateway,
  /// which has no connection.
  [[nodiscard]] result<drain_outcome> set(const std::string& name, bool is_drained);

  /// Sets `is_draining` of the drained workers.
  void mark(std::vector<base::worker_counts>& workers) const;

private:
  struct known_worker {
    std::uint64_t incarnation = 0;
    core::peer_id peer = 0;
    /// Empty while not connected.
    follower tell{};
    bool is_drained = false;
    /// Counts the workers that left; 0 while connected.
    std::uint64_t left = 0;
  };

  void forget_first_gone();

  mutable std::mutex mutex_;
  std::map<std::string, known_worker> workers_;
  std::uint64_t last_left_ = 0;
};

} // namespace codeq::coordinator
