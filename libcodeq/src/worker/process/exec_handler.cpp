// SPDX-License-Identifier: Apache-2.0
#include "worker/process/exec_handler.hpp"

#include "observe/line_pace.hpp"
#include "observe/log.hpp"
#include "worker/process/exec_process.hpp"
#include "worker/process/exec_spawn.hpp"
#include "worker/process/process_text.hpp"

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include <sysexits.h>
#include <unistd.h>

namespace codeq::worker {

namespace {

/// Maximum number of lines that the programs of a queue write to the log in a second.
constexpr std::uint32_t program_lines_per_second = 20;

void log_line(observe::line_pace& pace, const task& attempt, std::string_view line) {
  if (!observe::log_enabled(observe::log_level::info))
    return;
  if (auto left_out = pace.take(attempt.queue, std::chrono::steady_clock::now()))
    CODEQ_LOG_INFO(
      "program says task={} queue={} attempt={} left_out={} text=\"{}\"",
      to_string(attempt.id),
      attempt.queue,
      attempt.attempt,
      *left_out,
      line);
}

/// Space for the text before the end of standard error in an error text.
constexpr std::size_t preface_bytes_max = 256;

process_request
make_request(const exec_command& command, const task& attempt, duration kill_grace) {
  process_request request;
  request.path = command.path;
  request.arguments = command.arguments;
  request.environment = inherited_environment();
  auto say = [&](const char* name, const std::string& text) {
    request.environment.push_back(std::string(own_prefix) + name + "=" + text);
  };
  say("TASK_ID", to_string(attempt.id));
  say("QUEUE", attempt.queue);
  say("ATTEMPT", std::to_string(attempt.attempt));
  say("MAX_ATTEMPTS", std::to_string(attempt.max_attempts));
  say("TOKEN", std::to_string(value(attempt.token)));
  request.input = attempt.payload;
  request.error_bytes_kept = limits::error_text_bytes_max - preface_bytes_max;
  request.kill_grace = kill_grace;
  request.cancel = attempt.cancel;
  return request;
}

outcome outcome_of_process(process_end end) {
  if (end.output_too_large)
    return outcome::failed_permanently(
      "standard output passed the limit of " + std::to_string(limits::result_bytes_max) + " bytes");
  if (end.signal != 0)
    return outcome::failed(with_errors(killed_by(end.signal), end.error_text));
  if (end.exit_code == EX_OK)
    return outcome::completed(std::move(end.output));
  auto reason = with_errors("exit status " + std::to_string(end.exit_code), end.error_text);
  if (end.exit_code == EX_TEMPFAIL)
    return outcome::nack(std::move(reason));
  return outcome::failed(std::move(reason));
}

} // namespace

handler_function make_exec_handler(exec_command command, duration kill_grace) {
  auto pace = std::make_shared<observe::line_pace>(program_lines_per_second);
  return [command = std::move(command), kill_grace, pace](const task& attempt) {
    auto request = make_request(command, attempt, kill_grace);
    request.on_error_line = [&](std::string_view line) { log_line(*pace, attempt, line); };
    auto end = run_process(request);
    if (!end)
      return outcome::failed(to_string(end.error()));
    return outcome_of_process(std::move(*end));
  };
}

} // namespace codeq::worker
