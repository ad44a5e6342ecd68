// SPDX-License-Identifier: Apache-2.0
#include "config/option_set.hpp"

#include "base/nearest_name.hpp"
#include "config/option_file.hpp"
#include "config/values.hpp"
#include "config/version.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

namespace codeq::config {

namespace {

constexpr std::size_t help_column = 34;

/// Where the command-line parser stores the values that it finds; a deque, because it keeps
/// addresses.
struct sink {
  std::string name;
  bool is_switch = false;
  std::vector<std::string> texts;
  bool set = false;
};

/// A positional argument shows by its place that it is required.
std::string help_of(const option& entry) {
  auto help = entry.needs.empty() ? entry.help : entry.help + ". Needs --" + entry.needs;
  return entry.required && !entry.positional ? help + ". Required" : help;
}

/// False for values that are those of an option that is not given.
bool is_said(const option& entry, const std::string& text) {
  const bool is_switch = entry.value.empty();
  return !text.empty() && !(is_switch && text == "false");
}

void declare(CLI::App& app, const option& entry, std::deque<sink>& sinks) {
  auto& target = sinks.emplace_back(sink{entry.name, entry.value.empty(), {}, false});
  auto flag = (entry.positional ? "" : "--") + entry.name;
  if (target.is_switch) {
    app.add_flag_callback(
      flag, [&target] { target.set = true; }, help_of(entry));
    return;
  }
  auto* declared = app.add_option(flag, target.texts, help_of(entry));
  declared->option_text(entry.positional ? "" : entry.value);
  if (entry.positional)
    declared->expected(1)->required(entry.required);
  // One value per flag; otherwise the words that follow would be taken for values, too.
  declared->allow_extra_args(false);
}

/// Name of the chosen command: group and name, or the name alone.
std::string name_of_chosen(const CLI::App& app) {
  std::string name;
  for (const auto* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += (name.empty() ? "" : " ") + at->get_name();
  }
  return name;
}

/// Place of a word on the command line; `line.argc` if it is not there.
int place_of(const std::string& word, const command_line& line) {
  return static_cast<int>(std::find(line.argv + 1, line.argv + line.argc, word) - line.argv);
}

/// An unknown word before the command that was chosen: its writer meant it as the command.
struct misplaced_word {
  std::string word;
  /// The group of commands that precedes the word; may be empty.
  std::string group{};
};

std::optional<misplaced_word> word_before_command(const CLI::App& app, const command_line& line) {
  auto unknown = app.remaining(true);
  auto chosen = name_of_chosen(app);
  if (unknown.empty() || unknown.front().starts_with("-") || chosen.empty())
    return std::nullopt;
  auto space = chosen.find(' ');
  auto group = space == std::string::npos ? "" : chosen.substr(0, space);
  auto place = place_of(unknown.front(), line);
  if (place >= place_of(chosen.substr(space + 1), line))
    return std::nullopt;
  bool is_in_group = !group.empty() && place > place_of(group, line);
  return misplaced_word{unknown.front(), is_in_group ? group : ""};
}

/// "a subcommand is required: ...", when a group of commands or the program was given none.
std::string list_missing_commands(const CLI::App& app) {
  const auto* at = &app;
  for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands())
    at = chosen.front();
  std::string names;
  for (const auto* command : at->get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "a subcommand is required: " : ", ") + command->get_name();
  return names;
}

/// Names of the options that may be given to the command that was chosen.
std::vector<std::string> known_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* at = &app; at != nullptr;) {
    for (const auto* option : at->get_options())
      if (!option->get_lnames().empty())
        names.push_back("--" + option->get_lnames().front());
    auto chosen = at->get_subcommands();
    at = chosen.empty() ? nullptr : chosen.front();
  }
  return names;
}

/// A name that other programs give to an option of ours.
struct other_name {
  std::string_view name;
  std::string_view ours;
};

constexpr auto other_names = std::to_array<other_name>({
  {"--port", "--listen"},
  {"--port", "--coordinator"},
  {"--bind", "--listen"},
  {"--host", "--coordinator"},
  {"--host", "--listen"},
  {"--address", "--coordinator"},
  {"--address", "--listen"},
  {"--server", "--coordinator"},
  {"--dir", "--data"},
  {"--concurrency", "--slots"},
  {"--verbose", "--log-level"},
  {"--debug", "--log-level"},
  {"--token", "--token-file"},
  {"--command", "--exec"},
  {"help", "--help"},
  {"version", "--version"},
  {"status", "get"},
  {"show", "get"},
  {"task", "get"},
  {"tasks", "list"},
  {"ls", "list"},
  {"queues", "stats"},
  {"list", "stats"},
  {"health", "stats"},
  {"info", "stats"},
  {"retry", "redrive"},
  {"requeue", "redrive"},
  {"delete", "purge"},
  {"remove", "purge"},
  {"add", "enqueue"},
  {"push", "enqueue"},
  {"submit", "enqueue"},
  {"kill", "cancel"},
  {"wait", "result"},
  {"undrain", "resume"},
  {"resume", "undrain"},
});

std::optional<std::string_view>
find_by_other_name(const std::string& unknown, const std::vector<std::string>& known) {
  for (const auto& other : other_names)
    if (other.name == unknown && std::find(known.begin(), known.end(), other.ours) != known.end())
      return other.ours;
  return std::nullopt;
}

/// "; did you mean ...?", or nothing when no known name is near.
std::string suggest(const std::string& unknown, const std::vector<std::string>& known) {
  std::vector<std::string_view> names(known.begin(), known.end());
  auto nearest = find_by_other_name(unknown, known);
  if (!nearest)
    nearest = base::nearest_name(unknown, names);
  return nearest ? "; did you mean " + quote(std::string(*nearest)) + "?" : "";
}

/// The refusal of a command line in the words of the other refusals.
std::string describe(const CLI::App& app, const CLI::ParseError& fault) {
  if (dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr)
    if (auto missing = list_missing_commands(app); !missing.empty())
      return missing;
  auto left = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&fault) == nullptr || left.empty())
    return fault.what();
  auto option = std::find_if(left.begin(), left.end(), [](const std::string& word) {
    return word.starts_with("--") && word.size() > 2;
  });
  auto known = known_options(app);
  bool takes_queue = !app.get_subcommands().empty()
                     && std::find(known.begin(), known.end(), "--queue") != known.end();
  if (option == left.end() && takes_queue)
    return "unexpected argument " + quote(left.front()) + "; a queue is given as --queue NAME";
  if (option == left.end())
    return "unexpected argument " + quote(left.front());
  auto name = option->substr(0, option->find('='));
  return "unknown option " + quote(name) + suggest(name, known);
}

std::string environment_name(const std::string& option_name) {
  std::string name = "CODEQ_";
  for (char c : option_name)
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = std::min(text.find('\n', begin), text.size());
    if (end > begin)
      lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

} // namespace

environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr)
      return std::nullopt;
    return std::string(value);
  };
}

int print(const exit_request& end) {
  if (end.status == 0)
    std::fputs(end.text.c_str(), stdout);
  else
    std::fprintf(stderr, "%s\n", end.text.c_str());
  return end.status;
}

option_set::option_set(std::string program, std::string description, std::string footer)
  : program_(std::move(program)), description_(std::move(description)), footer_(std::move(footer)) {
  add(
    {.name = "config",
     .value = "FILE",
     .help = "TOML file with options, under the same names [default: none]",
     .take = [](const std::string&) { return result<void>{}; }});
}

void option_set::add(option entry) {
  options_.push_back(std::move(entry));
}

void option_set::add(command entry) {
  commands_.push_back(std::move(entry));
}

void option_set::add_group(std::string name, std::string help) {
  groups_.emplace(std::move(name), std::move(help));
}

void option_set::set_needs(const std::string& other, const std::vector<std::string>& names) {
  for (auto& entry : options_) {
    if (std::find(names.begin(), names.end(), entry.name) != names.end())
      entry.needs = other;
  }
}

exit_request option_set::refuse(const std::string& text) const {
  return {exit_usage, program_ + ": " + text};
}

exit_request
option_set::refuse_unknown(const std::string& word, const std::string& group) const {
  std::vector<std::string> known{"--help", "--version"};
  for (const auto& entry : commands_) {
    auto space = std::min(entry.name.find(' '), entry.name.size());
    auto first = entry.name.substr(0, space);
    if (group.empty())
      known.push_back(first);
    else if (first == group)
      known.push_back(entry.name.substr(space + 1));
  }
  auto text = "unknown subcommand or option " + quote(word) + suggest(word, known);
  return refuse(text + " (see --help)");
}

std::optional<exit_request> option_set::parse(const command_line& line) {
  if (auto end = read_flags(line))
    return end;
  if (auto end = read_file(line))
    return end;
  for (const auto& entry : options_) {
    if (auto end = apply(entry, line))
      return end;
  }
  if (auto end = refuse_useless())
    return end;
  for (const auto& entry : commands_) {
    if (entry.name == chosen_)
      return apply_flags(entry.options);
  }
  return std::nullopt;
}

std::optional<exit_request> option_set::read_flags(const command_line& line) {
  CLI::App app(description_, program_);
  std::deque<sink> sinks;
  app.get_formatter()->column_width(help_column);
  app.set_help_flag("--help,-h", "Print this text and exit");
  app.set_version_flag("--version", program_ + " " + std::string(version()), "Print the version");
  app.footer(footer_);
  for (const auto& entry : options_)
    declare(app, entry, sinks);
  std::map<std::string, CLI::App*> groups;
  for (const auto& [name, help] : groups_)
    groups[name] = app.add_subcommand(name, help)->fallthrough()->require_subcommand(1);
  for (const auto& entry : commands_) {
    auto space = entry.name.find(' ');
    auto& parent = space == std::string::npos ? app : *groups.at(entry.name.substr(0, space));
    auto* sub = parent.add_subcommand(entry.name.substr(space + 1), entry.help)->fallthrough();
    sub->footer(entry.details);
    for (const auto& inner : entry.options)
      declare(*sub, inner, sinks);
  }
  if (!commands_.empty())
    app.require_subcommand(1);
  try {
    app.parse(line.argc, line.argv);
  } catch (const CLI::CallForVersion&) {
    return exit_request{0, program_ + " " + std::string(version()) + "\n"};
  } catch (const CLI::CallForHelp&) {
    if (auto unknown = app.remaining(true); !unknown.empty() && !is_complete(name_of_chosen(app)))
      return refuse_unknown(unknown.front(), name_of_chosen(app));
    return exit_request{0, app.help()};
  } catch (const CLI::ParseError& e) {
    if (auto unknown = app.remaining(true); !unknown.empty() && !is_complete(name_of_chosen(app)))
      return refuse_unknown(unknown.front(), name_of_chosen(app));
    if (auto misplaced = word_before_command(app, line))
      return refuse_unknown(misplaced->word, misplaced->group);
    return refuse(describe(app, e) + " (see --help)");
  }
  for (auto& found : sinks) {
    if (found.set)
      found.texts = {"true"};
    if (!found.texts.empty())
      flags_[found.name] = std::move(found.texts);
  }
  chosen_ = name_of_chosen(app);
  return std::nullopt;
}

bool option_set::is_complete(const std::string& command) const {
  return commands_.empty()
         || std::any_of(commands_.begin(), commands_.end(), [&](const config::command& entry) {
              return entry.name == command;
            });
}

std::optional<exit_request> option_set::read_file(const command_line& line) {
  if (auto given = flags_.find("config"); given != flags_.end())
    file_name_ = given->second.back();
  else
    file_name_ = line.env(environment_name("config")).value_or("");
  if (file_name_.empty())
    return std::nullopt;
  auto content = read_option_file(file_name_);
  if (!content)
    return refuse("--config " + file_name_ + ": " + content.error().context);
  std::vector<std::string> names;
  for (const auto& entry : options_)
    names.push_back(entry.name);
  for (const auto& [key, texts] : *content) {
    auto known = std::any_of(options_.begin(), options_.end(), [&](const option& entry) {
      return entry.name == key && key != "config";
    });
    if (!known)
      return refuse(
        "--config " + file_name_ + ": unknown option " + quote(key) + suggest(key, names));
  }
  file_ = std::move(*content);
  return std::nullopt;
}

std::optional<exit_request> option_set::apply(const option& entry, const command_line& line) {
  auto flag = "--" + entry.name;
  if (auto given = flags_.find(entry.name); given != flags_.end())
    return take_given(entry, flag, given->second);
  auto variable = environment_name(entry.name);
  if (auto text = line.env(variable); text && !text->empty()) {
    auto given = entry.repeatable ? lines_of(*text) : std::vector{*text};
    return take_given(entry, variable + " (environment)", given);
  }
  if (auto given = file_.find(entry.name); given != file_.end())
    return take_given(entry, entry.name + " in " + file_name_, given->second);
  if (entry.required)
    return refuse(
      flag + " is required (or " + variable + " in the environment, or " + entry.name
      + " in the file of --config)");
  return std::nullopt;
}

std::optional<exit_request> option_set::take_given(
  const option& entry, const std::string& source, const std::vector<std::string>& given) {
  for (const auto& text : given) {
    if (is_said(entry, text))
      sources_[entry.name] = source;
  }
  return take_all(entry, source, given);
}

std::optional<exit_request> option_set::refuse_useless() const {
  for (const auto& entry : options_) {
    auto source = sources_.find(entry.name);
    if (source != sources_.end() && !entry.needs.empty() && !sources_.contains(entry.needs))
      return refuse(source->second + " needs --" + entry.needs);
  }
  return std::nullopt;
}

std::optional<exit_request> option_set::apply_flags(const std::vector<option>& options) {
  for (const auto& entry : options) {
    auto shown = entry.positional ? entry.name : "--" + entry.name;
    auto given = flags_.find(entry.name);
    if (given == flags_.end() && entry.required)
      return refuse(chosen_ + ": " + shown + " is required");
    if (given == flags_.end())
      continue;
    if (auto end = take_all(entry, shown, given->second))
      return end;
  }
  return std::nullopt;
}

std::optional<exit_request> option_set::take_all(
  const option& entry, const std::string& source, const std::vector<std::string>& given) const {
  if (!entry.repeatable && given.size() != 1)
    return refuse(
      source + ": given " + std::to_string(given.size()) + " values; it takes exactly one");
  for (const auto& text : given) {
    if (auto taken = entry.take(text); !taken)
      return refuse(source + ": " + taken.error().context);
  }
  return std::nullopt;
}

} // namespace codeq::config
