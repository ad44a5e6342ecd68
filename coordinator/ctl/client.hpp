// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"

#include "config/ctl_config.hpp"
#include "ctl/output.hpp"

#include <string>

namespace codeq::ctl {

/// Connects, asks `ask(client)` and hands its value to `show`, which prints it and returns the exit
/// status. What went wrong is printed here.
template <class Ask, class Show>
[[nodiscard]] int ask_and_show(const config::ctl_config& config, Ask&& ask, Show&& show) {
  auto client = operator_client::connect({config.coordinators, config.timeout, config.access});
  if (!client)
    return fail(client.error(), config.json);
  auto answer = ask(**client);
  if (!answer)
    return fail(answer.error(), config.json);
  return show(*answer);
}

} // namespace codeq::ctl
