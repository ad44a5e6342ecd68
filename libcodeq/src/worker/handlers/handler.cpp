// SPDX-License-Identifier: Apache-2.0
#include "codeq/handler.hpp"

#include <utility>

namespace codeq {

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
  add({std::move(queue), options, std::move(function)});
}

void handler_registry::handle_batch(
  std::string queue, std::size_t batch_max, batch_function function, queue_options options) {
  add({std::move(queue), options, batch{std::move(function), batch_max}});
}

} // namespace codeq
