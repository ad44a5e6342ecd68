// SPDX-License-Identifier: Apache-2.0
#include "worker/handlers/attempt_line.hpp"

#include "codeq/limits.hpp"

#include "observe/log.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace codeq::worker {

namespace {

constexpr std::string_view cut_mark = "... [cut]";

} // namespace

std::string cut_note(std::string text) {
  if (text.size() <= limits::progress_note_bytes_max)
    return text;
  text.resize(limits::progress_note_bytes_max - cut_mark.size());
  text.append(cut_mark);
  return text;
}

attempt_line::attempt_line(subject about, std::shared_ptr<wake_signal> wake)
  : about_(std::move(about)), wake_(std::move(wake)) {
}

duration attempt_line::lease_remaining() const {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  auto now = std::chrono::duration_cast<duration>(since).count();
  return duration{std::max<duration::rep>(valid_until_.load() - now, 0)};
}

void attempt_line::progress(int percent, std::string note) {
  {
    std::lock_guard lock(mutex_);
    said_.progressed = true;
    said_.line = progress_line{percent, cut_note(std::move(note))};
  }
  wake_->raise();
}

void attempt_line::extend(duration by) {
  {
    std::lock_guard lock(mutex_);
    said_.progressed = true;
    said_.extend = by;
  }
  wake_->raise();
}

void attempt_line::log(std::string_view line) {
  CODEQ_LOG_INFO(
    "handler says task={} queue={} attempt={} token={} text=\"{}\"",
    to_string(about_.id),
    about_.queue,
    about_.attempt,
    value(about_.token),
    line);
}

void attempt_line::save_checkpoint(std::string state, checkpoint_saved then) {
  unsaved_.save(std::move(state), std::move(then));
  {
    std::lock_guard lock(mutex_);
    said_.progressed = true;
  }
  wake_->raise();
}

void attempt_line::set_valid_until(monotonic_time until) {
  valid_until_.store(until.time_since_epoch().count());
}

attempt_said attempt_line::take() {
  std::lock_guard lock(mutex_);
  auto said = std::exchange(said_, {});
  said.checkpoint = unsaved_.take();
  // A new connection is told of the progress again, since the earlier one may have lost it.
  said.progressed = said.progressed || (said.checkpoint && !said.checkpoint->is_repeated);
  return said;
}

} // namespace codeq::worker
