// SPDX-License-Identifier: Apache-2.0
#include "worker/process/exec_spawn.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace codeq::worker {

namespace {

/// Exit status of a child whose program could not be executed; only this process sees it.
constexpr int not_executed = 127;

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

std::optional<pipe_ends> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return std::nullopt;
  return pipe_ends{unique_fd{ends[0]}, unique_fd{ends[1]}};
}

/// Everything that the child needs, prepared before the fork: in a process with threads, not even
/// memory may be allocated after it.
struct prepared {
  const char* path = nullptr;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  pid_t parent = 0;
  int input = -1;
  int output = -1;
  int errors = -1;
  /// Gets `errno` when the program cannot be executed; is closed by a successful exec.
  int failure = -1;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void reset_signals() {
  for (int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD})
    signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// The child's side; makes only calls that are safe after a fork.
[[noreturn]] void execute(const prepared& child) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl was called.
  if (getppid() != child.parent)
    _exit(not_executed);
  bool ready = dup2(child.input, STDIN_FILENO) >= 0 && dup2(child.output, STDOUT_FILENO) >= 0
               && dup2(child.errors, STDERR_FILENO) >= 0;
#ifdef SYS_close_range
  // Closes descriptors that a library opened without close-on-exec.
  constexpr unsigned close_on_exec = 1u << 2;
  syscall(SYS_close_range, 3u, ~0u, close_on_exec);
#endif
  reset_signals();
  if (ready)
    execve(child.path, child.arguments.data(), child.environment.data());
  int reason = errno;
  [[maybe_unused]] auto written = write(child.failure, &reason, sizeof reason);
  _exit(not_executed);
}

error cannot_start(const std::string& path, int reason) {
  return {errc::unavailable, "cannot start program " + path + ": " + std::strerror(reason)};
}

/// Waits until the program is executed. Returns `errno` of a failure, or 0.
int await_execution(const unique_fd& failure, pid_t pid) {
  int reason = 0;
  ssize_t count = 0;
  do
    count = read(failure.number(), &reason, sizeof reason);
  while (count < 0 && errno == EINTR);
  if (count <= 0)
    return 0;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return reason;
}

void make_non_blocking(const unique_fd& fd) {
  fcntl(fd.number(), F_SETFL, fcntl(fd.number(), F_GETFL) | O_NONBLOCK);
}

unique_fd open_pid(pid_t pid) {
#ifdef SYS_pidfd_open
  return unique_fd{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
#else
  return unique_fd{};
#endif
}

} // namespace

result<child_process> spawn_child(process_request request) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  auto failure = make_pipe();
  if (!input || !output || !errors || !failure)
    return cannot_start(request.path, errno);
  prepared child{
    request.path.c_str(),
    pointers_to(request.arguments),
    pointers_to(request.environment),
    getpid(),
    input->read.number(),
    output->write.number(),
    errors->write.number(),
    failure->write.number()};
  auto pid = fork();
  if (pid < 0)
    return cannot_start(request.path, errno);
  if (pid == 0)
    execute(child);
  // Both sides set the group, so that it exists whichever is first.
  setpgid(pid, pid);
  failure->write.reset();
  if (int reason = await_execution(failure->read, pid); reason != 0)
    return cannot_start(request.path, reason);
  make_non_blocking(input->write);
  make_non_blocking(output->read);
  make_non_blocking(errors->read);
  return child_process{
    pid, std::move(input->write), std::move(output->read), std::move(errors->read), open_pid(pid)};
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (std::string_view(*variable).substr(0, own_prefix.size()) != own_prefix)
      variables.emplace_back(*variable);
  return variables;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
    return info.si_pid == pid;
  return errno == ECHILD;
}

} // namespace codeq::worker
