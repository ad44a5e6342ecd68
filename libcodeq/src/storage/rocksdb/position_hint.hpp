// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace codeq::storage {

/// State of a store's log when it was last noted.
struct log_position {
  /// A sequence number of RocksDB that was certainly on disk.
  std::uint64_t synced = 0;
  /// True when the store was closed in order, so that nothing can be missing above `synced`.
  bool closed = false;

  friend bool operator==(const log_position&, const log_position&) = default;
};

/// The loss that a recovery found, if any.
struct recovery_loss {
  /// True when synced writes are missing, not only writes that may be lost.
  bool is_certain = false;
  /// Description for people; empty when there is none.
  std::string text;
};

/// Compares the position noted before with the sequence number that recovery reached.
[[nodiscard]] recovery_loss
describe_loss(const std::optional<log_position>& known, std::uint64_t recovered);

/// A small file next to the log that stores how far the log was synced, so that a log that lost its
/// end is not taken for a shorter one. It is only a hint: it lags behind, is never synced itself,
/// and failures to read or write it after `open` are ignored. Thread-safe: each write is one system
/// call.
class position_hint {
public:
  /// Opens the hint in a directory, which is created when missing. It is the first file of a store
  /// that is opened, so a failure means that the directory cannot be used. Errors: `unavailable`.
  [[nodiscard]] static result<std::unique_ptr<position_hint>>
  open(const std::filesystem::path& directory);

  /// Reads the hint in a directory without changing anything; empty when there is none.
  [[nodiscard]] static std::optional<log_position> look(const std::filesystem::path& directory);

  position_hint(const position_hint&) = delete;
  position_hint& operator=(const position_hint&) = delete;
  ~position_hint();

  [[nodiscard]] std::optional<log_position> read() const;

  /// @pre everything up to `position.synced` is on disk
  void write(const log_position& position) const;

private:
  explicit position_hint(int file) : file_(file) {}

  int file_;
};

} // namespace codeq::storage
