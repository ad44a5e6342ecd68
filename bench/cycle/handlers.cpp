// SPDX-License-Identifier: Apache-2.0
#include "codeq/handler.hpp"

#include <chrono>
#include <thread>

namespace {

/// A result short enough not to matter and different for each payload, so that it can be checked.
constexpr std::size_t result_bytes = 16;

codeq::handler_actor::behavior_type answer(codeq::handler_actor::pointer) {
  return {
    [](const codeq::task& task) {
      return codeq::outcome::completed(std::string(task.payload.view().substr(0, result_bytes)));
    },
  };
}

/// Stands for a handler that waits for something outside.
codeq::outcome nap(const codeq::task&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return codeq::outcome::completed();
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("nap", nap);
  registry.handle_actor("cycle", answer);
}
