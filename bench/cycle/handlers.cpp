// SPDX-License-Identifier: Apache-2.0
#include "codeq/actor_handler.hpp"

#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

namespace {

/// Results are short enough not to matter and different for each payload, so that they can be
/// checked.
constexpr std::size_t result_bytes = 16;

codeq::handler_actor::behavior_type answer(codeq::handler_actor::pointer) {
  return {
    [](const codeq::task& task) {
      return codeq::outcome::completed(std::string(task.payload.view().substr(0, result_bytes)));
    },
  };
}

/// As `answer`, but the first attempt fails.
codeq::handler_actor::behavior_type answer_at_second(codeq::handler_actor::pointer) {
  return {
    [](const codeq::task& task) {
      return task.attempt == 1 ? codeq::outcome::failed("told to fail")
                               : codeq::outcome::completed(
                                 std::string(task.payload.view().substr(0, result_bytes)));
    },
  };
}

/// The time when a handler began, on the monotonic clock that all processes of a machine share.
std::string time_now() {
  return std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

codeq::handler_actor::behavior_type stamp(codeq::handler_actor::pointer) {
  return {[](const codeq::task&) { return codeq::outcome::completed(time_now()); }};
}

/// Blocks for ever if the file that the payload names exists when it begins.
codeq::outcome stall(const codeq::task& task) {
  auto begun = time_now();
  if (!std::filesystem::exists(std::string(task.payload.view())))
    return codeq::outcome::completed(begun);
  std::promise<void> stopped;
  task.cancel->on_request([&stopped] { stopped.set_value(); });
  stopped.get_future().wait();
  return codeq::outcome::abandon();
}

/// Stands for a handler that waits for something external.
codeq::outcome nap(const codeq::task&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return codeq::outcome::completed();
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("nap", nap);
  registry.handle("stall", stall);
  registry.handle_actor("stamp", stamp);
  registry.handle_actor("cycle", answer);
  registry.handle_actor("fail-once", answer_at_second);
}
