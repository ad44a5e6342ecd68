// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include "worker/lease_key.hpp"

#include <caf/fwd.hpp>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

/// The handler actors of a node: each runs one task at a time, at most `slots` run together. They
/// are spawned when first needed and kept per queue, since a handler belongs to its queue; so there
/// may be up to `slots` idle ones for every queue. Owned by the dispatcher and used on its thread.
class slot_pool {
public:
  /// @pre no two entries have one queue.
  slot_pool(std::vector<handler_registry::entry> handlers, std::size_t slots);

  [[nodiscard]] bool handles(const std::string& queue) const { return queues_.contains(queue); }

  [[nodiscard]] bool has_free() const noexcept { return running_ < slots_; }

  [[nodiscard]] std::size_t running() const noexcept { return running_; }

  /// The handler that is to run `key`; a new one is monitored by `self`.
  /// @pre has_free() and handles(queue)
  const handler_actor&
  start(caf::scheduled_actor* self, const std::string& queue, const lease_key& key);

  /// The handler behind `sender` answered and is free again: the lease that it ran. Empty when it
  /// is not ours or ran nothing.
  [[nodiscard]] std::optional<lease_key> finish(caf::actor_id sender);

  /// The handler is gone and another is spawned when needed: the lease that it ran.
  [[nodiscard]] std::optional<lease_key> remove(caf::actor_id handler);

  /// Ends all handlers once they are done with what they run.
  void stop();

private:
  struct queue_slots {
    handler_factory factory;
    std::vector<caf::actor_id> idle;
  };

  struct slot {
    handler_actor handler;
    queue_slots* queue = nullptr;
    std::optional<lease_key> lease;
  };

  std::unordered_map<std::string, queue_slots> queues_;
  std::unordered_map<caf::actor_id, slot> slots_by_id_;
  std::size_t slots_;
  std::size_t running_ = 0;
};

} // namespace codeq::worker
