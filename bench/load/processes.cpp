// SPDX-License-Identifier: Apache-2.0
#include "load/processes.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace codeq::bench {

namespace {

constexpr duration poll_interval{5};
constexpr int exit_not_runnable = 127;

error system_error(const std::string& what) {
  return {errc::unavailable, what + ": " + std::strerror(errno)};
}

sigset_t held_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

timespec to_timespec(duration length) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(length);
  const auto rest = std::chrono::nanoseconds(length - seconds);
  return {static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
}

/// Runs in the child between fork and exec: system calls only.
[[noreturn]] void become(const char* log, char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const sigset_t signals = held_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  const int output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (input >= 0 && output >= 0) {
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(arguments[0], arguments);
  }
  _exit(exit_not_runnable);
}

} // namespace

result<scratch_directory> scratch_directory::create() {
  std::string name = (std::filesystem::temp_directory_path() / "codeq-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return system_error(name);
  }
  return scratch_directory(std::filesystem::path(name));
}

scratch_directory::~scratch_directory() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

scratch_directory::scratch_directory(scratch_directory&& other) noexcept
  : path_(std::exchange(other.path_, {})) {
}

scratch_directory& scratch_directory::operator=(scratch_directory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

result<child_process> child_process::start(const program& what) {
  const std::string log = what.log.string();
  std::vector<std::string> texts{what.executable.string()};
  texts.insert(texts.end(), what.arguments.begin(), what.arguments.end());
  std::vector<char*> arguments;
  for (auto& text : texts) {
    arguments.push_back(text.data());
  }
  arguments.push_back(nullptr);
  const pid_t id = fork();
  if (id == 0) {
    become(log.c_str(), arguments.data());
  }
  if (id < 0) {
    return system_error("fork");
  }
  return child_process(id);
}

child_process::~child_process() {
  end();
}

child_process::child_process(child_process&& other) noexcept
  : id_(std::exchange(other.id_, 0)), status_(other.status_) {
}

child_process& child_process::operator=(child_process&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(status_, other.status_);
  return *this;
}

void child_process::end() noexcept {
  if (id_ != 0 && !status_) {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
}

bool child_process::is_running() {
  return !wait_for(duration::zero());
}

void child_process::signal(int number) {
  if (!status_) {
    kill(id_, number);
  }
}

std::optional<int> child_process::wait_for(duration longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  while (!status_) {
    int raw = 0;
    if (waitpid(id_, &raw, WNOHANG) == id_) {
      status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    } else if (std::chrono::steady_clock::now() >= deadline || !pause(poll_interval)) {
      return std::nullopt;
    }
  }
  return status_;
}

result<std::size_t> child_process::resident_bytes() const {
  std::ifstream file("/proc/" + std::to_string(id_) + "/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  if (!(file >> total >> resident))
    return error{errc::unavailable, "process " + std::to_string(id_) + " has ended"};
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

result<std::size_t> child_process::peak_resident_bytes() const {
  std::ifstream file("/proc/" + std::to_string(id_) + "/status");
  const std::string label = "VmHWM:";
  for (std::string line; std::getline(file, line);) {
    // The value is in kB.
    if (line.starts_with(label))
      return std::strtoull(line.c_str() + label.size(), nullptr, 10) << 10;
  }
  return error{errc::unavailable, "process " + std::to_string(id_) + " has ended"};
}

result<std::chrono::nanoseconds> child_process::cpu_time() const {
  clockid_t clock{};
  timespec used{};
  if (status_ || clock_getcpuclockid(id_, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return error{errc::unavailable, "process " + std::to_string(id_) + " has ended"};
  }
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::filesystem::path executable_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

void hold_signals() {
  const sigset_t signals = held_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

bool pause(duration length) {
  const sigset_t signals = held_signals();
  const timespec time = to_timespec(length);
  return sigtimedwait(&signals, nullptr, &time) < 0;
}

} // namespace codeq::bench
