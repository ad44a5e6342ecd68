// SPDX-License-Identifier: Apache-2.0
#include "load/options.hpp"

namespace codeq::bench {

config::option seconds_option(const std::string& name, const std::string& help, duration& target) {
  return {.name = name, .value = "N", .help = help, .take = [&target](const auto& text) {
            std::uint64_t seconds = 0;
            auto taken = config::store_count(seconds, text, {1, 3600});
            target = std::chrono::seconds(seconds);
            return taken;
          }};
}

config::option durability_option(std::string& target, const std::string& usual) {
  return {
    .name = "durability",
    .value = "sync|os",
    .help = "The coordinator's durability [default: " + usual + "]",
    .take = [&target](const std::string& text) -> result<void> {
      auto choice = config::parse_choice(text, {"sync", "os"});
      if (!choice)
        return choice.error();
      target = text;
      return {};
    }};
}

} // namespace codeq::bench
