// SPDX-License-Identifier: Apache-2.0
#include "node/start_space.hpp"

#include <system_error>

namespace codeq::node {

namespace fs = std::filesystem;

namespace {

/// For the files that a start writes in addition to tables.
constexpr std::uint64_t other_bytes = 2u << 20;

/// Bytes of the logs that a start replays.
std::uint64_t log_bytes(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(directory, failure)) {
    if (entry.path().extension() != ".log")
      continue;
    auto size = entry.file_size(failure);
    bytes += failure ? 0 : size;
  }
  return bytes;
}

} // namespace

result<void> check_start_space(const fs::path& directory) {
  std::error_code unknown;
  auto available = fs::space(directory, unknown).available;
  auto needed = log_bytes(directory) + other_bytes;
  if (unknown || available >= needed)
    return {};
  return error{
    errc::disk_full,
    "the disk of " + directory.string() + " has " + std::to_string(available)
      + " bytes free; this start needs " + std::to_string(needed)
      + " to replay the store's log. Nothing is lost: free space on the disk, or copy the "
        "directory "
        "to a larger one, and start again"};
}

std::string warning_of_small_disk(const fs::path& directory, std::uint64_t least) {
  std::error_code unknown;
  const auto size = fs::space(directory, unknown).capacity;
  if (unknown || size >= least)
    return {};
  return "the disk of " + directory.string() + " has " + std::to_string(size)
         + " bytes in all, but --free-bytes is " + std::to_string(least);
}

} // namespace codeq::node
