// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/value_options.hpp"
#include "config/values.hpp"

#include <functional>
#include <string>

namespace codeq::bench {

/// A command of codeq-bench and its function, which returns one JSON object or an error.
struct measurement {
  config::command entry;
  std::function<result<std::string>()> measure;
};

/// A whole number. The target of an option must outlive it, here and below.
template <class Number>
[[nodiscard]] config::option count_option(
  const std::string& name, const std::string& help, Number& target, config::count_range range) {
  return {.name = name, .value = "N", .help = help, .take = [&target, range](const auto& text) {
            return config::store_count(target, text, range);
          }};
}

/// A number of whole seconds, 1 to 3600.
[[nodiscard]] config::option
seconds_option(const std::string& name, const std::string& help, duration& target);

/// `--durability` of the coordinator, with the default `usual`.
[[nodiscard]] config::option
durability_option(std::string& target, const std::string& usual = "sync");

} // namespace codeq::bench
