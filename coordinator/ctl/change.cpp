// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/client.hpp"
#include "ctl/commands.hpp"

#include <string>
#include <variant>

namespace codeq::ctl {

namespace {

using kind = change_result;

std::string to_json(const change_outcome& outcome) {
  base::json_writer out;
  out.begin_object();
  if (outcome.what != kind::not_found)
    out.field("id", to_string(outcome.id));
  out.field("outcome", to_string(outcome.what));
  if (outcome.what != kind::not_found)
    out.field("state", to_string(outcome.state));
  return out.end_object().take() + "\n";
}

std::string to_text(const change_outcome& outcome) {
  auto text = "task " + to_string(outcome.id) + " is " + std::string(to_string(outcome.state));
  switch (outcome.what) {
  case kind::changed:
    return text + "\n";
  case kind::requested:
    return text + "; its worker is asked to stop\n";
  case kind::unchanged:
    return text + " and stays so\n";
  case kind::guarded:
    return text + "; its producer's delay counts on\n";
  case kind::key_taken:
    return text + " and stays so: another live task has its key\n";
  case kind::not_found:
    return "no task has that key\n";
  }
  return text + "\n";
}

/// What was asked for did not come about, and asking again will not help.
bool is_failure(kind what) {
  return what == kind::key_taken || what == kind::not_found;
}

int show(const change_outcome& outcome, bool json) {
  print(json ? to_json(outcome) : to_text(outcome));
  return is_failure(outcome.what) ? exit_failed : exit_done;
}

} // namespace

int run(const config::ctl_config& config, const config::change_command& command) {
  auto ask = [&](operator_client& client) {
    return std::visit(
      [&](const auto& task) { return client.change(task, command.change); }, command.task);
  };
  return ask_and_show(
    config, ask, [&](const change_outcome& outcome) { return show(outcome, config.json); });
}

int run(const config::ctl_config& config, const config::force_command& command) {
  auto ask = [&](operator_client& client) {
    return client.force(command.task, command.how, command.text);
  };
  return ask_and_show(
    config, ask, [&](const change_outcome& outcome) { return show(outcome, config.json); });
}

} // namespace codeq::ctl
