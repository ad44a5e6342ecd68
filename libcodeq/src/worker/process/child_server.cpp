// SPDX-License-Identifier: Apache-2.0
#include "worker/handlers/attempt_line.hpp"
#include "worker/handlers/call_handler.hpp"
#include "worker/node/report.hpp"
#include "worker/process/child_handler.hpp"
#include "worker/process/child_messages.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::worker {

namespace {

constexpr std::size_t server_read_bytes = 64u << 10;

/// Writes whole messages; thread-safe.
class parent_link {
public:
  explicit parent_link(int to) : to_(to) {}

  void send(const from_child& message) {
    auto data = with_length(message.body());
    std::lock_guard lock(mutex_);
    for (std::size_t at = 0; at < data.size();) {
      auto count = write(to_, data.data() + at, data.size() - at);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return;
      at += static_cast<std::size_t>(count);
    }
  }

private:
  const int to_;
  std::mutex mutex_;
};

/// The runtime of a task in a child process.
class child_runtime final : public attempt_runtime {
public:
  child_runtime(std::shared_ptr<parent_link> parent, std::uint64_t number)
    : parent_(std::move(parent)), number_(number) {}

  void set_remaining(duration left) { until_.store((now() + left).count()); }

  [[nodiscard]] duration lease_remaining() const override {
    return std::max(duration{until_.load()} - now(), duration{0});
  }

  void progress(int percent, std::string note) override {
    parent_->send(make_child_progress(percent, cut_note(std::move(note)), number_));
  }

  void extend(duration by) override { parent_->send(make_child_extension(by, number_)); }

  void log(std::string_view line) override {
    parent_->send(make_child_log(line.substr(0, limits::payload_bytes_max), number_));
  }

  void save_checkpoint(std::string state, checkpoint_saved then) override {
    std::uint64_t answered_as = 0;
    if (then) {
      std::lock_guard lock(mutex_);
      answered_as = ++waited_for_;
      waiting_.emplace(answered_as, std::move(then));
    }
    parent_->send(make_child_checkpoint(state, answered_as, number_));
  }

  void saved(std::uint64_t checkpoint, bool is_durable) {
    checkpoint_saved then;
    {
      std::lock_guard lock(mutex_);
      if (auto found = waiting_.extract(checkpoint); !found.empty())
        then = std::move(found.mapped());
    }
    if (then)
      then(is_durable);
  }

private:
  static duration now() {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<duration>(since);
  }

  const std::shared_ptr<parent_link> parent_;
  const std::uint64_t number_;
  std::atomic<duration::rep> until_{0};
  std::mutex mutex_;
  std::uint64_t waited_for_ = 0;
  std::map<std::uint64_t, checkpoint_saved> waiting_;
};

/// Reads the parent's messages while another thread runs the handler.
class child_server {
public:
  child_server(const handler_function& function, int to)
    : function_(function), parent_(std::make_shared<parent_link>(to)) {}

  void take(const bytes& body) {
    auto message = to_child::parse(body);
    if (!message)
      return;
    static_cast<void>(message->read([this](schema::ToChild::Reader root) -> result<void> {
      if (root.isAttempt())
        begin(root.getAttempt(), root.getNumber());
      else if (root.getNumber() != number_)
        return {};
      else if (root.isCancel())
        running_.cancel->request();
      else if (root.isSaved())
        runtime_->saved(root.getSaved().getCheckpoint(), root.getSaved().getIsDurable());
      else if (root.isLeaseMs())
        runtime_->set_remaining(duration{static_cast<duration::rep>(root.getLeaseMs())});
      return {};
    }));
  }

private:
  void begin(schema::ToChild::Attempt::Reader from, std::uint64_t number) {
    if (thread_.joinable())
      thread_.join();
    number_ = number;
    runtime_ = std::make_shared<child_runtime>(parent_, number);
    runtime_->set_remaining(duration{static_cast<duration::rep>(from.getRemainingMs())});
    running_ = read_attempt(from);
    running_.cancel = std::make_shared<cancellation>();
    running_.runtime = runtime_;
    thread_ = std::thread([this, attempt = running_, number] {
      auto ended = within_limits(call_handler(function_, attempt));
      parent_->send(make_child_outcome(ended, number));
    });
  }

  const handler_function& function_;
  std::shared_ptr<parent_link> parent_;
  /// Number of the latest attempt; the parent counts from 1.
  std::uint64_t number_ = 0;
  task running_;
  std::shared_ptr<child_runtime> runtime_;
  std::thread thread_;
};

} // namespace

void serve_parent(const handler_function& function, int input, int output) {
  // The handler's output must not be mistaken for messages to the parent. Processes that it starts
  // must not keep the pipes open, nor use them.
  int from = fcntl(input, F_DUPFD_CLOEXEC, 0);
  int to = fcntl(output, F_DUPFD_CLOEXEC, 0);
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, input);
  close(nothing);
  dup2(STDERR_FILENO, output);
  child_server server(function, to);
  message_buffer incoming;
  std::array<char, server_read_bytes> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    auto count = read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    // The parent has ended, so no one waits for an answer: a handler that still runs must not keep
    // this process alive.
    if (count <= 0)
      _exit(0);
    incoming.append({buffer.data(), static_cast<std::size_t>(count)});
    auto message = incoming.next();
    for (; message && *message; message = incoming.next())
      server.take(**message);
    if (!message)
      _exit(1);
  }
}

} // namespace codeq::worker
