// SPDX-License-Identifier: Apache-2.0
#include "ctl/confirmation.hpp"

#include "config/value_options.hpp"
#include "ctl/text.hpp"

#include <cstdio>
#include <iostream>

namespace codeq::ctl {

config::option confirmation_option(bool& is_confirmed) {
  return config::switch_option(
    "yes",
    "Confirm; without this option a terminal is asked, and anything else is refused [default: off]",
    is_confirmed);
}

std::optional<int>
refuse_unconfirmed(const context& with, bool is_confirmed, const std::string& effect) {
  if (is_confirmed)
    return std::nullopt;
  if (!with.is_interactive)
    return fail({errc::invalid_argument, "this " + effect + "; add --yes to do it"}, with.json);
  std::fprintf(stderr, "This %s. Go on? [y/N] ", printable(effect).c_str());
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes")
    return std::nullopt;
  complain("not confirmed; nothing was changed");
  return exit_usage;
}

} // namespace codeq::ctl
