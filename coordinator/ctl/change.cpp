// SPDX-License-Identifier: Apache-2.0
#include "codeq/operator.hpp"

#include "ctl/commands.hpp"
#include "ctl/json_writer.hpp"
#include "ctl/output.hpp"

#include <string>

namespace codeq::ctl {

namespace {

std::string change_json(task_id task, const change_outcome& outcome) {
  json_writer out;
  out.begin_object().member("id", to_string(task));
  out.member("outcome", to_string(outcome.what)).member("state", to_string(outcome.state));
  return out.end_object().text() + "\n";
}

std::string change_text(task_id task, const change_outcome& outcome) {
  auto text = "task " + to_string(task) + " is " + std::string(to_string(outcome.state));
  switch (outcome.what) {
  case change_outcome::kind::changed:
    return text + "\n";
  case change_outcome::kind::requested:
    return text + "; its worker is asked to stop\n";
  case change_outcome::kind::unchanged:
    return text + " and stays so\n";
  case change_outcome::kind::guarded:
    return text + "; its producer's delay counts on\n";
  }
  return text + "\n";
}

} // namespace

int run_change(const config::ctl_config& config, const config::change_command& command) {
  auto client = operator_client::connect({config.coordinators, config.timeout});
  if (!client)
    return fail(client.error(), config.json);
  auto outcome = (*client)->change(command.task, command.change);
  if (!outcome)
    return fail(outcome.error(), config.json);
  print(config.json ? change_json(command.task, *outcome) : change_text(command.task, *outcome));
  return exit_done;
}

} // namespace codeq::ctl
