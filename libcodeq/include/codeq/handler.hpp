// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace codeq {

/// A handler that is a plain function; it has a thread of its own and may block. If it throws, the
/// attempt is `failed` with `exception: ` and the text of the exception; with `unknown exception`
/// if it is no `std::exception`.
using handler_function = std::function<outcome(const task&)>;

/// A handler that takes several tasks of its queue together and answers one outcome for each, in
/// their order; it has a thread of its own and may block.
using batch_function = std::function<std::vector<outcome>(std::span<const task>)>;

/// The outcome of a typed handler: a `Result`, which completes the task, or any other outcome.
template <class Result>
class typed_outcome : public outcome {
public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  typed_outcome(const Result& value) : outcome(completed(encode(value))) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  typed_outcome(outcome ended) : outcome(std::move(ended)) {}
};

/// Where the handlers of a queue run. Plain functions have a thread of their own in every case.
enum class isolation : std::uint8_t {
  shared,  ///< Actors share the node's threads, and must not block.
  thread,  ///< Each actor has a thread of its own.
  process, ///< Functions run in a child process for each slot: a crash there fails one task.
};

[[nodiscard]] std::string_view to_string(isolation where) noexcept;

/// How a queue, or each queue of a pattern, is served relative to the node's other queues.
struct queue_options {
  /// Maximum number of concurrent tasks of this queue; 0: as many as the node has slots.
  std::size_t slots = 0;
  /// The queue's share of slots when several queues wait for them, 1..1000.
  unsigned weight = 1;
  isolation run_in = isolation::shared;
};

/// Starts the actors of a queue. Defined in `codeq/actor_handler.hpp`.
class actor_factory;

/// Makes an `actor_factory` of a behavior. Defined in `codeq/actor_handler.hpp`, which a source
/// that registers actors has to include.
template <class Behavior>
class actor_handler;

/// True in a source that includes `codeq/actor_handler.hpp`.
template <class Behavior>
concept registers_actors = requires {
  sizeof(actor_handler<Behavior>);
};

/// The handlers that a handler library registers, by queue of the worker's tenant. `queue` is a
/// name or a pattern: the beginning of names and a `*`, or `*` for all queues; `task::queue` then
/// says which one it is. Of several that match a queue, the handler of its name is used, else the
/// one with the longest pattern. A second handler for the same name or pattern is refused when the
/// node starts.
class handler_registry {
public:
  /// Handles `queue` by a function; each slot calls a copy of it on its own thread.
  void handle(std::string queue, handler_function function, queue_options options = {});

  /// Handles `queue` by a function of types that have a `codec`, for example
  /// `registry.handle<order, receipt>("orders", charge)`. It is called with an `Input`, and with
  /// the task as well if it takes two arguments: `charge(const order&, const codeq::task&)`. It
  /// returns a `Result`, a `typed_outcome<Result>` when it may fail, or an `outcome`; with `Result
  /// = void` it may return nothing. A payload that cannot be decoded is `failed_permanently` with
  /// the error of the codec, and the function is not called.
  template <class Input, class Result = void, class Function>
  void handle(std::string queue, Function function, queue_options options = {});

  /// Explains to the compiler's user why a function of another signature is refused.
  template <class Function>
    requires(!std::is_convertible_v<Function, handler_function>)
  void handle(std::string, Function, queue_options = {}) {
    static_assert(
      std::is_convertible_v<Function, handler_function>,
      "the handler has to be a function of a const codeq::task& that returns a codeq::outcome; for "
      "a function of other types name them: registry.handle<Input, Result>(queue, function)");
  }

  /// Handles `queue` by a function that gets up to `batch_max` (1..1000) waiting tasks at once; it
  /// never waits for more to arrive. Each task takes a slot. If the function throws, all tasks of
  /// the batch fail.
  void handle_batch(
    std::string queue, std::size_t batch_max, batch_function function, queue_options options = {});

  /// Explains to the compiler's user why a function of another signature is refused.
  template <class Function>
    requires(!std::is_convertible_v<Function, batch_function>)
  void handle_batch(std::string, std::size_t, Function, queue_options = {}) {
    static_assert(
      std::is_convertible_v<Function, batch_function>,
      "the handler has to be a function of a std::span<const codeq::task> that returns a "
      "std::vector<codeq::outcome>");
  }

  /// Handles `queue` by a typed actor behavior, with one actor per slot:
  /// `registry.handle_actor("q", [](codeq::handler_actor::pointer self) { return ...; })`.
  /// Include `codeq/actor_handler.hpp`, and link `codeq::actor_handler`.
  template <class Behavior>
  void handle_actor(std::string queue, Behavior behavior, queue_options options = {}) {
    static_assert(
      registers_actors<Behavior>,
      "include codeq/actor_handler.hpp, and link codeq::actor_handler");
    auto factory = actor_handler<Behavior>::make(std::move(behavior));
    add({std::move(queue), options, actors{std::move(factory), std::nullopt}});
  }

  /// Handles `queue` by actors that each serve one `group` and keep state between its tasks:
  /// `registry.handle_keyed("q", [](codeq::handler_actor::pointer self, const std::string& group) {
  /// return ...; })`. An actor that had no task for `idle` ends; the group's next task starts a new
  /// one. Tasks without a group run in actors that keep no state. Include and link as for
  /// `handle_actor`.
  template <class Behavior>
  void handle_keyed(
    std::string queue,
    Behavior behavior,
    duration idle = limits::keyed_idle_default,
    queue_options options = {}) {
    static_assert(
      registers_actors<Behavior>,
      "include codeq/actor_handler.hpp, and link codeq::actor_handler");
    auto factory = actor_handler<Behavior>::make_keyed(std::move(behavior));
    add({std::move(queue), options, actors{std::move(factory), idle}});
  }

  // For the runtime.

  struct batch {
    batch_function function;
    std::size_t tasks_max = 1;
  };

  struct actors {
    std::shared_ptr<const actor_factory> factory;
    /// Idle time after which an actor ends that serves one group; not set: one actor per slot.
    std::optional<duration> idle{};
  };

  /// One registered handler.
  struct entry {
    std::string queue;
    queue_options options{};
    std::variant<handler_function, batch, actors> handler{};
  };

  [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

private:
  void add(entry handler) { entries_.push_back(std::move(handler)); }

  std::vector<entry> entries_;
};

namespace detail {

/// The outcome of a function that returned a value of a typed handler.
template <class Result, class Answer>
[[nodiscard]] outcome to_outcome(Answer&& answer) {
  if constexpr (std::is_convertible_v<Answer, outcome>) {
    return std::forward<Answer>(answer);
  } else {
    constexpr bool fits = std::is_convertible_v<Answer, Result>;
    static_assert(
      fits,
      "the handler has to return the Result of handle<Input, Result>, a "
      "codeq::typed_outcome<Result> or a codeq::outcome");
    if constexpr (fits)
      return typed_outcome<Result>(std::forward<Answer>(answer));
  }
}

/// Calls a typed handler's function with the arguments that it takes.
template <class Result, class Function, class... Arguments>
[[nodiscard]] outcome call_typed(Function& function, Arguments&&... arguments) {
  using answer = std::invoke_result_t<Function&, Arguments...>;
  if constexpr (std::is_void_v<answer>) {
    static_assert(
      std::is_void_v<Result>,
      "the handler has to return the Result of handle<Input, Result>, a "
      "codeq::typed_outcome<Result> or a codeq::outcome");
    function(std::forward<Arguments>(arguments)...);
    return outcome::completed();
  } else {
    return to_outcome<Result>(function(std::forward<Arguments>(arguments)...));
  }
}

} // namespace detail

template <class Input, class Result, class Function>
void handler_registry::handle(std::string queue, Function function, queue_options options) {
  constexpr bool takes_task = std::is_invocable_v<Function&, Input, const task&>;
  constexpr bool fits = takes_task || std::is_invocable_v<Function&, Input>;
  static_assert(
    fits,
    "the handler has to take the Input of handle<Input, Result>, or an Input and a const "
    "codeq::task&");
  auto typed = [function = std::move(function)](const task& attempt) mutable -> outcome {
    auto input = decode<Input>(attempt.payload);
    if (!input)
      return outcome::failed_permanently("payload: " + input.error().context);
    if constexpr (takes_task)
      return detail::call_typed<Result>(function, std::move(*input), attempt);
    else if constexpr (fits)
      return detail::call_typed<Result>(function, std::move(*input));
  };
  handle(std::move(queue), handler_function(std::move(typed)), options);
}

/// Incremented whenever a library built against an older codeq can no longer be loaded.
inline constexpr std::uint32_t handler_abi_version = 6;

} // namespace codeq

/// Use once in a handler library. Defines the entry points that `codeq-worker --handlers` looks for
/// and opens the body of the function that registers handlers. They are exported from a library
/// that is built with `-fvisibility=hidden`, too.
/// `CODEQ_HANDLERS(registry) { registry.handle("thumbs", make_thumb); }`
#define CODEQ_HANDLERS(registry)                                                                   \
  extern "C" __attribute__((visibility("default"))) std::uint32_t codeq_handler_abi_version();     \
  extern "C" __attribute__((visibility("default"))) void codeq_register_handlers(                  \
    codeq::handler_registry& registry);                                                            \
  extern "C" std::uint32_t codeq_handler_abi_version() {                                           \
    return codeq::handler_abi_version;                                                             \
  }                                                                                                \
  extern "C" void codeq_register_handlers(codeq::handler_registry& registry)
