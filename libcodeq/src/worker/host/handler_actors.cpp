// SPDX-License-Identifier: Apache-2.0
#include "worker/host/handler_actors.hpp"

#include "worker/handlers/batch_handler.hpp"
#include "worker/handlers/call_handler.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <utility>
#include <variant>

namespace codeq::worker {

namespace {

caf::actor spawn_handler(
  caf::actor_system& system, const handler_registry::entry& handler, const std::string& group) {
  if (const auto* function = std::get_if<handler_function>(&handler.handler))
    return caf::actor_cast<caf::actor>(spawn_function_handler(system, *function));
  if (const auto* batch = std::get_if<handler_registry::batch>(&handler.handler))
    return caf::actor_cast<caf::actor>(spawn_batch_handler(system, batch->function));
  const auto& actors = std::get<handler_registry::actors>(handler.handler);
  bool own_thread = handler.options.run_in == isolation::thread;
  return caf::actor_cast<caf::actor>(actors.factory->start(system, {group, own_thread}));
}

} // namespace

std::vector<served_queue> handler_actors::serve(std::vector<handler_registry::entry> handlers) {
  std::vector<served_queue> served;
  for (auto& each : handlers) {
    served.push_back(served_by(each));
    entries_.insert_or_assign(served.back().queue, std::move(each));
  }
  return served;
}

caf::actor handler_actors::start(
  caf::actor_system& system, const std::string& queue, const std::string& group) {
  auto handler = spawn_handler(system, entries_.at(queue), group);
  running_.emplace(handler.id(), handler);
  return handler;
}

void handler_actors::stop(handler_number handler) {
  if (auto ended = running_.extract(handler))
    caf::anon_send_exit(ended.mapped(), caf::exit_reason::user_shutdown);
}

} // namespace codeq::worker
