// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace codeq::storage {

/// What a store knew about its own log when it last looked.
struct log_position {
  /// RocksDB's sequence number that was certainly on the disk.
  std::uint64_t synced = 0;
  /// True when the store was closed in order, so that nothing can be missing above `synced`.
  bool closed = false;

  friend bool operator==(const log_position&, const log_position&) = default;
};

/// What a recovery says about a loss.
struct recovery_loss {
  /// True when synced writes are missing, not only ones that may be.
  bool is_certain = false;
  /// For people; empty when there is nothing to say.
  std::string text;
};

/// Compares what was known before with the sequence number that recovery reached.
[[nodiscard]] recovery_loss
describe_loss(const std::optional<log_position>& known, std::uint64_t recovered);

/// A small file beside the log that remembers how far the log was synced, so that a log that lost
/// its end does not pass for a shorter one. It is only a hint: it lags behind, is never synced
/// itself, and every later failure to read or write it is ignored. Thread-safe: each write is
/// one system call.
class position_hint {
public:
  /// Opens the hint in a directory, which is created when missing. It is the first file of a store
  /// that is opened, so a failure tells that the directory is of no use. Errors: `unavailable`.
  [[nodiscard]] static result<std::unique_ptr<position_hint>>
  open(const std::filesystem::path& directory);

  /// What the hint in a directory says, without touching anything; nothing when there is none.
  [[nodiscard]] static std::optional<log_position> look(const std::filesystem::path& directory);

  position_hint(const position_hint&) = delete;
  position_hint& operator=(const position_hint&) = delete;
  ~position_hint();

  [[nodiscard]] std::optional<log_position> read() const;

  /// @pre everything up to `position.synced` is on the disk.
  void write(const log_position& position) const;

private:
  explicit position_hint(int file) : file_(file) {}

  int file_;
};

} // namespace codeq::storage
