// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/fair_share.hpp"
#include "http/server/gateway_limits.hpp"
#include "observe/limit_meter.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace codeq::http {

class answer_shares;

/// The bytes of one response, from before its content is read until it is written. They are given
/// back when the object is destroyed. Thread-safe.
class answer_bytes {
public:
  /// `kind` is `tenant` or `remote`, and `owner` its name.
  answer_bytes(std::shared_ptr<answer_shares> from, std::string_view kind, std::string owner);
  ~answer_bytes();
  answer_bytes(const answer_bytes&) = delete;
  answer_bytes& operator=(const answer_bytes&) = delete;

  /// Takes bytes, or gives some back, so that there are `bytes` of them. Errors: `overloaded` when
  /// the owner may not have more; the number does not change then.
  [[nodiscard]] result<void> resize(std::uint64_t bytes);

  /// The same for a response that cannot be refused any more.
  void force(std::uint64_t bytes);

  [[nodiscard]] std::uint64_t size() const;

private:
  friend class answer_shares;

  std::shared_ptr<answer_shares> from_;
  std::string_view kind_;
  std::string owner_;
  /// Guarded by the mutex of the shares.
  std::uint64_t size_ = 0;
};

using answer_share = std::shared_ptr<answer_bytes>;

/// Bounds the bytes of all responses that are being read from the shards or written to clients.
/// Tenants share them fairly; a request without a token belongs to its remote address. Thread-safe.
class answer_shares : public std::enable_shared_from_this<answer_shares> {
public:
  explicit answer_shares(
    std::uint64_t bytes_max = limits::http_answers_bytes_max,
    std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>());

  /// A share without bytes, for a response to a tenant.
  [[nodiscard]] answer_share open(std::string tenant) { return open("tenant", std::move(tenant)); }

  /// The same for an owner of any kind, `tenant` or `remote`.
  [[nodiscard]] answer_share open(std::string_view kind, std::string owner);

  [[nodiscard]] std::uint64_t used_by(const std::string& owner) const;

  /// True when the owner may take that many bytes more.
  [[nodiscard]] bool has_room(const std::string& owner, std::uint64_t bytes) const;

private:
  friend class answer_bytes;

  /// Errors: `overloaded`.
  [[nodiscard]] result<void> resize(answer_bytes& share, std::uint64_t bytes);
  void force(answer_bytes& share, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t size_of(const answer_bytes& share) const;

  std::shared_ptr<observe::limit_meter> meter_;
  mutable std::mutex mutex_;
  base::fair_share shares_;
};

} // namespace codeq::http
