// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "security/jwt.hpp"
#include "security/key_source.hpp"
#include "security/principal.hpp"
#include "security/token_source.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

namespace codeq::security {

/// Finds out who bears a token: one of the token file, or a JWT. Thread-safe.
class authenticator {
public:
  struct options {
    /// Null: no token file.
    std::shared_ptr<token_source> tokens{};
    /// Null: JWTs are refused.
    std::shared_ptr<const key_source> keys{};
    /// Which JWTs are accepted.
    jwt_rules rules{};
    /// Wall-clock time.
    std::function<timestamp()> now;
    /// Called with the reason for each refusal, which the bearer is not told. May be empty.
    std::function<void(const error& reason)> on_refused{};
  };

  explicit authenticator(options given) : options_(std::move(given)) {}

  /// The bearer of the token; null when it is not accepted.
  [[nodiscard]] std::shared_ptr<const principal> authenticate(std::string_view bearer) const;

  /// Checks whether the rights that a bearer got earlier still hold. Errors: `unauthorized` for a
  /// token that was revoked; `going_away` for one that has other rights now or has expired, or
  /// whose key was withdrawn.
  [[nodiscard]] result<void> review(const principal& who) const;

private:
  [[nodiscard]] result<std::shared_ptr<const principal>>
  find(std::string_view bearer, timestamp now) const;
  [[nodiscard]] result<std::shared_ptr<const principal>>
  check_jwt(std::string_view text, timestamp now) const;

  /// The bearer of a JWT that was verified with the same keys before; null when there is none.
  [[nodiscard]] std::shared_ptr<const principal>
  recall(const token_digest& jwt, const std::shared_ptr<const jwk_set>& keys) const;
  void remember(
    const token_digest& jwt,
    const std::shared_ptr<const jwk_set>& keys,
    const std::shared_ptr<const principal>& who) const;

  options options_;
  mutable std::mutex mutex_;
  /// Verified JWTs, by the digest of their text, and the keys that verified them.
  mutable std::map<token_digest, std::shared_ptr<const principal>> verified_;
  mutable std::shared_ptr<const jwk_set> verified_with_;
};

} // namespace codeq::security
