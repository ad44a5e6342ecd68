// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <fmt/core.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// The log: one line per event, `subject verb object key=value ...`, with ids and peers as
/// key=value. It goes to stderr, because stdout belongs to the programs' output. Thread-safe.
namespace codeq::observe {

enum class log_level { trace, debug, info, warn, error, off };

/// `json`: each line is an object with `time`, `level`, `message` and a member for each `key=value`
/// of the line.
enum class log_format { text, json };

/// The level with the name `text`, as in `log_level`. Errors: `invalid_argument`.
[[nodiscard]] result<log_level> parse_log_level(std::string_view text);

[[nodiscard]] std::string_view to_string(log_level level) noexcept;

/// The format with the name `text`. Errors: `invalid_argument`.
[[nodiscard]] result<log_format> parse_log_format(std::string_view text);

/// Starts logging to stderr from `level` upward. Without a call, as in a program that uses the
/// library, `CODEQ_LOG_LEVEL` and `CODEQ_LOG_FORMAT` decide; by default warnings and errors are
/// written, as text.
void init_log(log_level level, log_format format = log_format::text);

/// The same with the names of both. Errors: `invalid_argument`.
[[nodiscard]] result<void> init_log(std::string_view level, std::string_view format);

/// Changes the level while the process runs; the next start does not know of it.
void set_log_level(log_level level);

[[nodiscard]] log_level current_log_level() noexcept;

/// Changes the level at the request of `subject`, or only reads it when `text` is empty; returns
/// the level in force. A change is logged. Errors: `invalid_argument`.
[[nodiscard]] result<std::string>
change_log_level(std::string_view text, std::string_view subject);

/// True when a line of that level would be written.
[[nodiscard]] bool log_enabled(log_level level) noexcept;

/// True when lines are written as JSON.
[[nodiscard]] bool log_is_json() noexcept;

/// One argument of a line, as text.
struct log_argument {
  std::string text;
  bool is_number = false;
};

/// Writes one line in the log's format, in which each placeholder is `{}`. Text from a peer cannot
/// forge a line or a member: control characters become `?`, quotes and backslashes in a quoted
/// value are escaped, and the members of a JSON object come from the format, not from the finished
/// line.
void write_log(log_level level, std::string_view format, std::span<const log_argument> arguments);

/// Writes buffered lines; called before a process ends.
void flush_log();

template <class T>
[[nodiscard]] log_argument to_log_argument(const T& value) {
  return {fmt::format("{}", value), std::is_arithmetic_v<T>};
}

template <class... Args>
void log(log_level level, fmt::format_string<Args...> format, Args&&... args) {
  fmt::string_view text = format;
  std::array<log_argument, sizeof...(Args)> arguments{
    to_log_argument<std::remove_cvref_t<Args>>(args)...};
  write_log(level, {text.data(), text.size()}, arguments);
}

} // namespace codeq::observe

// Arguments are not evaluated when the level is off.
#define CODEQ_LOG_AT(level, ...)                                                                   \
  do {                                                                                             \
    if (::codeq::observe::log_enabled(level))                                                      \
      ::codeq::observe::log(level, __VA_ARGS__);                                                   \
  } while (false)
#define CODEQ_LOG_DEBUG(...) CODEQ_LOG_AT(::codeq::observe::log_level::debug, __VA_ARGS__)
#define CODEQ_LOG_INFO(...) CODEQ_LOG_AT(::codeq::observe::log_level::info, __VA_ARGS__)
#define CODEQ_LOG_WARN(...) CODEQ_LOG_AT(::codeq::observe::log_level::warn, __VA_ARGS__)
#define CODEQ_LOG_ERROR(...) CODEQ_LOG_AT(::codeq::observe::log_level::error, __VA_ARGS__)
