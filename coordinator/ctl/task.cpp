// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"
#include "codeq/producer.hpp"

#include "ctl/client.hpp"
#include "ctl/commands.hpp"
#include "ctl/output.hpp"
#include "ctl/reach.hpp"
#include "ctl/task_output.hpp"

#include <string>
#include <variant>

namespace codeq::ctl {

namespace {

/// The status now, or once the task ended when `wait` is given.
result<task_status>
look_up(const config::ctl_config& config, task_id task, std::optional<duration> wait) {
  if (wait) {
    producer_options options;
    options.coordinators = config.coordinators;
    options.name = "codeqctl";
    options.access = config.access;
    auto waiter = producer::connect(std::move(options));
    if (!waiter)
      return waiter.error();
    return (*waiter)->await(task, *wait);
  }
  auto client = operator_client::connect({config.coordinators, config.timeout, config.access});
  if (!client)
    return client.error();
  return (*client)->status(task);
}

int print_result(const task_status& status, bool json) {
  if (json)
    print(ended_json(status));
  if (status.state == task_state::completed) {
    if (!json)
      print(status.result);
    return exit_done;
  }
  auto state = "task " + to_string(status.id) + " is " + std::string(to_string(status.state));
  auto text = status.error_text.empty() ? "" : ": " + status.error_text;
  if (is_terminal(status.state)) {
    complain(state + text);
    return exit_not_completed;
  }
  complain(state + ", not ended yet; --wait DURATION waits for its end");
  return exit_not_ended;
}

} // namespace

int run(const config::ctl_config& config, const config::get_command& command) {
  auto ask = [&](operator_client& client) {
    return std::visit([&](const auto& task) { return client.status(task); }, command.task);
  };
  return ask_and_show(config, ask, [&](const task_status& status) {
    print(config.json ? status_json(status) : status_text(status));
    return exit_done;
  });
}

int run(const config::ctl_config& config, const config::result_command& command) {
  auto status = look_up(config, command.task, command.wait);
  if (status)
    return print_result(*status, config.json);
  auto reason = explain(status.error(), config);
  auto failed = fail(reason, config.json);
  return command.wait && reason.code == errc::timeout ? exit_not_ended : failed;
}

} // namespace codeq::ctl
