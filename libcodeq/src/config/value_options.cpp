// SPDX-License-Identifier: Apache-2.0
#include "config/value_options.hpp"

namespace codeq::config {

option switch_option(const char* name, std::string help, bool& target) {
  auto take = put_into(target, parse_switch);
  return {.name = name, .value = "", .help = std::move(help), .take = std::move(take)};
}

option
path_option(const char* name, const char* value, std::string help, std::filesystem::path& target) {
  auto parse = [](const std::string& text) -> result<std::filesystem::path> {
    if (text.empty())
      return error{errc::invalid_argument, "must not be empty"};
    return std::filesystem::path(text);
  };
  return {.name = name, .value = value, .help = std::move(help), .take = put_into(target, parse)};
}

option durability_option(std::string help, bool& target) {
  auto parse = [](const std::string& text) -> result<bool> {
    auto choice = parse_choice(text, {"sync", "os"});
    if (!choice)
      return choice.error();
    return *choice == 0;
  };
  return {
    .name = "durability",
    .value = "sync|os",
    .help = std::move(help),
    .take = put_into(target, parse)};
}

option log_level_option(std::string& target) {
  auto parse = [](const std::string& text) -> result<std::string> {
    auto choice = parse_choice(text, {"trace", "debug", "info", "warn", "error", "off"});
    if (!choice)
      return choice.error();
    return text;
  };
  return {
    .name = "log-level",
    .value = "LEVEL",
    .help = "Log lines of this level and above: trace, debug, info, warn, error or off [default: "
            + target + "]",
    .take = put_into(target, parse)};
}

option log_format_option(std::string& target) {
  auto parse = [](const std::string& text) -> result<std::string> {
    auto choice = parse_choice(text, {"text", "json"});
    if (!choice)
      return choice.error();
    return text;
  };
  return {
    .name = "log-format",
    .value = "text|json",
    .help = "Format of the log lines: text, or json with one object per line [default: " + target
            + "]",
    .take = put_into(target, parse)};
}

option coordinator_option(std::vector<std::string>& target) {
  return {
    .name = "coordinator",
    .value = "ADDR:PORT",
    .help = "Address of the coordinator; several are separated by commas [default: 127.0.0.1:7400]",
    .take = put_into(target, parse_coordinators)};
}

} // namespace codeq::config
