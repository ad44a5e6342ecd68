// SPDX-License-Identifier: Apache-2.0
#include "worker/handlers/batch_handler.hpp"

#include <caf/actor_system.hpp>

#include <exception>
#include <string>
#include <utility>

namespace codeq::worker {

namespace {

/// For example "1 task" or "2 tasks".
std::string counted(std::size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

} // namespace

std::vector<outcome> call_batch(const batch_function& function, std::span<const task> attempts) {
  std::string reason = "unknown exception";
  try {
    auto answers = function(attempts);
    if (answers.size() == attempts.size())
      return answers;
    reason = "the handler returned " + counted(answers.size(), "outcome") + " for "
             + counted(attempts.size(), "task") + "; it has to return one for each task";
  } catch (const std::exception& e) {
    reason = std::string("exception: ") + e.what();
  } catch (...) {
    // The reason already contains the error.
  }
  return std::vector<outcome>(attempts.size(), outcome::failed(reason));
}

batch_actor spawn_batch_handler(caf::actor_system& system, batch_function function) {
  return system.spawn<caf::detached>([function = std::move(function)](batch_actor::pointer self) {
    detail::report_exceptions(self);
    return batch_actor::behavior_type{[function](const actors::batch_attempt& batch) {
      return actors::batch_outcome{call_batch(function, batch.tasks)};
    }};
  });
}

} // namespace codeq::worker
