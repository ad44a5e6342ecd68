// SPDX-License-Identifier: Apache-2.0
#include "worker/handlers/call_handler.hpp"

#include <caf/actor_system.hpp>
#include <caf/error.hpp>

#include <exception>
#include <string>
#include <utility>

namespace codeq::worker {

outcome call_handler(const handler_function& function, const task& attempt) {
  try {
    return function(attempt);
  } catch (const std::exception& e) {
    return outcome::failed(std::string("exception: ") + e.what());
  } catch (...) {
    return outcome::failed("unknown exception");
  }
}

handler_actor spawn_function_handler(caf::actor_system& system, handler_function function) {
  return system.spawn<caf::detached>([function = std::move(function)](handler_actor::pointer self) {
    detail::report_exceptions(self);
    return handler_actor::behavior_type{
      [function](const task& attempt) { return call_handler(function, attempt); }};
  });
}

outcome ended_with(const caf::actor_system& system, const caf::error& reason) {
  bool has_text = reason && reason.context().match_elements<std::string>();
  return outcome::failed(
    has_text ? "exception: " + reason.context().get_as<std::string>(0)
             : "handler actor ended: " + system.render(reason));
}

outcome answered_with(const caf::actor_system& system, const caf::error& reason) {
  return outcome::failed("handler actor answered with an error: " + system.render(reason));
}

} // namespace codeq::worker
