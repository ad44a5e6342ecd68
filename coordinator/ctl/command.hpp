// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/option_set.hpp"
#include "ctl/operator_api.hpp"
#include "ctl/output.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::ctl {

/// Environment of a running command.
struct context {
  operator_api& api;
  /// Print one JSON object per answer.
  bool json = false;
  /// A person can be asked to confirm.
  bool is_interactive = false;
};

struct no_options {};

/// A verb of codeqctl: its name, its options and its function.
template <class Options>
struct command {
  /// One word, or two, of which the first is the name of a group.
  std::string name;
  /// One sentence for the list of commands.
  std::string help;
  /// Lists the options, which write to the struct. Null: no options.
  std::vector<config::option> (*grammar)(Options&) = nullptr;
  /// Runs the command, prints its output and returns the exit status.
  int (*run)(context&, const Options&) = nullptr;
  /// Checks that the options fit together.
  result<void> (*check)(const Options&) = nullptr;
  /// Values of the options that are not given.
  Options defaults{};
  /// Explains the output; printed below the options in the command's own help text.
  std::string details{};
};

/// Runs the chosen command and returns its exit status.
using chosen_command = std::function<int(context&)>;

/// The verbs of codeqctl.
class command_table {
public:
  explicit command_table(config::option_set& options) : options_(options) {}

  /// Adds a group: the first word of several commands.
  void group(std::string name, std::string help) {
    options_.add_group(std::move(name), std::move(help));
  }

  template <class Options>
  void add(command<Options> entry) {
    auto given = std::make_shared<Options>(std::move(entry.defaults));
    auto options = entry.grammar ? entry.grammar(*given) : std::vector<config::option>();
    options_.add({entry.name, entry.help, std::move(options), entry.details});
    chosen_[entry.name] = [given, entry]() -> result<chosen_command> {
      if (entry.check != nullptr)
        if (auto ok = entry.check(*given); !ok)
          return ok.error();
      return chosen_command([given, run = entry.run](context& with) { return run(with, *given); });
    };
  }

  /// The command of that name; call after the options were parsed. @pre it was added
  [[nodiscard]] result<chosen_command> chosen(const std::string& name) const {
    return chosen_.at(name)();
  }

private:
  config::option_set& options_;
  std::map<std::string, std::function<result<chosen_command>()>> chosen_;
};

/// Prints an answer, formatted by the command or as the gateway sent it. Returns the exit status:
/// `exit_partial` when the answer lacks shards.
template <class T, class ToJson, class ToText>
[[nodiscard]] int
show(const context& with, const answer<T>& got, const ToJson& to_json, const ToText& to_text) {
  if (!got)
    return fail(got.error(), with.json);
  if (const auto* said = std::get_if<document>(&*got))
    print(*said, with.json);
  else
    print(with.json ? to_json(std::get<T>(*got)) : to_text(std::get<T>(*got)));
  const auto is_partial =
    std::visit([](const auto& told) { return lacks_shards(told); }, *got);
  return is_partial ? exit_partial : exit_done;
}

/// As `show`, for the outcome of a change: it fails when shards have not answered.
template <class T, class ToJson, class ToText>
[[nodiscard]] int show_change(
  const context& with, const answer<T>& got, const ToJson& to_json, const ToText& to_text) {
  const auto status = show(with, got, to_json, to_text);
  return status == exit_partial ? exit_failed : status;
}

} // namespace codeq::ctl
