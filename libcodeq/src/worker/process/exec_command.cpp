// SPDX-License-Identifier: Apache-2.0
#include "worker/process/exec_command.hpp"

#include "codeq/limits.hpp"

#include "base/queue_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace codeq::worker {

namespace {

constexpr std::string_view white_space = " \t\r\n";

bool is_program(const std::string& path) {
  struct stat file {};

  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// True for a word that a shell would take for an operator: `;`, a pipe or a redirection.
bool is_shell_operator(std::string_view word) {
  constexpr std::array<std::string_view, 4> whole{"|", "||", "&", "&&"};
  bool redirects = word.starts_with('>') || word.starts_with('<') || word.starts_with("2>");
  return redirects || word.ends_with(';')
         || std::find(whole.begin(), whole.end(), word) != whole.end();
}

/// Parses one command line from left to right.
class splitter {
public:
  explicit splitter(std::string_view text) : text_(text) {}

  result<std::vector<std::string>> split() {
    for (skip_space(); at_ < text_.size(); skip_space()) {
      std::string argument;
      auto begin = at_;
      if (auto ok = read_argument(argument); !ok)
        return ok.error();
      // With quotes or a backslash the word differs, and is meant as it is.
      auto word = text_.substr(begin, at_ - begin);
      if (is_shell_operator(word) && word == argument)
        return error{
          errc::invalid_argument,
          "no shell runs the command, so `" + argument
            + "` would be an argument; write QUEUE=sh -c '...' for a shell, or quote it"};
      arguments_.push_back(std::move(argument));
    }
    return std::move(arguments_);
  }

private:
  void skip_space() {
    while (at_ < text_.size() && white_space.find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  result<void> read_argument(std::string& into) {
    while (at_ < text_.size() && white_space.find(text_[at_]) == std::string_view::npos) {
      char c = text_[at_];
      auto ok = c == '\'' || c == '"' ? read_quoted(into, c) : read_bare(into);
      if (!ok)
        return ok;
    }
    return {};
  }

  result<void> read_bare(std::string& into) {
    if (text_[at_] == '\\' && ++at_ == text_.size())
      return error{errc::invalid_argument, "command ends with a backslash"};
    into.push_back(text_[at_++]);
    return {};
  }

  result<void> read_quoted(std::string& into, char quote) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return {};
      }
      bool escapes = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()
                     && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
      at_ += escapes ? 1 : 0;
      into.push_back(text_[at_]);
    }
    return error{errc::invalid_argument, std::string("command has no closing ") + quote};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> arguments_;
};

} // namespace

result<exec_command> parse_exec_command(std::string_view text) {
  auto equals = text.find('=');
  if (equals == std::string_view::npos || !base::queue_pattern::parse(text.substr(0, equals)))
    return error{
      errc::invalid_argument, "program \"" + std::string(text) + "\" is not `QUEUE=command args`"};
  auto arguments = split_command(text.substr(equals + 1));
  if (!arguments)
    return error{
      arguments.error().code,
      "program \"" + std::string(text) + "\": " + arguments.error().context};
  auto path = find_program(arguments->front());
  if (!path)
    return path.error();
  return exec_command{std::string(text.substr(0, equals)), std::move(*path), std::move(*arguments)};
}

result<std::vector<std::string>> split_command(std::string_view text) {
  auto arguments = splitter(text).split();
  if (!arguments)
    return arguments;
  if (arguments->empty())
    return error{errc::invalid_argument, "no command"};
  if (arguments->size() > limits::exec_arguments_max)
    return error{
      errc::invalid_argument,
      std::to_string(arguments->size()) + " arguments, over the limit of "
        + std::to_string(limits::exec_arguments_max)};
  return arguments;
}

result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_program(name))
      return name;
    return error{errc::unavailable, "program " + name + " does not exist or is not executable"};
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!name.empty() && !rest.empty()) {
    auto colon = std::min(rest.find(':'), rest.size());
    std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    if (colon > 0 && is_program(candidate))
      return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return error{errc::unavailable, "program " + name + " is not in the PATH"};
}

} // namespace codeq::worker
