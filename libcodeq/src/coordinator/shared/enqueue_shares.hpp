// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/result.hpp"

#include "base/fair_share.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "observe/limit_meter.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace codeq::coordinator {

/// Bounds the bytes of enqueues and checkpoints in the coordinator, over all connections and the
/// gateway, and of changes on connections, from their arrival until they are durable. Tenants share
/// them fairly. A share is given back by dropping it, so a connection, request or actor that ends
/// keeps none. Thread-safe.
class enqueue_shares : public std::enable_shared_from_this<enqueue_shares> {
public:
  explicit enqueue_shares(
    std::uint64_t bytes_max = limits::enqueue_bytes_default,
    std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>());

  /// Takes `bytes` for the tenant if it could have `kept_free` more. Errors: `overloaded` when its
  /// share is used up.
  [[nodiscard]] result<enqueue_share>
  take(const std::string& tenant, std::uint64_t bytes, std::uint64_t kept_free = 0);

  /// The same for bytes that cannot be refused.
  [[nodiscard]] enqueue_share force(const std::string& tenant, std::uint64_t bytes);

  /// Number of bytes in use.
  [[nodiscard]] std::uint64_t used() const;

private:
  struct part;

  [[nodiscard]] enqueue_share make_part(const std::string& tenant, std::uint64_t bytes);
  void give_back(const std::string& tenant, std::uint64_t bytes);

  std::shared_ptr<observe::limit_meter> meter_;
  mutable std::mutex mutex_;
  base::fair_share shares_;
};

} // namespace codeq::coordinator
