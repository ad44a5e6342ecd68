// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/bytes.hpp"
#include "codeq/ids.hpp"
#include "codeq/task.hpp"

#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq {

/// Tells a running handler that its attempt is no longer wanted. Shared by the runtime and the
/// handler; every member may be called from any thread.
class cancellation {
public:
  /// True once the lease is lost, the task is cancelled or the node stops without waiting.
  [[nodiscard]] bool requested() const noexcept;

  /// Calls `action` once, from the thread that requests the cancellation, or at once when that
  /// happened before. At most one action per task; it must not block.
  void on_request(std::function<void()> action);

  /// Used by the runtime; idempotent.
  void request();

  cancellation();
  ~cancellation();
  cancellation(const cancellation&) = delete;
  cancellation& operator=(const cancellation&) = delete;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// One attempt at a task, as its handler sees it. Cheap to copy: the payload is shared, not copied.
struct task {
  task_id id;
  std::string tenant;
  std::string queue;
  int priority = 0;
  /// 1 for the first charged delivery.
  std::uint32_t attempt = 1;
  std::uint32_t max_attempts = 1;
  /// Strictly increasing within the task: guard writes into your own store with it.
  fencing_token token{};
  /// How long the lease is valid between two heartbeats (the runtime sends them).
  duration lease{0};
  timestamp enqueued_at;
  bytes payload;
  std::vector<std::pair<std::string, std::string>> headers;
  /// Never null.
  std::shared_ptr<cancellation> cancel;
};

/// How an attempt ended, in the handler's words. There is no default: a handler has to say one.
class outcome {
public:
  enum class kind : std::uint8_t { completed, failed, failed_permanently, nack, abandon };

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

  [[nodiscard]] kind what() const noexcept { return kind_; }

  /// The result, or the reason.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The nack's own delay; empty when the retry policy decides.
  [[nodiscard]] std::optional<duration> delay() const noexcept { return delay_; }

  /// In the order they were added.
  [[nodiscard]] const std::vector<task_spec>& follow_ups() const noexcept { return follow_ups_; }

private:
  outcome(kind what, std::string text) : kind_(what), text_(std::move(text)) {}

  kind kind_;
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

/// Starts the handler actor of one slot; called on the node's own thread.
using handler_factory = std::function<handler_actor(caf::actor_system&)>;

/// A handler that is a plain function; it has a thread of its own and may block.
using handler_function = std::function<outcome(const task&)>;

/// What a handler library registers: which queue is handled by what.
class handler_registry {
public:
  /// Handles `queue` of the worker's tenant by a function; each slot calls it on its own thread.
  void handle(std::string queue, handler_function function);

  /// Handles `queue` by a typed actor behavior on the shared scheduler, one actor per slot:
  /// `registry.handle_actor("q", [](codeq::handler_actor::pointer self) { return ...; })`.
  template <class Behavior>
  void handle_actor(std::string queue, Behavior behavior) {
    add(std::move(queue), [behavior](caf::actor_system& system) {
      return system.spawn([behavior](handler_actor::pointer self) {
        detail::report_exceptions(self);
        return handler_actor::behavior_type{behavior(self)};
      });
    });
  }

  /// Handles `queue` by whatever `factory` spawns. A second handler for a queue is refused when
  /// the node starts.
  void add(std::string queue, handler_factory factory);

  struct entry {
    std::string queue;
    handler_factory factory;
  };

  [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

private:
  std::vector<entry> entries_;
};

/// Changes whenever a library built against an older codeq can no longer be loaded.
inline constexpr std::uint32_t handler_abi_version = 1;

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
