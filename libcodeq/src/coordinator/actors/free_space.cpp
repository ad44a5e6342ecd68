// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/free_space.hpp"

#include "base/tuning.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace codeq::coordinator {

free_space::free_space(
  std::filesystem::path directory, std::uint64_t least_bytes, std::shared_ptr<disk_reserve> reserve)
  : directory_(std::move(directory)), least_bytes_(least_bytes), reserve_(std::move(reserve)) {
}

const result<void>& free_space::check(monotonic_time now) {
  look_again(now);
  return found_;
}

bool free_space::is_tight(monotonic_time now, std::size_t bytes) {
  noted_bytes_ += bytes;
  look_again(now);
  return is_tight_;
}

void free_space::look_again(monotonic_time now) {
  bool is_due = !looked_ || now - *looked_ >= tuning::free_space_look_interval
                || noted_bytes_ >= tuning::free_space_look_bytes;
  if (!is_due)
    return;
  looked_ = now;
  noted_bytes_ = 0;
  auto bytes = usable();
  auto least = reserve_ ? reserve_->least(least_bytes_) : least_bytes_;
  is_tight_ = bytes && *bytes < least_bytes_ / tuning::tight_space_divisor;
  if (!bytes)
    found_ = bytes.error();
  else if (*bytes >= least)
    found_ = {};
  else
    found_ = error{
      errc::disk_full,
      "the coordinator's disk has " + std::to_string(*bytes) + " bytes free; tasks are added from "
        + std::to_string(least) + " on (--free-bytes"
        + (least == least_bytes_ ? ")" : ", and a purge needs some without a reserve)")};
}

result<std::uint64_t> free_space::usable() const {
  if (reserve_)
    return reserve_->usable();
  std::error_code why;
  auto space = std::filesystem::space(directory_, why);
  if (why)
    return error{
      errc::disk_full, "the space on the coordinator's disk is unknown: " + why.message()};
  return space.available;
}

} // namespace codeq::coordinator
