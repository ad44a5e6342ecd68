// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "base/enum_names.hpp"
#include "config/value_options.hpp"
#include "ctl/operator_api.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Options that several commands share. The target of an option must outlive it.
namespace codeq::ctl {

using config::count_option;
using config::duration_option;
using config::name_option;
using config::option;
using config::plain_option;
using config::put_into;
using config::quote;
using config::switch_option;

/// The longest `--wait`.
inline constexpr duration wait_max = 7 * std::chrono::hours(24);

/// Accepts one of `names`, which stand for the values 0, 1, ... of an enum; `_` and `-` in them are
/// the same.
template <class Target, std::size_t N>
[[nodiscard]] auto choice_into(Target& target, const std::array<std::string_view, N>& names) {
  return [&target, &names](const std::string& text) -> result<void> {
    auto choice = config::parse_choice(text, {names.begin(), names.end()});
    if (!choice)
      return choice.error();
    config::store_number(target, *choice);
    return {};
  };
}

/// A switch that takes a setting away, as `--no-limits` does: `target` becomes empty. Error:
/// `contrary`, when another option has filled it.
template <class Setting>
[[nodiscard]] auto empties(std::optional<Setting>& target, error contrary) {
  return [&target, contrary = std::move(contrary)](const std::string& text) -> result<void> {
    auto is_on = config::parse_switch(text);
    if (!is_on)
      return is_on.error();
    if (!*is_on)
      return {};
    if (target && !target->empty())
      return contrary;
    target.emplace();
    return {};
  };
}

/// Free text of at most `limit` bytes.
[[nodiscard]] option
text_option(const char* name, std::string help, std::string& target, std::size_t limit);

[[nodiscard]] option id_option(task_id& target);

/// The same for a command that can do without an id; `more_help` says what it takes instead.
[[nodiscard]] option id_option(std::optional<task_id>& target, const std::string& more_help);

/// `--tenant`. Clears the target: an empty name stands for the default tenant, which `operator_api`
/// knows.
[[nodiscard]] option tenant_option(std::string& target);

/// `--queue`, which limits a command to one queue.
[[nodiscard]] option queue_filter_option(std::string& target);

// Options that limit a command to some tasks of a queue.

[[nodiscard]] option group_filter_option(std::string& target);
[[nodiscard]] option error_filter_option(std::string& target);

/// This machine's wall-clock time, which a coordinator's shard time follows.
[[nodiscard]] timestamp wall_time();

/// `--older-than` and `--newer-than`: how long ago a task died.
[[nodiscard]] std::vector<option> age_options(time_window& died);

/// The queue's name as a positional argument.
[[nodiscard]] option queue_option(std::string& target, bool required = true);

/// The same option, but required or positional.
[[nodiscard]] option required(option entry);
[[nodiscard]] option placed(option entry);

/// A task identified by its id, or by its queue and key.
struct named_task {
  std::optional<task_id> id;
  task_key key;

  [[nodiscard]] std::vector<option> options();

  /// Reports missing or conflicting options.
  [[nodiscard]] result<void> check() const;

  /// @pre check()
  [[nodiscard]] task_target target() const { return id ? task_target{*id} : task_target{key}; }
};

} // namespace codeq::ctl
