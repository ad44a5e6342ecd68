// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace codeq::bench {

/// A fresh directory below the system's temporary one; removed with all it holds.
class scratch_directory {
public:
  /// Errors: `unavailable`.
  [[nodiscard]] static result<scratch_directory> create();

  ~scratch_directory();
  scratch_directory(scratch_directory&& other) noexcept;
  scratch_directory& operator=(scratch_directory&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
  explicit scratch_directory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

/// What to run, and where its output goes.
struct program {
  std::filesystem::path executable;
  std::vector<std::string> arguments;
  std::filesystem::path log;
};

/// A child process without input. Killed and collected when this is destroyed; the kernel kills it
/// when the thread that started it ends, so none outlives a crash of ours.
class child_process {
public:
  /// Errors: `unavailable` when no process could be made; an executable that cannot be run ends
  /// with status 127.
  [[nodiscard]] static result<child_process> start(const program& what);

  ~child_process();
  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;

  [[nodiscard]] pid_t id() const noexcept { return id_; }

  /// False once it has ended, which also collects it.
  [[nodiscard]] bool is_running();

  /// Sends a signal; nothing happens when it has ended.
  void signal(int number);

  /// Waits for its end; the exit status, 128 + signal, or empty when it still runs.
  [[nodiscard]] std::optional<int> wait_for(duration longest);

  /// What all its threads have used so far. Errors: `unavailable` when it has ended.
  [[nodiscard]] result<std::chrono::nanoseconds> cpu_time() const;

  /// Bytes of memory in use. Errors: `unavailable` when it has ended.
  [[nodiscard]] result<std::size_t> resident_bytes() const;

  /// The most of it at any time so far. Errors: `unavailable` when it has ended.
  [[nodiscard]] result<std::size_t> peak_resident_bytes() const;

private:
  explicit child_process(pid_t id) : id_(id) {}

  void end() noexcept;

  pid_t id_ = 0;
  std::optional<int> status_;
};

/// The folder of this executable.
[[nodiscard]] std::filesystem::path executable_folder();

/// From now on SIGINT and SIGTERM end `pause` instead of the process, so that destructors run.
/// Children start with the signals as usual.
void hold_signals();

/// Sleeps; false when a held signal came first. Errors never.
[[nodiscard]] bool pause(duration length);

} // namespace codeq::bench
