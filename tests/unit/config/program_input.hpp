// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/option_set.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace codeq::test {

/// Arguments and environment of a program, without a real environment.
struct program_input {
  std::vector<const char*> words;
  std::map<std::string, std::string> variables;

  program_input(std::vector<const char*> arguments, std::map<std::string, std::string> env = {})
    : words(std::move(arguments)), variables(std::move(env)) {
    words.insert(words.begin(), "program");
  }

  [[nodiscard]] config::command_line line() const {
    auto look_up = [this](const std::string& name) -> std::optional<std::string> {
      auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    return {static_cast<int>(words.size()), words.data(), look_up};
  }
};

/// The line that a refused start prints; empty when the program starts.
template <class T>
std::string refusal(const config::parsed<T>& parsed) {
  const auto* end = std::get_if<config::exit_request>(&parsed);
  return end != nullptr && end->status == config::exit_usage ? end->text : "";
}

} // namespace codeq::test
