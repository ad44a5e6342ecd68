// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"

#include "base/json_writer.hpp"
#include "base/text_encoding.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::observe {

namespace {

struct level_name {
  std::string_view text;
  log_level level;
};

constexpr std::array<level_name, 6> level_names{{
  {"trace", log_level::trace},
  {"debug", log_level::debug},
  {"info", log_level::info},
  {"warn", log_level::warn},
  {"error", log_level::error},
  {"off", log_level::off},
}};

spdlog::level::level_enum to_spdlog(log_level level) noexcept {
  switch (level) {
  case log_level::trace:
    return spdlog::level::trace;
  case log_level::debug:
    return spdlog::level::debug;
  case log_level::info:
    return spdlog::level::info;
  case log_level::warn:
    return spdlog::level::warn;
  case log_level::error:
    return spdlog::level::err;
  case log_level::off:
    return spdlog::level::off;
  }
  return spdlog::level::off;
}

log_level from_spdlog(spdlog::level::level_enum level) noexcept {
  for (const auto& known : level_names)
    if (to_spdlog(known.level) == level)
      return known.level;
  return log_level::off;
}

constexpr auto text_pattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
/// The line begins with the member that follows the time.
constexpr auto json_pattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v)";

std::atomic<bool> is_json{false};

/// Above this number of digits a JSON reader may round a number, so it is written as text.
constexpr std::size_t exact_digits = 15;

/// A word of a line's format: text without spaces, except within quotes.
std::vector<std::string_view> words_of(std::string_view format) {
  std::vector<std::string_view> words;
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= format.size(); ++i) {
    bool is_end = i == format.size();
    if (!is_end && format[i] == '"')
      is_quoted = !is_quoted;
    if (!is_end && (format[i] != ' ' || is_quoted))
      continue;
    if (i > begin)
      words.push_back(format.substr(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

/// Puts the arguments of a line into the placeholders of its words.
class placeholders {
public:
  explicit placeholders(std::span<const log_argument> arguments)
    : rest_(arguments) {}

  std::string fill(std::string_view word) {
    std::string filled;
    for (auto at = word.find("{}"); at != std::string_view::npos; at = word.find("{}")) {
      filled += word.substr(0, at);
      filled += take().text;
      word.remove_prefix(at + 2);
    }
    return filled.append(word);
  }

  /// The number that the next placeholder stands for; empty when it is another value.
  [[nodiscard]] std::optional<std::string> take_number() {
    bool is_exact = !rest_.empty() && rest_.front().is_number
                    && rest_.front().text.size() <= exact_digits;
    return is_exact ? std::optional(take().text) : std::nullopt;
  }

private:
  /// The compiler has checked that there are as many as placeholders.
  const log_argument& take() {
    const auto& next = rest_.front();
    rest_ = rest_.subspan(1);
    return next;
  }

  std::span<const log_argument> rest_;
};

/// JSON is UTF-8, and text of peers need not be.
std::string readable(std::string text) {
  if (!base::is_utf8(text))
    for (auto& c : text)
      if (static_cast<unsigned char>(c) >= 0x80)
        c = '?';
  return text;
}

void write_member(
  base::json_writer& to, std::string_view key, std::string_view value, placeholders& arguments) {
  to.key(readable(arguments.fill(key)));
  if (auto number = value == "{}" ? arguments.take_number() : std::nullopt) {
    to.raw(*number);
    return;
  }
  bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  if (is_quoted)
    value = value.substr(1, value.size() - 2);
  to.text(readable(arguments.fill(value)));
}

/// Adds an argument to a line; within quotes it cannot end them.
void append_text(std::string& line, std::string_view argument, bool is_quoted) {
  for (auto c : argument) {
    bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (is_quoted && (c == '"' || c == '\\'))
      line += '\\';
    line += is_control ? '?' : c;
  }
}

std::string text_line(std::string_view format, std::span<const log_argument> arguments) {
  std::string line;
  bool is_quoted = false;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '"')
      is_quoted = !is_quoted;
    if (!format.substr(i).starts_with("{}")) {
      line += format[i];
      continue;
    }
    append_text(line, arguments.front().text, is_quoted);
    arguments = arguments.subspan(1);
    ++i;
  }
  return line;
}

std::string json_line(
  log_level level, std::string_view format, std::span<const log_argument> arguments) {
  placeholders values(arguments);
  base::json_writer members;
  std::string message;
  for (auto word : words_of(format)) {
    auto equals = word.find('=');
    bool is_member = equals != std::string_view::npos && equals > 0;
    if (is_member) {
      write_member(members, word.substr(0, equals), word.substr(equals + 1), values);
      continue;
    }
    message += message.empty() ? "" : " ";
    message += values.fill(word);
  }
  base::json_writer line;
  line.begin_object().field("level", to_string(level)).field("message", readable(message));
  auto begin = line.take().substr(1);
  auto rest = members.take();
  begin += rest.empty() ? "" : "," + rest;
  return begin + "}";
}

/// Value of an environment variable; empty when it is not set.
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

spdlog::logger& logger() {
  static auto instance = [] {
    auto level = parse_log_level(variable("CODEQ_LOG_LEVEL")).value_or(log_level::warn);
    auto format = parse_log_format(variable("CODEQ_LOG_FORMAT")).value_or(log_format::text);
    is_json = format == log_format::json;
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto made = std::make_shared<spdlog::logger>("codeq", std::move(sink));
    made->set_pattern(is_json ? json_pattern : text_pattern, spdlog::pattern_time_type::utc);
    made->set_level(to_spdlog(level));
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

} // namespace

result<log_level> parse_log_level(std::string_view text) {
  for (const auto& known : level_names)
    if (known.text == text)
      return known.level;
  return error{
    errc::invalid_argument,
    "log level \"" + std::string(text) + "\" is none of trace, debug, info, warn, error, off"};
}

std::string_view to_string(log_level level) noexcept {
  for (const auto& known : level_names)
    if (known.level == level)
      return known.text;
  return "off";
}

result<log_format> parse_log_format(std::string_view text) {
  if (text == "text")
    return log_format::text;
  if (text == "json")
    return log_format::json;
  return error{
    errc::invalid_argument, "log format \"" + std::string(text) + "\" is neither text nor json"};
}

void init_log(log_level level, log_format format) {
  // Its first call takes the format from the environment.
  auto& log = logger();
  is_json = format == log_format::json;
  log.set_pattern(is_json ? json_pattern : text_pattern, spdlog::pattern_time_type::utc);
  set_log_level(level);
}

result<void> init_log(std::string_view level, std::string_view format) {
  auto from = parse_log_level(level);
  auto as = parse_log_format(format);
  if (!from || !as)
    return from ? as.error() : from.error();
  init_log(*from, *as);
  return {};
}

void set_log_level(log_level level) {
  logger().set_level(to_spdlog(level));
}

log_level current_log_level() noexcept {
  return from_spdlog(logger().level());
}

result<std::string> change_log_level(std::string_view text, std::string_view subject) {
  auto from = current_log_level();
  auto to = text.empty() ? result<log_level>(from) : parse_log_level(text);
  if (!to)
    return to.error();
  auto note = [&] {
    CODEQ_LOG_WARN(
      "log changes its level from={} to={} by={}", to_string(from), to_string(*to), subject);
  };
  // Written under the level that shows the line.
  bool is_shown = log_enabled(log_level::warn);
  if (from != *to && is_shown)
    note();
  set_log_level(*to);
  if (from != *to && !is_shown)
    note();
  return std::string(to_string(*to));
}

bool log_is_json() noexcept {
  return is_json.load(std::memory_order_relaxed);
}

bool log_enabled(log_level level) noexcept {
  return logger().should_log(to_spdlog(level));
}

void write_log(log_level level, std::string_view format, std::span<const log_argument> arguments) {
  auto line = log_is_json() ? json_line(level, format, arguments) : text_line(format, arguments);
  logger().log(to_spdlog(level), line);
}

void flush_log() {
  logger().flush();
}

} // namespace codeq::observe
