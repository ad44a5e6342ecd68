// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/disk_reserve.hpp"

#include "base/tuning.hpp"
#include "observe/log.hpp"

#include <algorithm>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace codeq::coordinator {

namespace fs = std::filesystem;

namespace {

result<std::uint64_t> available_at(const fs::path& directory) {
  std::error_code why;
  auto space = fs::space(directory, why);
  if (why)
    return error{
      errc::disk_full, "the space on the coordinator's disk is unknown: " + why.message()};
  return std::uint64_t{space.available};
}

} // namespace

disk_reserve::disk_reserve(const fs::path& directory, std::uint64_t bytes)
  : file_(directory / "reserve"), bytes_(bytes) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  auto size = fs::file_size(file_, failure);
  is_held_ = !failure && size >= bytes_;
  was_released_ = !failure && size < bytes_;
}

result<std::uint64_t> disk_reserve::room() const {
  auto available = available_at(file_.parent_path());
  if (!available)
    return available;
  // The journal needs some, too.
  return *available - std::min(*available, tuning::disk_reserve_release_bytes);
}

result<std::uint64_t> disk_reserve::usable() {
  std::lock_guard lock{mutex_};
  auto found = available_at(file_.parent_path());
  if (!found)
    return found;
  auto available = *found;
  if (is_held_ && available < tuning::disk_reserve_release_bytes && release())
    CODEQ_LOG_WARN(
      "disk reserve is given up because the disk is full bytes={} free={} advice=\"make space on "
      "the disk, or purge tasks\"",
      bytes_,
      available);
  else if (!is_held_ && !is_lent_ && available >= bytes_ + 2 * tuning::disk_reserve_release_bytes)
    create();
  else if (!is_held_ && was_released_)
    return available > bytes_ ? available - bytes_ : 0;
  return available;
}

std::uint64_t disk_reserve::least(std::uint64_t wanted) const {
  std::lock_guard lock{mutex_};
  // The bytes of a released reserve do not count as usable.
  if (wanted == 0 || is_held_ || was_released_)
    return wanted;
  return std::max(wanted, purge_room_bytes);
}

std::uint64_t disk_reserve::held() const {
  std::lock_guard lock{mutex_};
  return is_held_ ? bytes_ : 0;
}

void disk_reserve::create() {
  int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  is_held_ = ::posix_fallocate(file, 0, static_cast<off_t>(bytes_)) == 0;
  if (!is_held_ && ::ftruncate(file, 0) != 0)
    CODEQ_LOG_WARN("disk reserve cannot be cut file={}", file_.string());
  ::close(file);
  if (is_held_ && was_released_)
    CODEQ_LOG_INFO("disk reserve is created again bytes={}", bytes_);
}

bool disk_reserve::release() {
  if (::truncate(file_.c_str(), 0) != 0)
    return false;
  is_held_ = false;
  was_released_ = true;
  return true;
}

disk_reserve::loan::loan(disk_reserve& of) : of_(of) {
  std::lock_guard lock{of_.mutex_};
  of_.is_lent_ = true;
  if (of_.is_held_ && of_.release())
    CODEQ_LOG_INFO("disk reserve is lent to the purge bytes={}", of_.bytes_);
}

disk_reserve::loan::~loan() {
  std::lock_guard lock{of_.mutex_};
  of_.is_lent_ = false;
}

} // namespace codeq::coordinator
