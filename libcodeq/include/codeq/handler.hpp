// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/task.hpp"

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

/// How an attempt ended, in the handler's words. There is no default: a handler has to say one.
class outcome {
public:
  /// The work is done; `result` (at most 1 MiB) is stored and can be read by producers.
  [[nodiscard]] static outcome completed(std::string result = {});

  /// The attempt failed; the task is retried by its policy, or dead when attempts are used up.
  [[nodiscard]] static outcome failed(std::string reason);

  /// No further attempt can succeed; the task is dead.
  [[nodiscard]] static outcome failed_permanently(std::string reason);

  /// As `failed`, with the handler's own delay (0 is at once).
  [[nodiscard]] static outcome nack(duration delay, std::string reason);

  /// As `failed`; the delay comes from the task's retry policy.
  [[nodiscard]] static outcome nack(std::string reason);

  /// Gives the task back unharmed: ready at once in its old place, the attempt not charged.
  [[nodiscard]] static outcome abandon();

  /// Adds a task that is enqueued in the same write as this completion: once when it is accepted,
  /// and never otherwise. At most 64 of together 8 MiB, after any kind of outcome but only enqueued
  /// by `completed`. One whose field is over its limit makes the attempt `failed`, with the reason;
  /// a duplicate of a key follows its `on_duplicate` (`reject` adds nothing), and no limit of a
  /// queue refuses it.
  outcome& then(task_spec follow_up) &;
  [[nodiscard]] outcome&& then(task_spec follow_up) &&;

  /// Never `cancelled`.
  [[nodiscard]] disposition what() const noexcept { return kind_; }

  /// The result, or the reason.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The same, which is empty from then on.
  [[nodiscard]] std::string take_text() noexcept { return std::move(text_); }

  /// The nack's own delay; empty when the retry policy decides.
  [[nodiscard]] std::optional<duration> delay() const noexcept { return delay_; }

  /// In the order they were added.
  [[nodiscard]] const std::vector<task_spec>& follow_ups() const noexcept { return follow_ups_; }

private:
  outcome(disposition what, std::string text) : kind_(what), text_(std::move(text)) {}

  disposition kind_;
  std::string text_;
  std::optional<duration> delay_;
  std::vector<task_spec> follow_ups_;
};

/// The HANDLER actor interface: the only one that users implement. One actor lives per slot and
/// has one task at a time; it answers itself, at once or by a response promise: always with an
/// `outcome`, never with a `caf::error`, which the runtime would not see. An exception or the
/// actor's end becomes `failed` with the text.
using handler_actor = caf::typed_actor<
  // Runs one attempt and answers how it ended.
  caf::replies_to<task>::with<outcome>>;

namespace detail {

/// Makes an exception in `self` its exit reason, with the text, so that the node can report it.
void report_exceptions(caf::scheduled_actor* self);

} // namespace detail

/// For whom a handler actor is started.
struct handler_placement {
  /// Of a keyed handler: the group that it lives for.
  std::string group;
  /// It may hold up its thread, so it gets one of its own.
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

/// Where the handlers of a queue run. A function has a thread of its own in any case.
enum class isolation : std::uint8_t {
  shared,  ///< Actors share the node's threads, and must not block.
  thread,  ///< Each actor has a thread of its own.
  process, ///< Functions run in a child process for each slot: a crash there fails one task.
};

[[nodiscard]] std::string_view to_string(isolation where) noexcept;

/// How a queue is served, beside others of the node.
struct queue_options {
  /// Tasks of this queue that run at once; 0 is as many as the node has slots.
  std::size_t slots = 0;
  /// Its share when several queues wait for slots, 1..1000.
  unsigned weight = 1;
  isolation run_in = isolation::shared;
};

/// What a handler library registers: which queue of the worker's tenant is handled by what. A
/// second handler for a queue is refused when the node starts.
class handler_registry {
public:
  /// Handles `queue` by a function; each slot calls it on its own thread.
  void handle(std::string queue, handler_function function, queue_options options = {});

  /// Handles `queue` by a function that takes up to `batch_max` (1..1000) waiting tasks at once;
  /// it never waits for more. Each task takes a slot. An exception fails all of them.
  void handle_batch(
    std::string queue, std::size_t batch_max, batch_function function, queue_options options = {});

  /// Handles `queue` by a typed actor behavior, one actor per slot:
  /// `registry.handle_actor("q", [](codeq::handler_actor::pointer self) { return ...; })`.
  template <class Behavior>
  void handle_actor(std::string queue, Behavior behavior, queue_options options = {}) {
    auto for_slot = [behavior](handler_actor::pointer self, const std::string&) {
      return behavior(self);
    };
    add({std::move(queue), spawner(std::move(for_slot)), options});
  }

  /// Handles `queue` by actors that live for one `group` each and keep state between its tasks:
  /// `registry.handle_keyed("q", [](codeq::handler_actor::pointer self, const std::string& group) {
  /// return ...; })`. One without a task for `idle` ends; the group's next task starts another.
  /// Tasks without a group get an actor without state of theirs.
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
    /// Empty for a batch.
    handler_factory factory{};
    queue_options options{};
    /// Of a plain function, what `factory` starts; else empty.
    handler_function function{};
    batch_function batch{};
    std::size_t batch_max = 1;
    /// Of a keyed handler: when one without a task ends.
    std::optional<duration> idle{};
  };

  /// Handles a queue by whatever the entry says.
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

/// Changes whenever a library built against an older codeq can no longer be loaded.
inline constexpr std::uint32_t handler_abi_version = 4;

} // namespace codeq

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::outcome)

/// Put once into a handler library: defines the entry points that `codeq-worker --handlers` looks
/// for and opens the body that registers handlers.
/// `CODEQ_HANDLERS(registry) { registry.handle("thumbs", make_thumb); }`
#define CODEQ_HANDLERS(registry)                                                                   \
  extern "C" std::uint32_t codeq_handler_abi_version() {                                           \
    return codeq::handler_abi_version;                                                             \
  }                                                                                                \
  extern "C" void codeq_register_handlers(codeq::handler_registry& registry)
