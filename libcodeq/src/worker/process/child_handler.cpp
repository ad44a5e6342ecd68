// SPDX-License-Identifier: Apache-2.0
#include "worker/process/child_handler.hpp"

#include "worker/process/child.hpp"
#include "worker/process/exec_spawn.hpp"
#include "worker/process/sigpipe.hpp"

#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <unistd.h>

namespace codeq::worker {

namespace {

/// The idle children of one queue. A child dies with the thread that started it, so it runs the
/// attempts of that thread only.
class child_pool {
public:
  child_pool(child_command command, duration kill_grace)
    : command_(std::move(command)), kill_grace_(kill_grace) {}

  outcome run(const task& attempt) {
    without_sigpipe masked;
    auto taken = take();
    if (!taken)
      return outcome::nack(to_string(taken.error()));
    auto answer = (*taken)->run(attempt, kill_grace_);
    if (!answer)
      return outcome::failed((*taken)->how_it_ended());
    std::lock_guard lock(mutex_);
    idle_[std::this_thread::get_id()] = std::move(*taken);
    return std::move(*answer);
  }

private:
  result<std::unique_ptr<child>> take() {
    // A child that died while idle does not fail an attempt.
    if (auto kept = take_idle(); kept && kept->is_alive())
      return kept;
    drop_dead();
    auto started = spawn_child(make_request());
    if (!started)
      return started.error();
    return std::make_unique<child>(std::move(*started));
  }

  /// Null when this thread has none.
  std::unique_ptr<child> take_idle() {
    std::lock_guard lock(mutex_);
    auto kept = idle_.extract(std::this_thread::get_id());
    return kept ? std::move(kept.mapped()) : nullptr;
  }

  /// Reaps the children of threads that have ended.
  void drop_dead() {
    std::lock_guard lock(mutex_);
    std::erase_if(idle_, [](const auto& kept) { return !kept.second->is_alive(); });
  }

  [[nodiscard]] process_request make_request() const {
    process_request request;
    request.path = command_.program;
    request.arguments = {command_.program, "--isolated", command_.queue};
    for (const auto& library : command_.libraries) {
      request.arguments.push_back("--handlers");
      request.arguments.push_back(library);
    }
    request.environment = inherited_environment();
    return request;
  }

  const child_command command_;
  const duration kill_grace_;
  std::mutex mutex_;
  std::unordered_map<std::thread::id, std::unique_ptr<child>> idle_;
};

} // namespace

handler_function make_child_handler(child_command command, duration kill_grace) {
  auto pool = std::make_shared<child_pool>(std::move(command), kill_grace);
  return [pool](const task& attempt) { return pool->run(attempt); };
}

} // namespace codeq::worker
