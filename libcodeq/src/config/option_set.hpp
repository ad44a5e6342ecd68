// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace codeq::config {

/// Ends a program at its start: `text` is printed to stdout when `status` is 0 (help, version),
/// otherwise as one line to stderr.
struct exit_request {
  int status = 0;
  std::string text;
};

/// Prints the text where it belongs and returns the status.
[[nodiscard]] int print(const exit_request& end);

/// Exit status for an invalid command line, environment or file.
inline constexpr int exit_usage = 2;

/// The parsed options of a program, or the reason to end at once.
template <class T>
using parsed = std::variant<T, exit_request>;

/// Looks up an environment variable; a parameter, so that tests need no real one.
using environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process.
[[nodiscard]] environment process_environment();

struct command_line {
  int argc = 0;
  const char* const* argv = nullptr;
  environment env;
};

/// One option, with the same name in all three places: flag `--port-file`, environment variable
/// `CODEQ_PORT_FILE`, key `port-file` of the file. If several places give it, the first of them
/// wins.
struct option {
  std::string name;
  /// Placeholder for the value in the help text; empty for a switch.
  std::string value;
  /// One sentence with the unit and the default; the help text adds which options are required.
  std::string help;
  /// Parses one value; its error says what is allowed. A switch gets `true` or `false`.
  std::function<result<void>(const std::string&)> take;
  bool required = false;
  /// May be given several times (environment: one value per line; file: a list).
  bool repeatable = false;
  /// A positional argument after the command's name. Only for options of a command.
  bool positional = false;
  /// Name of the option that this one is refused without; see `option_set::set_needs`.
  std::string needs{};
};

/// A command of a program that has several; its own options can be given as flags only.
struct command {
  /// One word, or two, of which the first is the name of a group.
  std::string name;
  std::string help;
  std::vector<option> options;
  /// Printed below the options in the command's own help text.
  std::string details{};
};

/// All options of one program. It adds `--help`, `--version` and `--config FILE` by itself.
class option_set {
public:
  /// `footer` is printed at the end of the help text.
  option_set(std::string program, std::string description, std::string footer);

  void add(option entry);
  void add(command entry);

  /// Adds a group of commands. Call before the first command of the group is added.
  void add_group(std::string name, std::string help);

  /// Refuses these options where the option `other` is not given, without which they do nothing. An
  /// empty value, and a switch that is `false`, count as not given. Call after they were added.
  void set_needs(const std::string& other, const std::vector<std::string>& names);

  /// Passes every given value to its option's `take`. Empty on success. If there are commands, one
  /// of them is required.
  [[nodiscard]] std::optional<exit_request> parse(const command_line& line);

  /// The chosen command; empty without commands.
  [[nodiscard]] const std::string& chosen() const noexcept { return chosen_; }

  /// An error in the common format: `program: text`, exit status 2.
  [[nodiscard]] exit_request refuse(const std::string& text) const;

private:
  /// `group`: the group that was named before the word; empty: none.
  [[nodiscard]] exit_request
  refuse_unknown(const std::string& word, const std::string& group) const;

  using values = std::map<std::string, std::vector<std::string>>;

  std::optional<exit_request> read_flags(const command_line& line);
  /// False for a group without one of its commands, and for a program without one.
  [[nodiscard]] bool is_complete(const std::string& command) const;
  std::optional<exit_request> read_file(const command_line& line);
  std::optional<exit_request> apply(const option& entry, const command_line& line);
  std::optional<exit_request> apply_flags(const std::vector<option>& options);
  std::optional<exit_request> take_given(
    const option& entry, const std::string& source, const std::vector<std::string>& given);
  std::optional<exit_request> take_all(
    const option& entry, const std::string& source, const std::vector<std::string>& given) const;
  /// Refuses an option that was given without the one that it needs.
  [[nodiscard]] std::optional<exit_request> refuse_useless() const;

  std::string program_;
  std::string description_;
  std::string footer_;
  std::vector<option> options_;
  std::vector<command> commands_;
  std::map<std::string, std::string> groups_;
  std::string chosen_;
  values flags_;
  values file_;
  /// Where the options were given, by their names.
  std::map<std::string, std::string> sources_;
  std::string file_name_;
};

} // namespace codeq::config
