// SPDX-License-Identifier: Apache-2.0
#include "config/value_options.hpp"

namespace codeq::config {

result<void> store_switch(bool& target, const std::string& text) {
  auto value = parse_switch(text);
  if (!value)
    return value.error();
  target = *value;
  return {};
}

result<void> store_duration(duration& target, const std::string& text, duration_range range) {
  auto value = parse_duration_in(text, range);
  if (!value)
    return value.error();
  target = *value;
  return {};
}

option log_level_option(std::string& target) {
  return {
    .name = "log-level",
    .value = "LEVEL",
    .help =
      "Least severe lines to log: trace, debug, info, warn, error or off [default: " + target + "]",
    .take = [&target](const std::string& text) -> result<void> {
      auto choice = parse_choice(text, {"trace", "debug", "info", "warn", "error", "off"});
      if (!choice)
        return choice.error();
      target = text;
      return {};
    }};
}

option coordinator_option(std::vector<std::string>& target) {
  return {
    .name = "coordinator",
    .value = "ADDR:PORT",
    .help = "Coordinators to connect to, with commas between them [default: 127.0.0.1:7400]",
    .take = [&target](const std::string& text) -> result<void> {
      auto addresses = parse_coordinators(text);
      if (!addresses)
        return addresses.error();
      target = std::move(*addresses);
      return {};
    }};
}

} // namespace codeq::config
