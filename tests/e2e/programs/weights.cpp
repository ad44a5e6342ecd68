// SPDX-License-Identifier: Apache-2.0
// Handlers for the end-to-end tests of a worker node's services for handlers: each queue is named
// after what its handler does.
#include "codeq/actor_handler.hpp"

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

std::chrono::milliseconds milliseconds_in(const codeq::task& task) {
  return std::chrono::milliseconds(std::stoll(std::string(task.payload.view())));
}

/// Payload: milliseconds. Sleeps and ignores cancellation.
codeq::outcome nap(const codeq::task& task) {
  std::this_thread::sleep_for(milliseconds_in(task));
  return codeq::outcome::completed(std::to_string(task.attempt));
}

/// Payload: milliseconds. Uses a processor the whole time and ignores cancellation.
codeq::outcome burn(const codeq::task& task) {
  auto end = steady::now() + milliseconds_in(task);
  while (steady::now() < end) {
  }
  return codeq::outcome::completed(std::to_string(task.attempt));
}

/// Payload: milliseconds. Its first attempt hangs for that long.
codeq::outcome wedge(const codeq::task& task) {
  if (task.attempt == 1)
    std::this_thread::sleep_for(milliseconds_in(task));
  return codeq::outcome::completed(std::to_string(task.attempt));
}

/// Payload: milliseconds. Reports progress every 20 ms.
codeq::outcome steps(const codeq::task& task) {
  auto begin = steady::now();
  auto length = milliseconds_in(task);
  task.log("begins to walk");
  for (auto gone = 0ms; gone < length;
       gone = std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - begin)) {
    task.progress(static_cast<int>(100 * gone / length), "step at " + std::to_string(gone.count()));
    std::this_thread::sleep_for(20ms);
  }
  return codeq::outcome::completed(std::to_string(task.attempt));
}

/// Payload: number to count to. Saves a checkpoint for every number; its first attempt reports that
/// it is at the half and waits there for ever. Returns the number from which it resumed.
codeq::outcome count(const codeq::task& task) {
  auto goal = std::stoi(std::string(task.payload.view()));
  auto begun_at = task.checkpoint.size() == 0 ? 0 : std::stoi(std::string(task.checkpoint.view()));
  for (int i = begun_at + 1; i <= goal; ++i) {
    std::promise<bool> saved;
    task.save_checkpoint(std::to_string(i), [&saved](bool done) { saved.set_value(done); });
    if (!saved.get_future().get())
      return codeq::outcome::failed("number " + std::to_string(i) + " is not saved");
    if (task.attempt == 1 && i == goal / 2) {
      task.log("is at the half");
      std::this_thread::sleep_for(1h);
    }
  }
  return codeq::outcome::completed("went on from " + std::to_string(begun_at));
}

/// With payload `die` it crashes its process by a segmentation fault; otherwise it returns its
/// process id.
codeq::outcome maybe_die(const codeq::task& task) {
  if (task.payload.view() == "die") {
    // A sanitizer would otherwise handle the signal and print a report.
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (task.payload.view() == "hang")
    std::this_thread::sleep_for(10min);
  task.progress(50, "alive");
  return codeq::outcome::completed(std::to_string(getpid()));
}

/// Returns the number of tasks in the batch.
std::vector<codeq::outcome> count_batch(std::span<const codeq::task> tasks) {
  return {tasks.size(), codeq::outcome::completed(std::to_string(tasks.size()))};
}

/// Returns the number of tasks that the group's actor has handled.
codeq::handler_actor::behavior_type count_group(codeq::handler_actor::pointer, const std::string&) {
  auto count = std::make_shared<int>(0);
  return {[count](const codeq::task& task) {
    return codeq::outcome::completed(task.group + std::to_string(++*count));
  }};
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("nap", nap);
  registry.handle("burn", burn);
  registry.handle("wedge", wedge);
  registry.handle("steps", steps);
  registry.handle("apart", maybe_die, {.run_in = codeq::isolation::process});
  registry.handle("narrow", nap, {.slots = 1});
  registry.handle("count", count);
  registry.handle("count-apart", count, {.run_in = codeq::isolation::process});
  registry.handle_batch("batch", 16, count_batch);
  registry.handle_keyed("keyed", count_group);
}
