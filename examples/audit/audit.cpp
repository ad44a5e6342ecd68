// SPDX-License-Identifier: Apache-2.0
// Handles queue `audit` in batches: each payload is a line for the file named by CODEQ_AUDIT_FILE
// (default audit.log), and one fsync makes all lines of a batch durable. A line begins with the
// task's id and attempt, so that a reader can recognise a line that was written twice.
#include "codeq/handler.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr std::size_t batch_max = 64;

std::string audit_file() {
  const char* named = std::getenv("CODEQ_AUDIT_FILE");
  return named == nullptr ? "audit.log" : named;
}

/// Appends `lines` and syncs; returns 0 or the error number.
int append(const std::string& lines) {
  int file = open(audit_file().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    return errno;
  }
  bool done = write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size())
              && fdatasync(file) == 0;
  int reason = done ? 0 : errno;
  close(file);
  return reason;
}

/// One outcome for each task, in their order.
std::vector<codeq::outcome> write_lines(std::span<const codeq::task> tasks) {
  std::string lines;
  for (const auto& task : tasks) {
    lines += codeq::to_string(task.id) + " " + std::to_string(task.attempt) + " ";
    lines.append(task.payload.view()).append("\n");
  }
  if (int reason = append(lines); reason != 0) {
    return {tasks.size(), codeq::outcome::failed(audit_file() + ": " + std::strerror(reason))};
  }
  return {tasks.size(), codeq::outcome::completed()};
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle_batch("audit", batch_max, write_lines);
}
