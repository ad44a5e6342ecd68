// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/free_space.hpp"

#include "codeq/limits.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace codeq::coordinator {

free_space::free_space(std::filesystem::path directory, std::uint64_t least_bytes)
  : directory_(std::move(directory)), least_bytes_(least_bytes) {
}

const result<void>& free_space::check(monotonic_time now) {
  if (!looked_ || now - *looked_ >= limits::free_space_look_interval) {
    looked_ = now;
    found_ = look();
  }
  return found_;
}

result<void> free_space::look() const {
  std::error_code why;
  auto space = std::filesystem::space(directory_, why);
  if (why)
    return error{
      errc::disk_full, "the space on the coordinator's disk is unknown: " + why.message()};
  if (space.available >= least_bytes_)
    return {};
  return error{
    errc::disk_full,
    "the coordinator's disk has " + std::to_string(space.available)
      + " bytes free; tasks are added from " + std::to_string(least_bytes_) + " on"};
}

} // namespace codeq::coordinator
