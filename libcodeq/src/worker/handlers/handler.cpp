// SPDX-License-Identifier: Apache-2.0
#include "codeq/handler.hpp"

#include "worker/handlers/call_handler.hpp"

#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/sec.hpp>

#include <exception>
#include <utility>

namespace codeq {

namespace detail {

void report_exceptions(caf::scheduled_actor* self) {
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

namespace {

handler_actor::behavior_type
function_handler(handler_actor::pointer self, handler_function function) {
  detail::report_exceptions(self);
  return {[function = std::move(function)](const task& attempt) {
    return worker::call_handler(function, attempt);
  }};
}

} // namespace

std::string_view to_string(isolation where) noexcept {
  switch (where) {
  case isolation::shared:
    return "shared";
  case isolation::thread:
    return "thread";
  case isolation::process:
    return "process";
  }
  return "unknown";
}

void handler_registry::handle(std::string queue, handler_function function, queue_options options) {
  entry made{std::move(queue), {}, options};
  made.function = function;
  made.factory = [function = std::move(function)](
                   caf::actor_system& system, const handler_placement& placement) {
    return placement.own_thread ? system.spawn<caf::detached>(function_handler, function)
                                : system.spawn(function_handler, function);
  };
  add(std::move(made));
}

void handler_registry::handle_batch(
  std::string queue, std::size_t batch_max, batch_function function, queue_options options) {
  entry made{std::move(queue), {}, options};
  made.batch = std::move(function);
  made.batch_max = batch_max;
  add(std::move(made));
}

} // namespace codeq
