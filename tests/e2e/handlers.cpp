// SPDX-License-Identifier: Apache-2.0
// Handlers for the end-to-end tests: each queue is named after what its handler does.
#include "codeq/handler.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr auto cancel_check_interval = 5ms;

codeq::outcome echo(const codeq::task& task) {
  return codeq::outcome::completed(std::string(task.payload.view()));
}

codeq::outcome fail(const codeq::task&) {
  return codeq::outcome::failed("told to fail");
}

codeq::outcome fail_once(const codeq::task& task) {
  return task.attempt == 1 ? codeq::outcome::nack(0ms, "first attempt")
                           : codeq::outcome::completed(std::to_string(task.attempt));
}

[[noreturn]] codeq::outcome crash(const codeq::task&) {
  std::abort();
}

/// One line a start: monotonic milliseconds, process, attempt, token, id.
void log_start(const std::string& path, const codeq::task& task) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::ostringstream line;
  line << std::chrono::duration_cast<std::chrono::milliseconds>(now).count() << ' ' << getpid()
       << ' ' << task.attempt << ' ' << codeq::value(task.token) << ' ' << codeq::to_string(task.id)
       << '\n';
  std::ofstream(path, std::ios::app) << line.str() << std::flush;
}

/// Payload "PATH MILLISECONDS ATTEMPTS": logs its start, then the first so many attempts sleep.
codeq::outcome log_and_sleep(const codeq::task& task) {
  std::istringstream words{std::string(task.payload.view())};
  std::string path;
  std::int64_t milliseconds = 0;
  std::uint32_t attempts = 0;
  words >> path >> milliseconds >> attempts;
  log_start(path, task);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (task.attempt <= attempts && std::chrono::steady_clock::now() < end) {
    if (task.cancel->requested()) {
      return codeq::outcome::abandon();
    }
    std::this_thread::sleep_for(cancel_check_interval);
  }
  return codeq::outcome::completed(std::to_string(task.attempt));
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("echo", echo);
  registry.handle("fail", fail);
  registry.handle("fail_once", fail_once);
  registry.handle("crash", crash);
  registry.handle("sleep", log_and_sleep);
}
