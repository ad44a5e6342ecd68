// SPDX-License-Identifier: Apache-2.0
#include "codeq/actor_handler.hpp"

CODEQ_HANDLERS(registry) {
  registry.handle("by-function", [](const codeq::task& attempt) {
    return codeq::outcome::completed(std::string(attempt.payload.view()));
  });
  registry.handle_actor("by-actor", [](codeq::handler_actor::pointer) {
    return codeq::handler_actor::behavior_type{
      [](const codeq::task& attempt) { return codeq::outcome::completed(to_string(attempt.id)); }};
  });
}
