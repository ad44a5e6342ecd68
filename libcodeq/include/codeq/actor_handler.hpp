// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/handler.hpp"

#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/error.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/sec.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

/// Handlers that are CAF actors: the only public header that includes CAF. Link
/// `codeq::actor_handler`.
namespace codeq {

/// The HANDLER actor interface: the only one that users implement. It has one task at a time. It
/// replies with an `outcome`, at once or through a response promise. If it replies with a
/// `caf::error` instead, the attempt is `failed` with that error; if the actor throws or ends, with
/// that reason.
using handler_actor = caf::typed_actor<
  // Runs one attempt and replies with its outcome.
  caf::replies_to<task>::with<outcome>>;

/// Where and for which group a handler actor is started.
struct handler_placement {
  /// Group of a keyed handler's actor; empty otherwise.
  std::string group;
  /// The actor may block, so it gets a thread of its own.
  bool own_thread = false;
};

/// Starts the actors of a queue; called by the runtime, on the node's own thread.
class actor_factory {
public:
  using function = std::function<handler_actor(caf::actor_system&, const handler_placement&)>;

  explicit actor_factory(function start) : start_(std::move(start)) {}

  [[nodiscard]] handler_actor
  start(caf::actor_system& system, const handler_placement& placement) const {
    return start_(system, placement);
  }

private:
  function start_;
};

namespace detail {

/// Turns an exception in `self` into its exit reason, with the exception's text, so that the node
/// can report it.
inline void report_exceptions(caf::scheduled_actor* self) {
  self->set_exception_handler([](caf::scheduled_actor*, std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      return caf::make_error(caf::sec::runtime_error, std::string(e.what()));
    } catch (...) {
      return caf::make_error(caf::sec::runtime_error, std::string("unknown exception"));
    }
  });
}

} // namespace detail

template <class Behavior>
class actor_handler {
public:
  /// For behaviors that are called with the actor.
  [[nodiscard]] static std::shared_ptr<const actor_factory> make(Behavior behavior) {
    constexpr bool fits = returns_behavior<handler_actor::pointer>();
    static_assert(
      fits,
      "the behavior of handle_actor has to be callable with a codeq::handler_actor::pointer and to "
      "return a codeq::handler_actor::behavior_type");
    if constexpr (fits)
      return make_from(
        [behavior](handler_actor::pointer self, const std::string&) { return behavior(self); });
  }

  /// For behaviors that are called with the actor and the name of its group.
  [[nodiscard]] static std::shared_ptr<const actor_factory> make_keyed(Behavior behavior) {
    constexpr bool fits = returns_behavior<handler_actor::pointer, const std::string&>();
    static_assert(
      fits,
      "the behavior of handle_keyed has to be callable with a codeq::handler_actor::pointer and a "
      "const std::string&, the group, and to return a codeq::handler_actor::behavior_type");
    if constexpr (fits)
      return make_from(std::move(behavior));
  }

private:
  template <class... Arguments>
  [[nodiscard]] static constexpr bool returns_behavior() {
    if constexpr (std::is_invocable_v<const Behavior&, Arguments...>) {
      // CAF's behaviors are constructible from everything, with an error deep within CAF.
      using answer = std::invoke_result_t<const Behavior&, Arguments...>;
      return std::is_same_v<answer, handler_actor::behavior_type>
             || std::is_invocable_v<answer&, const task&>;
    } else {
      return false;
    }
  }

  template <class Start>
  [[nodiscard]] static std::shared_ptr<const actor_factory> make_from(Start start) {
    return std::make_shared<const actor_factory>(
      [start](caf::actor_system& system, const handler_placement& placement) {
        auto run = [start, group = placement.group](handler_actor::pointer self) {
          detail::report_exceptions(self);
          return handler_actor::behavior_type{start(self, group)};
        };
        return placement.own_thread ? system.spawn<caf::detached>(run) : system.spawn(run);
      });
  }
};

} // namespace codeq

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::outcome)
