// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>

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

spdlog::logger& logger() {
  static auto instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto made = std::make_shared<spdlog::logger>("codeq", std::move(sink));
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::warn);
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

void init_log(log_level level) {
  logger().set_level(to_spdlog(level));
}

bool log_enabled(log_level level) noexcept {
  return logger().should_log(to_spdlog(level));
}

void write_log(log_level level, std::string line) {
  for (auto& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  logger().log(to_spdlog(level), line);
}

void flush_log() {
  logger().flush();
}

} // namespace codeq::observe
