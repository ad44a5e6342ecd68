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

/// A new directory in the system's temporary directory; removed with its content by the destructor.
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

/// Command line of a program, and the file for its output.
struct program {
  std::filesystem::path executable;
  std::vector<std::string> arguments;
  std::filesystem::path log;
};

/// A child process without input. The destructor kills and reaps it; the kernel kills it when the
/// thread that started it ends, so no child outlives a crash of the benchmark.
class child_process {
public:
  /// Errors: `unavailable` when no process could be created. If the executable cannot be run, the
  /// child ends with status 127.
  [[nodiscard]] static result<child_process> start(const program& what);

  ~child_process();
  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;

  [[nodiscard]] pid_t id() const noexcept { return id_; }

  /// False once it has ended; also reaps it then.
  [[nodiscard]] bool is_running();

  /// Sends a signal; does nothing when the process has ended.
  void signal(int number);

  /// Waits for its end and returns the exit status, or 128 + signal; empty when it still runs.
  [[nodiscard]] std::optional<int> wait_for(duration longest);

  /// CPU time of all its threads so far. Errors: `unavailable` when it has ended.
  [[nodiscard]] result<std::chrono::nanoseconds> cpu_time() const;

  /// Resident memory in bytes. Errors: `unavailable` when it has ended.
  [[nodiscard]] result<std::size_t> resident_bytes() const;

  /// Maximum of its resident memory so far. Errors: `unavailable` when it has ended.
  [[nodiscard]] result<std::size_t> peak_resident_bytes() const;

private:
  explicit child_process(pid_t id) : id_(id) {}

  void end() noexcept;

  pid_t id_ = 0;
  std::optional<int> status_;
};

/// The directory of this executable.
[[nodiscard]] std::filesystem::path executable_folder();

/// From now on SIGINT and SIGTERM end `pause` instead of the process, so that destructors run.
/// Child processes start with the default signal handling.
void hold_signals();

/// Sleeps; false when a held signal came first.
[[nodiscard]] bool pause(duration length);

} // namespace codeq::bench
