// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/token_table.hpp"

#include <filesystem>
#include <memory>
#include <mutex>

namespace codeq::security {

/// The current token table, read from a file and replaced as a whole. Thread-safe.
class token_source {
public:
  /// Errors: of `read_token_file`.
  [[nodiscard]] static result<std::shared_ptr<token_source>> open(std::filesystem::path file);

  /// Never null.
  [[nodiscard]] std::shared_ptr<const token_table> current() const;

  /// Reads the file again. After an error the old table stays in use.
  [[nodiscard]] result<void> reload();

private:
  explicit token_source(std::filesystem::path file) : file_(std::move(file)) {}

  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::shared_ptr<const token_table> table_;
};

} // namespace codeq::security
