// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "base/fair_share.hpp"
#include "observe/limit_meter.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace codeq::coordinator {

/// Bounds the bytes that nodes have not read, over all connections. Tenants share them fairly.
/// Thread-safe.
class unread_shares {
public:
  explicit unread_shares(
    std::uint64_t bytes_max = limits::unread_bytes_max,
    std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>());

  /// Changes the part of one of the tenant's connections from `before` to `bytes`. Less is always
  /// possible. Errors: `overloaded` when the tenant's share is used up; the part stays as it was.
  [[nodiscard]] result<void>
  change(const std::string& tenant, std::uint64_t before, std::uint64_t bytes);

  /// Number of bytes in use.
  [[nodiscard]] std::uint64_t used() const;

private:
  std::shared_ptr<observe::limit_meter> meter_;
  mutable std::mutex mutex_;
  base::fair_share shares_;
};

/// The part of one connection; it is given back when this object is destroyed. For one thread.
class unread_part {
public:
  unread_part(std::shared_ptr<unread_shares> shares, std::string tenant);

  unread_part(const unread_part&) = delete;
  unread_part& operator=(const unread_part&) = delete;

  ~unread_part();

  /// Keeps at least that many bytes, rounded up so that most calls change nothing. Errors: see
  /// `unread_shares::change`.
  [[nodiscard]] result<void> keep(std::uint64_t bytes);

private:
  std::shared_ptr<unread_shares> shares_;
  std::string tenant_;
  std::uint64_t bytes_ = 0;
};

} // namespace codeq::coordinator
