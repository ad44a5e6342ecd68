// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"

#include <string>
#include <vector>

namespace codeq::ctl {

namespace {

struct log_level_wish {
  /// Empty: only show the level in force.
  std::string level;
};

std::vector<option> grammar(log_level_wish& to) {
  auto level = config::log_level_option(to.level);
  level.name = "LEVEL";
  level.help = "The new level: trace, debug, info, warn, error or off [default: none, the level in "
               "force is shown]";
  return {placed(std::move(level))};
}

std::string to_json(const std::string& level) {
  return base::json_writer().begin_object().field("level", level).end_object().take() + "\n";
}

std::string to_text(const std::string& level) {
  return level + "\n";
}

} // namespace

void add_log_level(command_table& to) {
  to.add(command<log_level_wish>{
    .name = "log-level",
    .help = "Show or change the level of the coordinator's log, until the coordinator stops",
    .grammar = grammar,
    .run = [](context& with, const log_level_wish& wish) {
      return show(with, with.api.log_level(wish.level), to_json, to_text);
    }});
}

} // namespace codeq::ctl
