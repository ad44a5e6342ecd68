// SPDX-License-Identifier: Apache-2.0
#include "node/start_disk.hpp"

#include "base/errors.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <unistd.h>

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

result<void> prepare_directory(const std::string& option, const fs::path& directory) {
  const auto refuse = [&](const std::error_code& failure, const std::string& why) {
    return error{
      base::is_lasting(failure) ? errc::invalid_argument : errc::unavailable,
      option + " is " + directory.string() + ": " + why};
  };
  const auto no_directory = std::make_error_code(std::errc::not_a_directory);
  // "store/" names the same as "store".
  const auto path = directory.has_filename() ? directory : directory.parent_path();
  std::error_code failure;
  const auto found = fs::status(path, failure);
  if (found.type() == fs::file_type::none)
    return refuse(failure, failure.message());
  if (found.type() == fs::file_type::not_found) {
    const auto parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!fs::is_directory(parent, failure))
      return refuse(
        no_directory,
        "there is no directory " + parent.string()
          + ", and only the last part of the path is created. Is the path right, and its disk "
            "mounted?");
    fs::create_directory(path, failure);
    return failure ? refuse(failure, "it cannot be created: " + failure.message())
                   : result<void>{};
  }
  if (!fs::is_directory(found))
    return refuse(no_directory, "it is no directory");
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    failure.assign(errno, std::generic_category());
    return refuse(failure, "this user cannot read and write it: " + failure.message());
  }
  return {};
}

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
