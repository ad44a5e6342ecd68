// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/backup_runner.hpp"

#include "base/clock.hpp"
#include "observe/log.hpp"

namespace codeq::coordinator {

backup_runner::backup_runner(backup_options options) : options_(std::move(options)) {
  read_list();
}

void backup_runner::read_list() {
  if (options_.directory.empty())
    return;
  auto found = options_.store->list_backups(options_.directory);
  if (!found)
    CODEQ_LOG_WARN(
      "coordinator cannot list the backups directory={} reason=\"{}\"",
      options_.directory.string(),
      to_string(found.error()));
  std::lock_guard lock{mutex_};
  list_.clear();
  for (const auto& backup : found ? *found : std::vector<storage::backup_report>())
    list_.push_back({backup.number, backup.at, backup.bytes, backup.files});
}

void backup_runner::stop() {
  std::thread running;
  {
    std::lock_guard lock{mutex_};
    progress_.is_cancelled = true;
    running = std::move(thread_);
  }
  if (running.joinable())
    running.join();
}

result<backup_status> backup_runner::carry_out(const backup_wish& wish) {
  std::uint64_t number = 0;
  if (wish.hold && options_.hold) {
    const auto now = base::system_clock(timestamp{}).now().steady;
    if (*wish.hold > duration{0})
      number = options_.hold->extend(now + *wish.hold, now);
    else
      options_.hold->end();
  }
  auto status = wish.starts ? start(wish.run) : result<backup_status>(this->status());
  if (status) {
    status->hold = number;
    status->node = options_.node;
  }
  return status;
}

error backup_runner::refusal(errc code, const std::string& why) const {
  const auto who = options_.node.empty() ? "the coordinator" : "coordinator " + options_.node;
  return {code, who + " " + why};
}

result<backup_status> backup_runner::start(std::uint64_t run) {
  std::lock_guard lock{mutex_};
  if (options_.directory.empty())
    return refusal(errc::unsupported, "was started without --backup-dir");
  if (run != 0 && run == run_)
    return status_;
  if (status_.state == backup_state::running)
    return refusal(errc::already, "is making a backup already");
  if (progress_.is_cancelled)
    return refusal(errc::going_away, "is stopping");
  // The previous backup has ended; its thread only has to exit.
  if (thread_.joinable())
    thread_.join();
  status_ = {};
  status_.state = backup_state::running;
  run_ = run;
  progress_.is_fixed = false;
  thread_ = std::thread([this, run] { this->run(run); });
  return status_;
}

backup_status backup_runner::status() const {
  std::lock_guard lock{mutex_};
  auto status = status_;
  status.is_fixed = progress_.is_fixed;
  return status;
}

result<std::vector<backup_info>> backup_runner::list() const {
  std::lock_guard lock{mutex_};
  if (options_.directory.empty())
    return refusal(errc::unsupported, "was started without --backup-dir");
  return list_;
}

void backup_runner::run(std::uint64_t number) {
  auto directory = options_.directory.string();
  CODEQ_LOG_INFO("coordinator begins a backup directory={}", directory);
  auto report = options_.store->back_up({options_.directory, options_.kept, number}, progress_);
  if (report)
    CODEQ_LOG_INFO(
      "coordinator took a backup directory={} number={} bytes={} files={}",
      directory,
      report->number,
      report->bytes,
      report->files);
  else
    CODEQ_LOG_WARN("backup fails directory={} reason=\"{}\"", directory, to_string(report.error()));
  failures_ += report ? 0 : 1;
  read_list();
  std::lock_guard lock{mutex_};
  status_.state = report ? backup_state::done : backup_state::failed;
  if (report) {
    status_.number = report->number;
    status_.bytes = report->bytes;
    status_.files = report->files;
  } else {
    status_.problem = to_string(report.error());
  }
}

} // namespace codeq::coordinator
