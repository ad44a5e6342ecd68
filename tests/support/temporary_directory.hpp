// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <stdlib.h>
#include <unistd.h>

namespace codeq::test {

/// An empty directory that is removed, with its content, by the destructor.
class temporary_directory {
public:
  explicit temporary_directory(
    const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    auto pattern = (parent / "codeq-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw std::runtime_error("cannot create " + pattern);
    path_ = pattern;
  }

  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  /// A parent directory in memory if there is one, for files that need not reach a disk.
  [[nodiscard]] static std::filesystem::path in_memory() {
    std::filesystem::path shared = "/dev/shm";
    return ::access(shared.c_str(), W_OK | X_OK) == 0 ? shared
                                                      : std::filesystem::temp_directory_path();
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace codeq::test
