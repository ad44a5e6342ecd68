// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

/// The log: one line per event, `subject verb object key=value ...`, with ids and peers as
/// key=value. It goes to stderr, because stdout belongs to the programs' output. Thread-safe.
namespace codeq::observe {

enum class log_level { trace, debug, info, warn, error, off };

/// The level with the name `text`, as in `log_level`. Errors: `invalid_argument`.
[[nodiscard]] result<log_level> parse_log_level(std::string_view text);

/// Starts logging to stderr from `level` upward. Before the first call only warnings and errors are
/// written. May be called again to change the level.
void init_log(log_level level);

/// True when a line of that level would be written.
[[nodiscard]] bool log_enabled(log_level level) noexcept;

/// Writes one line. Control characters become `?`, so that text from a peer cannot forge a line.
void write_log(log_level level, std::string line);

/// Writes buffered lines; called before a process ends.
void flush_log();

template <class... Args>
void log(log_level level, fmt::format_string<Args...> format, Args&&... args) {
  write_log(level, fmt::format(format, std::forward<Args>(args)...));
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
