// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// Files that only their owner should read, such as those of tokens.
namespace codeq::security {

/// True when every user of the machine may read, or write, the file. False when it does not exist.
[[nodiscard]] bool is_readable_by_others(const std::filesystem::path& file);
[[nodiscard]] bool is_writable_by_others(const std::filesystem::path& file);

/// A new file that only its owner can read and write. It appears under its name with its whole
/// text, or not at all.
class private_file {
public:
  /// Checks that the file can be written. Errors: `unavailable`; `invalid_argument` when it exists
  /// and may not be replaced.
  [[nodiscard]] static result<private_file>
  create(std::filesystem::path file, bool may_replace = false);

  /// Writes the text and gives the file its name. Called once. Errors: `unavailable`.
  [[nodiscard]] result<void> write(std::string_view text);

  private_file(private_file&& other) noexcept;
  private_file& operator=(private_file&&) = delete;
  ~private_file();

private:
  private_file(std::filesystem::path file, int descriptor)
    : file_(std::move(file)), descriptor_(descriptor) {}

  std::filesystem::path file_;
  /// The draft's; negative once it has its name.
  int descriptor_;
};

} // namespace codeq::security
