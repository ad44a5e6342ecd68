// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

namespace codeq::storage {

/// What a store knew about its own log when it last looked.
struct log_position {
  /// RocksDB's sequence number that was certainly on the disk.
  std::uint64_t synced = 0;
  /// True when the store was closed in order, so that nothing can be missing above `synced`.
  bool closed = false;

  friend bool operator==(const log_position&, const log_position&) = default;
};

/// A small file beside the log that remembers how far the log was synced, so that a log that lost
/// its end does not pass for a shorter one. It is only a hint: it lags behind, is never synced
/// itself, and every failure to read or write it is ignored. Used by the journal's thread only.
class position_hint {
public:
  explicit position_hint(const std::filesystem::path& directory);
  position_hint(const position_hint&) = delete;
  position_hint& operator=(const position_hint&) = delete;
  ~position_hint();

  /// Why the file cannot be used, which tells that the directory cannot be written.
  [[nodiscard]] std::error_code failure() const noexcept { return failure_; }

  [[nodiscard]] std::optional<log_position> read() const;

  /// @pre everything up to `position.synced` is on the disk.
  void write(const log_position& position) const;

private:
  int file_ = -1;
  std::error_code failure_;
};

} // namespace codeq::storage
