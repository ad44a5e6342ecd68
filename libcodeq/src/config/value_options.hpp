// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/option_set.hpp"
#include "config/values.hpp"

#include <concepts>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// Options that several programs share. The target of an option must outlive it; an `optional`
/// target stays empty unless the option is given.
namespace codeq::config {

/// Parses a whole number into `target`.
template <std::unsigned_integral Number>
[[nodiscard]] result<void> store_count(Number& target, const std::string& text, count_range range) {
  auto number = parse_count(text, range);
  if (!number)
    return number.error();
  target = static_cast<Number>(*number);
  return {};
}

/// Stores the value that `parse` returns in `target`.
template <class Target, class Parse>
[[nodiscard]] std::function<result<void>(const std::string&)>
put_into(Target& target, Parse parse) {
  return [&target, parse](const std::string& text) -> result<void> {
    auto value = parse(text);
    if (!value)
      return value.error();
    target = std::move(*value);
    return {};
  };
}

/// The same for a repeatable option: appends the value.
template <class Value, class Parse>
[[nodiscard]] std::function<result<void>(const std::string&)>
add_to(std::vector<Value>& target, Parse parse) {
  return [&target, parse](const std::string& text) -> result<void> {
    auto value = parse(text);
    if (!value)
      return value.error();
    target.push_back(std::move(*value));
    return {};
  };
}

/// Assigns to a number or an enum, or to an `optional` of one.
template <class Target>
void store_number(Target& target, std::uint64_t number) {
  if constexpr (requires { target.emplace(); })
    target.emplace() = static_cast<typename Target::value_type>(number);
  else
    target = static_cast<Target>(number);
}

template <class Target>
[[nodiscard]] option
count_option(const char* name, std::string help, Target& target, count_range range) {
  auto take = [&target, range](const std::string& text) -> result<void> {
    auto number = parse_count(text, range);
    if (!number)
      return number.error();
    store_number(target, *number);
    return {};
  };
  return {.name = name, .value = "N", .help = std::move(help), .take = std::move(take)};
}

template <class Target>
[[nodiscard]] option
duration_option(const char* name, std::string help, Target& target, duration_range range) {
  auto parse = [range](const std::string& text) { return parse_duration_in(text, range); };
  return {
    .name = name, .value = "DURATION", .help = std::move(help), .take = put_into(target, parse)};
}

template <class Target>
[[nodiscard]] option name_option(const char* name, std::string help, Target& target) {
  auto take = put_into(target, parse_name);
  return {.name = name, .value = "NAME", .help = std::move(help), .take = std::move(take)};
}

/// Any text, including the empty one.
template <class Target>
[[nodiscard]] option
plain_option(const char* name, const char* value, std::string help, Target& target) {
  auto parse = [](const std::string& text) -> result<std::string> { return text; };
  return {.name = name, .value = value, .help = std::move(help), .take = put_into(target, parse)};
}

[[nodiscard]] option switch_option(const char* name, std::string help, bool& target);

/// A file or directory; the name must not be empty.
[[nodiscard]] option
path_option(const char* name, const char* value, std::string help, std::filesystem::path& target);

/// `--durability`: `sync` sets `target`, `os` clears it.
[[nodiscard]] option durability_option(std::string help, bool& target);

/// `--log-level`.
[[nodiscard]] option log_level_option(std::string& target);

/// `--log-format`.
[[nodiscard]] option log_format_option(std::string& target);

/// `--coordinator`.
[[nodiscard]] option coordinator_option(std::vector<std::string>& target);

} // namespace codeq::config
