// SPDX-License-Identifier: Apache-2.0
// Handles queues "kill" and "kill2": logs each start and each end to a file per process in the
// directory named by CODEQ_HISTORY, and behaves as the payload says: "TASK HOW MILLISECONDS TIMES".
#include "codeq/handler.hpp"

#include "kill/event_log.hpp"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr auto cancel_check_interval = 5ms;

codeq::test::event_log& log() {
  static codeq::test::event_log opened{[] {
    const char* folder = std::getenv("CODEQ_HISTORY");
    return std::string(folder ? folder : ".") + "/worker-" + std::to_string(::getpid()) + ".log";
  }()};
  return opened;
}

/// Sleeps; a handler that `obeys` stops early when it is cancelled.
void work(const codeq::task& task, std::int64_t milliseconds, bool obeys) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (std::chrono::steady_clock::now() < end && !(obeys && task.cancel->requested()))
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(
      cancel_check_interval, end - std::chrono::steady_clock::now()));
}

/// The first `times` attempts fail in the way of `how`, the next one completes.
codeq::outcome
decide(const codeq::task& task, const std::string& how, std::uint32_t times, std::string result) {
  if (task.attempt > times)
    return codeq::outcome::completed(std::move(result));
  if (how == "fail")
    return codeq::outcome::failed("told to fail");
  if (how == "nack")
    return codeq::outcome::nack(100ms, "told to");
  if (how == "permanent")
    return codeq::outcome::failed_permanently("told to");
  return codeq::outcome::completed(std::move(result));
}

std::string_view word_of(codeq::disposition kind) {
  switch (kind) {
  case codeq::disposition::completed:
    return "completed";
  case codeq::disposition::failed:
    return "failed";
  case codeq::disposition::failed_permanently:
    return "permanent";
  case codeq::disposition::nack:
    return "nack";
  case codeq::disposition::abandon:
    return "abandon";
  case codeq::disposition::limited:
    return "limited";
  case codeq::disposition::cancelled:
    break;
  }
  return "";
}

codeq::outcome handle(const codeq::task& task) {
  std::istringstream words{std::string(task.payload.view())};
  std::string name;
  std::string how;
  std::int64_t milliseconds = 0;
  std::uint32_t times = 0;
  words >> name >> how >> milliseconds >> times;
  const auto who = "task=" + name + " id=" + codeq::to_string(task.id)
                   + " token=" + std::to_string(codeq::value(task.token));
  log().write("start " + who + " attempt=" + std::to_string(task.attempt));
  if (how == "crash" && task.attempt <= times)
    std::abort();
  work(task, milliseconds, how != "stubborn");
  auto done = decide(task, how, times, name + '/' + std::to_string(codeq::value(task.token)));
  log().write("done " + who + " how=" + std::string(word_of(done.what())));
  return done;
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("kill", handle);
  registry.handle("kill2", handle);
}
