// SPDX-License-Identifier: Apache-2.0
#include "worker/process/child.hpp"

#include "codeq/limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

namespace codeq::worker {

namespace {

/// Interval at which a running child is told the remaining time of its lease.
constexpr duration tell_lease_interval{1000};

constexpr std::size_t child_read_bytes = 64u << 10;
constexpr std::size_t error_bytes_kept = 4096;

} // namespace

child_inbox::child_inbox() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
}

void child_inbox::ring() {
  const std::uint64_t one = 1;
  [[maybe_unused]] auto written = write(wake_.number(), &one, sizeof one);
}

void child_inbox::cancel() {
  {
    std::lock_guard lock(mutex_);
    news_.cancelled = true;
  }
  ring();
}

void child_inbox::saved(std::uint64_t checkpoint, bool is_durable) {
  {
    std::lock_guard lock(mutex_);
    news_.saved.emplace_back(checkpoint, is_durable);
  }
  ring();
}

child_inbox::news child_inbox::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] auto seen = read(wake_.number(), &count, sizeof count);
  std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

child::child(child_process started) : process_(std::move(started)), printed_(error_bytes_kept) {
}

child::~child() {
  end();
}

std::optional<outcome> child::run(const task& attempt, duration kill_grace) {
  // Output since the end of the previous attempt belongs to that attempt.
  while (read_errors()) {
  }
  printed_.clear();
  ++number_;
  attempt_ = &attempt;
  kill_grace_ = kill_grace;
  answer_.reset();
  kill_at_.reset();
  inbox_ = std::make_shared<child_inbox>();
  attempt.cancel->on_request([inbox = inbox_] { inbox->cancel(); });
  send(make_attempt(attempt, number_));
  next_tell_ = clock::now() + tell_lease_interval;
  while (usable_ && !answer_)
    wait();
  return std::exchange(answer_, std::nullopt);
}

void child::wait() {
  std::array<pollfd, places> fds{};
  fds[input] = {outgoing_.empty() ? -1 : process_.input.number(), POLLOUT, 0};
  fds[output] = {process_.output.number(), POLLIN, 0};
  fds[errors] = {process_.errors.number(), POLLIN, 0};
  fds[wake] = {inbox_->number(), POLLIN, 0};
  fds[ended] = {process_.ended.number(), POLLIN, 0};
  if (poll(fds.data(), fds.size(), timeout_ms()) < 0)
    return;
  if (fds[input].revents != 0)
    write_some();
  if (fds[errors].revents != 0)
    read_errors();
  if (fds[output].revents != 0)
    read_output();
  if (fds[wake].revents != 0)
    take_news();
  if (fds[ended].revents != 0 || !process_.ended.is_open())
    look_at_end();
  tell_lease();
  if (kill_at_ && clock::now() >= *kill_at_)
    give_up("did not stop when it was told to");
}

int child::timeout_ms() const {
  auto next = kill_at_ ? std::min(*kill_at_, next_tell_) : next_tell_;
  auto left = std::max(std::chrono::ceil<duration>(next - clock::now()), duration{0});
  auto longest = process_.ended.is_open() ? left : std::min(left, duration{end_poll_ms});
  return static_cast<int>(longest.count());
}

void child::send(const to_child& message) {
  outgoing_ += with_length(message.body());
}

void child::write_some() {
  auto count = write(process_.input.number(), outgoing_.data(), outgoing_.size());
  if (count > 0)
    outgoing_.erase(0, static_cast<std::size_t>(count));
  else if (errno != EAGAIN && errno != EINTR)
    outgoing_.clear();
}

bool child::read_output() {
  std::array<char, child_read_bytes> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
  auto count = read(process_.output.number(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return false;
  if (count <= 0) {
    usable_ = false;
    return false;
  }
  incoming_.append({buffer.data(), static_cast<std::size_t>(count)});
  while (!answer_ && usable_) {
    auto message = incoming_.next();
    if (!message)
      give_up(to_string(message.error()));
    else if (*message)
      take(**message);
    else
      break;
  }
  return true;
}

bool child::read_errors() {
  std::array<char, child_read_bytes> buffer; // NOLINT(cppcoreguidelines-pro-type-member-init)
  auto count = read(process_.errors.number(), buffer.data(), buffer.size());
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
    process_.errors.reset();
  if (count <= 0)
    return false;
  printed_.append({buffer.data(), static_cast<std::size_t>(count)});
  // Output of a handler goes where the node's own log lines go.
  [[maybe_unused]] auto written =
    write(STDERR_FILENO, buffer.data(), static_cast<std::size_t>(count));
  return true;
}

void child::take_news() {
  auto news = inbox_->take();
  for (const auto& [checkpoint, is_durable] : news.saved)
    send(make_child_saved(checkpoint, is_durable, number_));
  if (!news.cancelled)
    return;
  send(make_child_cancel(number_));
  kill_at_ = clock::now() + kill_grace_;
}

void child::tell_lease() {
  auto now = clock::now();
  if (now < next_tell_)
    return;
  next_tell_ = now + tell_lease_interval;
  // A child that does not read its messages gets no further ones.
  if (outgoing_.empty())
    send(make_lease_left(attempt_->lease_remaining(), number_));
}

void child::look_at_end() {
  if (is_alive())
    return;
  // Processes that the child started may keep its end of the pipe open; everything that the child
  // itself wrote is in the pipe.
  while (usable_ && !answer_ && read_output()) {
  }
  usable_ = false;
}

void child::take(const bytes& body) {
  auto message = from_child::parse(body);
  if (!message)
    return give_up(to_string(message.error()));
  auto taken =
    message->read([this](schema::FromChild::Reader root) -> result<void> { return take(root); });
  if (!taken)
    give_up(to_string(taken.error()));
}

result<void> child::take(schema::FromChild::Reader message) {
  // A thread of the handler may still send messages for an attempt that has ended.
  if (message.getNumber() != number_)
    return {};
  switch (message.which()) {
  case schema::FromChild::OUTCOME: {
    auto ended = read_child_outcome(message.getOutcome());
    if (!ended)
      return ended.error();
    answer_ = std::move(*ended);
    return {};
  }
  case schema::FromChild::PROGRESS: {
    auto note = message.getProgress().getNote().asChars();
    attempt_->progress(
      std::min<int>(message.getProgress().getPercent(), 100), {note.begin(), note.size()});
    return {};
  }
  case schema::FromChild::EXTEND_MS:
    attempt_->extend(duration{static_cast<duration::rep>(message.getExtendMs())});
    return {};
  case schema::FromChild::CHECKPOINT:
    return take_checkpoint(message.getCheckpoint());
  case schema::FromChild::LOG:
    attempt_->log({message.getLog().asChars().begin(), message.getLog().size()});
    return {};
  }
  return error{errc::protocol_error, "the child said something unknown"};
}

result<void> child::take_checkpoint(schema::FromChild::Checkpoint::Reader saved) {
  auto data = saved.getData().asChars();
  if (data.size() > limits::checkpoint_bytes_max)
    return error{errc::protocol_error, "the child saved more than a checkpoint may have"};
  checkpoint_saved then;
  if (auto answered_as = saved.getNumber(); answered_as != 0)
    then = [inbox = inbox_, answered_as](bool is_durable) {
      inbox->saved(answered_as, is_durable);
    };
  attempt_->save_checkpoint({data.begin(), data.size()}, std::move(then));
  return {};
}

void child::give_up(std::string fault) {
  fault_ = std::move(fault);
  usable_ = false;
}

int child::end() {
  if (process_.pid < 0)
    return 0;
  // Does not change the exit status of a process that has ended; also kills what it started.
  kill(-process_.pid, SIGKILL);
  int status = 0;
  while (waitpid(process_.pid, &status, 0) < 0 && errno == EINTR) {
  }
  process_.pid = -1;
  return status;
}

std::string child::how_it_ended() {
  auto status = end();
  while (read_errors()) {
  }
  std::string text = "the handler's process ";
  if (!fault_.empty())
    text += fault_ + " and was killed";
  else if (WIFSIGNALED(status))
    text += "was " + killed_by(WTERMSIG(status));
  else
    text += "exited with status " + std::to_string(WEXITSTATUS(status));
  return with_errors(std::move(text), printed_.text());
}

} // namespace codeq::worker
