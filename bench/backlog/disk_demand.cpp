// SPDX-License-Identifier: Apache-2.0
#include "backlog/disk_demand.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace codeq::bench {

result<void> check_disk(const backlog_options& options) {
  std::error_code why;
  const auto folder = std::filesystem::temp_directory_path(why);
  std::filesystem::space_info space{};
  if (!why)
    space = std::filesystem::space(folder, why);
  if (why)
    return error{
      errc::unavailable,
      "the free space of the temporary directory (TMPDIR) is unknown: " + why.message()};
  const auto demand = disk_demand(options);
  if (space.available >= demand)
    return {};
  return error{
    errc::disk_full,
    folder.string() + " has " + std::to_string(space.available) + " bytes free; the store of "
      + std::to_string(options.tasks) + " tasks needs " + std::to_string(demand)
      + " there: set TMPDIR to a folder with more, or lower --tasks or --payload"};
}

} // namespace codeq::bench
