// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/option_set.hpp"
#include "config/values.hpp"

#include <concepts>
#include <string>
#include <vector>

/// What the options of several programs have in common.
namespace codeq::config {

/// Reads a whole number into `target`.
template <std::unsigned_integral Number>
[[nodiscard]] result<void> store_count(Number& target, const std::string& text, count_range range) {
  auto number = parse_count(text, range);
  if (!number)
    return number.error();
  target = static_cast<Number>(*number);
  return {};
}

[[nodiscard]] result<void> store_switch(bool& target, const std::string& text);

[[nodiscard]] result<void>
store_duration(duration& target, const std::string& text, duration_range range);

/// `--log-level`; `target` must outlive the option.
[[nodiscard]] option log_level_option(std::string& target);

/// `--coordinator`; `target` must outlive the option.
[[nodiscard]] option coordinator_option(std::vector<std::string>& target);

} // namespace codeq::config
