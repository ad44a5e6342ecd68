// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/outcome.hpp"

#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace codeq {

/// The HANDLER actor interface: the only one that users implement. One actor lives per slot and has
/// one task at a time. It replies with an `outcome`, at once or through a response promise; it must
/// not reply with a `caf::error`, which the runtime does not see. If the actor throws or ends, the
/// attempt is `failed` with that reason.
using handler_actor = caf::typed_actor<
  // Runs one attempt and replies with its outcome.
  caf::replies_to<task>::with<outcome>>;

namespace detail {

/// Turns an exception in `self` into its exit reason, with the exception's text, so that the node
/// can report it.
void report_exceptions(caf::scheduled_actor* self);

} // namespace detail

/// Where and for which group a handler actor is started.
struct handler_placement {
  /// Group of a keyed handler's actor; empty otherwise.
  std::string group;
  /// The actor may block, so it gets a thread of its own.
  bool own_thread = false;
};

/// Starts the handler actor of one slot; called on the node's own thread.
using handler_factory =
  std::function<handler_actor(caf::actor_system&, const handler_placement& placement)>;

/// A handler that is a plain function; it has a thread of its own and may block.
using handler_function = std::function<outcome(const task&)>;

/// A handler that takes several tasks of its queue together and answers one outcome for each, in
/// their order; it has a thread of its own and may block.
using batch_function = std::function<std::vector<outcome>(std::span<const task>)>;

/// Where the handlers of a queue run. Plain functions have a thread of their own in every case.
enum class isolation : std::uint8_t {
  shared,  ///< Actors share the node's threads, and must not block.
  thread,  ///< Each actor has a thread of its own.
  process, ///< Functions run in a child process for each slot: a crash there fails one task.
};

[[nodiscard]] std::string_view to_string(isolation where) noexcept;

/// How a queue is served relative to the node's other queues.
struct queue_options {
  /// Maximum number of concurrent tasks of this queue; 0: as many as the node has slots.
  std::size_t slots = 0;
  /// The queue's share of slots when several queues wait for them, 1..1000.
  unsigned weight = 1;
  isolation run_in = isolation::shared;
};

/// The handlers that a handler library registers, by queue of the worker's tenant. A second handler
/// for the same queue is refused when the node starts.
class handler_registry {
public:
  /// Handles `queue` by a function; each slot calls it on its own thread.
  void handle(std::string queue, handler_function function, queue_options options = {});

  /// Handles `queue` by a function that gets up to `batch_max` (1..1000) waiting tasks at once; it
  /// never waits for more to arrive. Each task takes a slot. If the function throws, all tasks of
  /// the batch fail.
  void handle_batch(
    std::string queue, std::size_t batch_max, batch_function function, queue_options options = {});

  /// Handles `queue` by a typed actor behavior, with one actor per slot:
  /// `registry.handle_actor("q", [](codeq::handler_actor::pointer self) { return ...; })`.
  template <class Behavior>
  void handle_actor(std::string queue, Behavior behavior, queue_options options = {}) {
    auto for_slot = [behavior](handler_actor::pointer self, const std::string&) {
      return behavior(self);
    };
    add({std::move(queue), spawner(std::move(for_slot)), options});
  }

  /// Handles `queue` by actors that each serve one `group` and keep state between its tasks:
  /// `registry.handle_keyed("q", [](codeq::handler_actor::pointer self, const std::string& group) {
  /// return ...; })`. An actor that had no task for `idle` ends; the group's next task starts a new
  /// one. Tasks without a group run in actors that keep no state.
  template <class Behavior>
  void handle_keyed(
    std::string queue,
    Behavior behavior,
    duration idle = limits::keyed_idle_default,
    queue_options options = {}) {
    entry made{std::move(queue), spawner(std::move(behavior)), options};
    made.idle = idle;
    add(std::move(made));
  }

  struct entry {
    std::string queue;
    /// Starts the actor of a slot; empty for a batch handler.
    handler_factory factory{};
    queue_options options{};
    /// The function of a plain-function handler, which `factory` runs; otherwise empty.
    handler_function function{};
    batch_function batch{};
    std::size_t batch_max = 1;
    /// Idle time after which the actor of a keyed handler ends; empty for other handlers.
    std::optional<duration> idle{};
  };

  /// Adds a handler entry of any kind.
  void add(entry handler) { entries_.push_back(std::move(handler)); }

  [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

private:
  template <class Behavior>
  [[nodiscard]] static handler_factory spawner(Behavior behavior) {
    return [behavior](caf::actor_system& system, const handler_placement& placement) {
      auto start = [behavior, group = placement.group](handler_actor::pointer self) {
        detail::report_exceptions(self);
        return handler_actor::behavior_type{behavior(self, group)};
      };
      return placement.own_thread ? system.spawn<caf::detached>(start) : system.spawn(start);
    };
  }

  std::vector<entry> entries_;
};

/// Incremented whenever a library built against an older codeq can no longer be loaded.
inline constexpr std::uint32_t handler_abi_version = 4;

} // namespace codeq

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::outcome)

/// Use once in a handler library. Defines the entry points that `codeq-worker --handlers` looks for
/// and opens the body of the function that registers handlers.
/// `CODEQ_HANDLERS(registry) { registry.handle("thumbs", make_thumb); }`
#define CODEQ_HANDLERS(registry)                                                                   \
  extern "C" std::uint32_t codeq_handler_abi_version() {                                           \
    return codeq::handler_abi_version;                                                             \
  }                                                                                                \
  extern "C" void codeq_register_handlers(codeq::handler_registry& registry)
