// SPDX-License-Identifier: Apache-2.0
#include "worker/child_handler.hpp"

#include "worker/child_messages.hpp"
#include "worker/exec_spawn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

namespace codeq::worker {

namespace {

using clock = std::chrono::steady_clock;

/// How often a running child is told how long its lease is valid.
constexpr int tell_lease_ms = 1000;

constexpr std::size_t read_bytes = 64u << 10;
constexpr std::size_t error_bytes_kept = 4096;

/// One child process, used by one slot at a time.
class child {
public:
  explicit child(child_process started) : process_(std::move(started)) {}

  ~child() { end(); }

  child(const child&) = delete;
  child& operator=(const child&) = delete;

  /// Runs one attempt. Empty when the child is of no use any more: see `how_it_ended`.
  std::optional<outcome> run(const task& attempt, duration kill_grace);

  /// Kills what is left and says how the child ended.
  std::string how_it_ended();

private:
  enum place { input, output, errors, wake, places };

  void wait();
  void write_some();
  void read_output();
  void read_errors();
  void take(const bytes& body);
  int end();

  child_process process_;
  message_buffer incoming_;
  std::string outgoing_;
  std::string errors_;
  std::shared_ptr<unique_fd> wake_;
  const task* attempt_ = nullptr;
  duration kill_grace_{0};
  std::optional<clock::time_point> kill_at_;
  std::optional<outcome> answer_;
  bool usable_ = true;
  std::string fault_;
};

std::optional<outcome> child::run(const task& attempt, duration kill_grace) {
  attempt_ = &attempt;
  kill_grace_ = kill_grace;
  answer_.reset();
  kill_at_.reset();
  wake_ = std::make_shared<unique_fd>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // The action may outlive this run: it holds the descriptor.
  attempt.cancel->on_request([wake = wake_] {
    const std::uint64_t one = 1;
    [[maybe_unused]] auto written = write(wake->number(), &one, sizeof one);
  });
  outgoing_ += with_length(make_attempt(attempt).body());
  while (usable_ && !answer_)
    wait();
  return std::exchange(answer_, std::nullopt);
}

void child::wait() {
  std::array<pollfd, places> fds{};
  fds[input] = {outgoing_.empty() ? -1 : process_.input.number(), POLLOUT, 0};
  fds[output] = {process_.output.number(), POLLIN, 0};
  fds[errors] = {process_.errors.number(), POLLIN, 0};
  fds[wake] = {wake_->number(), POLLIN, 0};
  if (poll(fds.data(), fds.size(), tell_lease_ms) < 0)
    return;
  if (fds[input].revents != 0)
    write_some();
  if (fds[errors].revents != 0)
    read_errors();
  if (fds[output].revents != 0)
    read_output();
  if (fds[wake].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] auto seen = read(wake_->number(), &count, sizeof count);
    outgoing_ += with_length(make_child_cancel().body());
    kill_at_ = clock::now() + kill_grace_;
  } else if (outgoing_.empty()) {
    outgoing_ += with_length(make_lease_left(attempt_->lease_remaining()).body());
  }
  if (kill_at_ && clock::now() >= *kill_at_) {
    fault_ = "did not stop when it was told to";
    usable_ = false;
  }
}

void child::write_some() {
  auto count = write(process_.input.number(), outgoing_.data(), outgoing_.size());
  if (count > 0)
    outgoing_.erase(0, static_cast<std::size_t>(count));
  else if (errno != EAGAIN && errno != EINTR)
    outgoing_.clear();
}

void child::read_output() {
  std::array<char, read_bytes> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
  auto count = read(process_.output.number(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (count <= 0) {
    usable_ = false;
    return;
  }
  incoming_.append({buffer.data(), static_cast<std::size_t>(count)});
  while (!answer_) {
    auto message = incoming_.next();
    if (!message) {
      fault_ = to_string(message.error());
      usable_ = false;
      return;
    }
    if (!*message)
      return;
    take(**message);
  }
}

void child::take(const bytes& body) {
  auto message = from_child::parse(body);
  auto taken = message ? message->read([this](schema::FromChild::Reader root) -> result<void> {
    switch (root.which()) {
    case schema::FromChild::OUTCOME: {
      auto ended = read_child_outcome(root.getOutcome());
      if (!ended)
        return ended.error();
      answer_ = std::move(*ended);
      return {};
    }
    case schema::FromChild::PROGRESS: {
      auto note = root.getProgress().getNote().asChars();
      attempt_->progress(
        std::min<int>(root.getProgress().getPercent(), 100), {note.begin(), note.size()});
      return {};
    }
    case schema::FromChild::EXTEND_MS:
      attempt_->extend(duration{static_cast<duration::rep>(root.getExtendMs())});
      return {};
    case schema::FromChild::LOG:
      attempt_->log({root.getLog().asChars().begin(), root.getLog().size()});
      return {};
    }
    return error{errc::protocol_error, "the child said something unknown"};
  })
                       : result<void>{message.error()};
  if (!taken) {
    fault_ = to_string(taken.error());
    usable_ = false;
  }
}

void child::read_errors() {
  std::array<char, read_bytes> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
  auto count = read(process_.errors.number(), buffer.data(), buffer.size());
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
    process_.errors.reset();
  if (count <= 0)
    return;
  errors_.append(buffer.data(), static_cast<std::size_t>(count));
  if (errors_.size() > error_bytes_kept)
    errors_.erase(0, errors_.size() - error_bytes_kept);
  // What a handler prints belongs where the node's own lines go.
  [[maybe_unused]] auto written =
    write(STDERR_FILENO, buffer.data(), static_cast<std::size_t>(count));
}

int child::end() {
  if (process_.pid < 0)
    return 0;
  // Of no effect on how a process ends that is ending already; what it started goes with it.
  kill(-process_.pid, SIGKILL);
  int status = 0;
  while (waitpid(process_.pid, &status, 0) < 0 && errno == EINTR) {
  }
  process_.pid = -1;
  return status;
}

std::string child::how_it_ended() {
  auto status = end();
  while (process_.errors.is_open()) {
    auto before = errors_.size();
    read_errors();
    if (errors_.size() == before)
      break;
  }
  std::string text = "the handler's process ";
  if (!fault_.empty())
    text += fault_ + " and was killed";
  else if (WIFSIGNALED(status))
    text += "was killed by signal " + std::to_string(WTERMSIG(status)) + " ("
            + strsignal(WTERMSIG(status)) + ")";
  else
    text += "exited with status " + std::to_string(WEXITSTATUS(status));
  auto last = errors_.find_last_not_of("\r\n");
  return last == std::string::npos ? text : text + ": " + errors_.substr(0, last + 1);
}

/// A child that died would end this process otherwise. The calling thread is a slot's.
void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

/// The children of one queue that have nothing to do.
class child_pool {
public:
  child_pool(child_command command, duration kill_grace)
    : command_(std::move(command)), kill_grace_(kill_grace) {}

  outcome run(const task& attempt) {
    block_sigpipe();
    auto taken = take();
    if (!taken)
      return outcome::nack(to_string(taken.error()));
    auto answer = (*taken)->run(attempt, kill_grace_);
    if (!answer)
      return outcome::failed((*taken)->how_it_ended());
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(*taken));
    return std::move(*answer);
  }

private:
  result<std::unique_ptr<child>> take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto kept = std::move(idle_.back());
        idle_.pop_back();
        return kept;
      }
    }
    process_request request;
    request.path = command_.program;
    request.arguments = {command_.program, "--isolated", command_.queue};
    for (const auto& library : command_.libraries) {
      request.arguments.push_back("--handlers");
      request.arguments.push_back(library);
    }
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
      if (std::string_view(*variable).substr(0, 6) != "CODEQ_")
        request.environment.emplace_back(*variable);
    auto started = spawn_child(request);
    if (!started)
      return started.error();
    return std::make_unique<child>(std::move(*started));
  }

  const child_command command_;
  const duration kill_grace_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<child>> idle_;
};

} // namespace

handler_function make_child_handler(child_command command, duration kill_grace) {
  auto pool = std::make_shared<child_pool>(std::move(command), kill_grace);
  return [pool](const task& attempt) { return pool->run(attempt); };
}

} // namespace codeq::worker
