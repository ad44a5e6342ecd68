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
#include <vector>

namespace codeq::ctl {

/// What a command works with.
struct context {
  operator_api& api;
  /// Print one JSON object per answer.
  bool json = false;
};

struct no_options {};

/// A verb of codeqctl: its name, its options and what it does with them.
template <class Options>
struct command {
  /// One word, or two of which the first is a group's name.
  std::string name;
  /// One sentence for the list of commands.
  std::string help;
  /// The options; they write to the struct. Empty for none.
  std::vector<config::option> (*grammar)(Options&) = nullptr;
  /// Does it, prints, and returns the exit status.
  int (*run)(context&, const Options&) = nullptr;
  /// Says which options do not fit each other.
  result<void> (*check)(const Options&) = nullptr;
  /// What the options are unless they are given.
  Options defaults{};
};

/// Runs the command that was chosen.
using chosen_command = std::function<int(context&)>;

/// The verbs of codeqctl.
class command_table {
public:
  explicit command_table(config::option_set& options) : options_(options) {}

  /// Names the first word of several commands.
  void group(std::string name, std::string help) {
    options_.add_group(std::move(name), std::move(help));
  }

  template <class Options>
  void add(command<Options> entry) {
    auto given = std::make_shared<Options>(std::move(entry.defaults));
    auto options = entry.grammar ? entry.grammar(*given) : std::vector<config::option>();
    options_.add({entry.name, entry.help, std::move(options)});
    chosen_[entry.name] = [given, entry]() -> result<chosen_command> {
      if (entry.check != nullptr)
        if (auto ok = entry.check(*given); !ok)
          return ok.error();
      return chosen_command([given, run = entry.run](context& with) { return run(with, *given); });
    };
  }

  /// The command of that name, once the options were read. @pre it was added
  [[nodiscard]] result<chosen_command> chosen(const std::string& name) const {
    return chosen_.at(name)();
  }

private:
  config::option_set& options_;
  std::map<std::string, std::function<result<chosen_command>()>> chosen_;
};

/// Says why waiting took too long, and returns the exit status.
[[nodiscard]] inline int fail_waiting(const context& with, const error& late) {
  auto cause = with.api.cause_of(late);
  auto failed = fail(cause, with.json);
  return cause.code == errc::timeout ? exit_not_ended : failed;
}

/// Prints an answer, in the command's words or as a gateway gave it, and returns the exit status.
template <class T, class ToJson, class ToText>
[[nodiscard]] int
show(const context& with, const answer<T>& got, const ToJson& to_json, const ToText& to_text) {
  if (!got)
    return fail(got.error(), with.json);
  if (const auto* said = std::get_if<document>(&*got))
    print(*said, with.json);
  else
    print(with.json ? to_json(std::get<T>(*got)) : to_text(std::get<T>(*got)));
  return exit_done;
}

} // namespace codeq::ctl
