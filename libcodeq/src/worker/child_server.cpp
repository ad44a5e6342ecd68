// SPDX-License-Identifier: Apache-2.0
#include "worker/call_handler.hpp"
#include "worker/child_handler.hpp"
#include "worker/child_messages.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::worker {

namespace {

constexpr std::size_t read_bytes = 64u << 10;

/// Writes whole messages, from any thread.
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

/// What the verbs of a task reach in a child.
class child_runtime final : public attempt_runtime {
public:
  explicit child_runtime(std::shared_ptr<parent_link> parent) : parent_(std::move(parent)) {}

  void set_remaining(duration left) { until_.store((now() + left).count()); }

  [[nodiscard]] duration lease_remaining() const override {
    return std::max(duration{until_.load()} - now(), duration{0});
  }

  void progress(int percent, std::string note) override {
    note.resize(std::min(note.size(), limits::payload_bytes_max));
    parent_->send(make_child_progress(percent, note));
  }

  void extend(duration by) override { parent_->send(make_child_extension(by)); }

  void log(std::string_view line) override { parent_->send(make_child_log(line)); }

private:
  static duration now() {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<duration>(since);
  }

  std::shared_ptr<parent_link> parent_;
  std::atomic<duration::rep> until_{0};
};

outcome call(const handler_function& function, const task& attempt) {
  auto ended = call_handler(function, attempt);
  if (ended.follow_ups().empty())
    return ended;
  return outcome::failed_permanently(
    "a handler with isolation process cannot add follow-ups; use isolation thread");
}

/// Reads what the parent says while a thread of its own runs the handler.
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
        begin(root.getAttempt());
      else if (root.isCancel())
        running_.cancel->request();
      else if (root.isLeaseMs())
        runtime_->set_remaining(duration{static_cast<duration::rep>(root.getLeaseMs())});
      return {};
    }));
  }

private:
  void begin(schema::ToChild::Attempt::Reader from) {
    if (thread_.joinable())
      thread_.join();
    runtime_ = std::make_shared<child_runtime>(parent_);
    runtime_->set_remaining(duration{static_cast<duration::rep>(from.getRemainingMs())});
    running_ = read_attempt(from);
    running_.cancel = std::make_shared<cancellation>();
    running_.runtime = runtime_;
    thread_ = std::thread(
      [this, attempt = running_] { parent_->send(make_child_outcome(call(function_, attempt))); });
  }

  const handler_function& function_;
  std::shared_ptr<parent_link> parent_;
  task running_;
  std::shared_ptr<child_runtime> runtime_;
  std::thread thread_;
};

} // namespace

void serve_parent(const handler_function& function, int input, int output) {
  // A handler that prints must not speak to the parent in our name.
  int from = dup(input);
  int to = dup(output);
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, input);
  dup2(STDERR_FILENO, output);
  child_server server(function, to);
  message_buffer incoming;
  std::array<char, read_bytes> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    auto count = read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    // The parent is gone, and with it whoever waits for an answer: a handler that still runs must
    // not keep this process.
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
