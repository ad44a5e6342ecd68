// SPDX-License-Identifier: Apache-2.0
#include "worker/process/exec_process.hpp"

#include "worker/process/exec_spawn.hpp"
#include "worker/process/process_text.hpp"
#include "worker/process/sigpipe.hpp"
#include "worker/process/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

namespace codeq::worker {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t output_read_bytes = 64u << 10;

constexpr std::size_t error_line_bytes_max = 1024;

/// Maximum number of reads from a pipe before other events are handled, so that a program that
/// writes without end can still be stopped. Together they can read the whole capacity of a pipe.
constexpr int reads_per_turn = 16;

/// Supervises one program from start to end.
class supervision {
public:
  supervision(
    const process_request& request, child_process child, std::shared_ptr<unique_fd> wake_up)
    : request_(request),
      child_(std::move(child)),
      wake_(std::move(wake_up)),
      errors_(request.error_bytes_kept),
      error_lines_(error_line_bytes_max, request.on_error_line) {}

  result<process_end> run() {
    // The action may run after this run has ended, so it shares ownership of the descriptor.
    request_.cancel->on_request([wake = wake_] {
      const std::uint64_t one = 1;
      [[maybe_unused]] auto written = write(wake->number(), &one, sizeof one);
    });
    while (!has_ended(child_.pid))
      wait();
    // Kills the rest of the process group. The leader is not reaped yet, so its number cannot have
    // been reused.
    if (!was_reaped())
      kill(-child_.pid, SIGKILL);
    if (!reap())
      return error{
        errc::unavailable, "the end of the program is unknown: this process ignores SIGCHLD"};
    read_output();
    read_errors();
    if (request_.on_error_line)
      error_lines_.finish();
    end_.error_text = errors_.text();
    return std::move(end_);
  }

private:
  enum place { input, output, errors, wake, ended, places };

  void wait() {
    std::array<pollfd, places> fds{};
    fds[input] = {child_.input.number(), POLLOUT, 0};
    fds[output] = {child_.output.number(), POLLIN, 0};
    fds[errors] = {child_.errors.number(), POLLIN, 0};
    fds[wake] = {wake_->number(), POLLIN, 0};
    fds[ended] = {child_.ended.number(), POLLIN, 0};
    if (poll(fds.data(), fds.size(), timeout_ms()) < 0)
      return;
    if (fds[input].revents != 0)
      write_input();
    if (fds[output].revents != 0)
      read_output();
    if (fds[errors].revents != 0)
      read_errors();
    if (fds[wake].revents != 0)
      stop();
    if (kill_at_ && clock::now() >= *kill_at_)
      kill_now();
  }

  [[nodiscard]] int timeout_ms() const {
    int longest = child_.ended.is_open() ? -1 : end_poll_ms;
    if (!kill_at_)
      return longest;
    auto left = std::chrono::ceil<duration>(*kill_at_ - clock::now()).count();
    auto until_kill = static_cast<int>(std::max<duration::rep>(left, 0));
    return longest < 0 ? until_kill : std::min(longest, until_kill);
  }

  /// True when the kernel has reaped the process, as it does when this process ignores SIGCHLD.
  [[nodiscard]] bool was_reaped() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) < 0;
  }

  void write_input() {
    auto rest = request_.input.view().substr(written_);
    auto count = rest.empty() ? 0 : write(child_.input.number(), rest.data(), rest.size());
    if (count > 0)
      written_ += static_cast<std::size_t>(count);
    bool failed = count < 0 && errno != EAGAIN && errno != EINTR;
    // A program may end, or close its input, without reading all of it.
    if (failed || written_ == request_.input.size())
      child_.input.reset();
  }

  template <class Take>
  void read_all(unique_fd& from, Take take) {
    std::array<char, output_read_bytes> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
    for (int i = 0; i < reads_per_turn && from.is_open(); ++i) {
      auto count = read(from.number(), buffer.data(), buffer.size());
      if (count > 0)
        take(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
      else if (count < 0 && errno == EINTR)
        continue;
      else if (count < 0 && errno == EAGAIN)
        return;
      else
        from.reset();
    }
  }

  void read_output() {
    read_all(child_.output, [this](std::string_view text) {
      if (end_.output.size() + text.size() > request_.output_bytes_max) {
        end_.output_too_large = true;
        child_.output.reset();
        kill_now();
      } else {
        end_.output.append(text);
      }
    });
  }

  void read_errors() {
    read_all(child_.errors, [this](std::string_view text) {
      errors_.append(text);
      if (request_.on_error_line)
        error_lines_.append(text);
    });
  }

  void stop() {
    std::uint64_t count = 0;
    [[maybe_unused]] auto seen = read(wake_->number(), &count, sizeof count);
    kill(-child_.pid, SIGTERM);
    kill_at_ = clock::now() + request_.kill_grace;
  }

  void kill_now() {
    kill_at_.reset();
    if (!reaped_)
      kill(-child_.pid, SIGKILL);
  }

  /// False when the exit status cannot be determined any more.
  bool reap() {
    int status = 0;
    pid_t found = -1;
    do
      found = waitpid(child_.pid, &status, 0);
    while (found < 0 && errno == EINTR);
    reaped_ = true;
    if (found < 0)
      return false;
    if (WIFSIGNALED(status))
      end_.signal = WTERMSIG(status);
    else
      end_.exit_code = WEXITSTATUS(status);
    return true;
  }

  const process_request& request_;
  child_process child_;
  std::shared_ptr<unique_fd> wake_;
  tail errors_;
  line_reader error_lines_;
  std::size_t written_ = 0;
  std::optional<clock::time_point> kill_at_;
  bool reaped_ = false;
  process_end end_;
};

} // namespace

result<process_end> run_process(const process_request& request) {
  without_sigpipe masked;
  auto wake = std::make_shared<unique_fd>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake->is_open())
    return error{
      errc::unavailable, "cannot start program " + request.path + ": " + std::strerror(errno)};
  auto child = spawn_child(request);
  if (!child)
    return child.error();
  return supervision(request, std::move(*child), std::move(wake)).run();
}

} // namespace codeq::worker
