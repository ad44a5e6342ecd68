// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/schedule.hpp"
#include "codeq/task.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// The names of the values of enums, in the order of the values. Options, JSON, error texts and
/// `to_string` take them from here. JSON and files contain them, so they never change.
namespace codeq::base {

/// The names of the values 0 to `Last`; a value that is added does not compile without a name.
template <auto Last, std::size_t N>
[[nodiscard]] consteval std::array<std::string_view, N>
names_up_to(const std::string_view (&names)[N]) {
  static_assert(N == static_cast<std::size_t>(Last) + 1);
  return std::to_array(names);
}

inline constexpr auto retry_names = names_up_to<retry_kind::exponential_jitter>(
  {"fixed", "linear", "exponential", "exponential_jitter"});
/// The same as options and the history of settings spell them.
inline constexpr auto retry_option_names = names_up_to<retry_kind::exponential_jitter>(
  {"fixed", "linear", "exponential", "exponential-jitter"});

inline constexpr auto on_dead_names = names_up_to<on_dead::block>({"skip", "block"});

inline constexpr auto duplicate_names = names_up_to<on_duplicate::replace_ended>(
  {"existing", "reject", "defer", "promote", "replace_ended"});

inline constexpr auto state_names = names_up_to<task_state::cancelled>(
  {"scheduled", "gated", "ready", "leased", "completed", "dead", "cancelled"});

inline constexpr auto misfire_names =
  names_up_to<misfire_policy::skip>({"latest", "all", "skip"});
inline constexpr auto overlap_names = names_up_to<overlap_policy::cancel_previous>(
  {"allow", "skip", "queue_one", "cancel_previous"});

/// The name of a value from the wire, or `unknown` for one of a later version.
template <class Enum, std::size_t N>
[[nodiscard]] constexpr std::string_view name_of(
  Enum value,
  const std::array<std::string_view, N>& names,
  std::string_view unknown = "unknown") noexcept {
  auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : unknown;
}

/// The names as an error text lists them, for example "fixed, linear or exponential".
[[nodiscard]] inline std::string list_of(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
  return text;
}

} // namespace codeq::base
