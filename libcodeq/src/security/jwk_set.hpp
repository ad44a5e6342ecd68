// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "security/principal.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct _cjose_jwk_int;

namespace codeq::security {

/// The signature algorithms that are accepted: RSA with SHA-256, and ECDSA on P-256 with SHA-256.
/// Both have public keys, so no text of a token can be taken for a shared secret.
enum class jwt_algorithm : unsigned char { rs256, es256 };

[[nodiscard]] std::string_view to_string(jwt_algorithm algorithm) noexcept;

/// A public key that verifies tokens of one algorithm.
struct verification_key {
  /// Its name in tokens; empty when the set gives none.
  std::string id;
  /// Identifies the key itself.
  token_digest digest{};
  jwt_algorithm algorithm = jwt_algorithm::rs256;
  std::shared_ptr<_cjose_jwk_int> native;

  friend bool operator==(const verification_key& a, const verification_key& b) {
    return a.id == b.id && a.digest == b.digest;
  }
};

/// The keys of an issuer. Immutable, so that threads can share it.
class jwk_set {
public:
  jwk_set() = default;

  explicit jwk_set(std::vector<verification_key> keys) : keys_(std::move(keys)) {}

  /// The key with that id; the only key when the set has one and the id is empty; else null.
  [[nodiscard]] const verification_key* find(std::string_view id) const noexcept;

  [[nodiscard]] bool contains(const token_digest& key) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  friend bool operator==(const jwk_set&, const jwk_set&) = default;

private:
  std::vector<verification_key> keys_;
};

/// Reads a JWK set (RFC 7517). Keys that cannot verify an accepted token are left out: other types,
/// curves and algorithms, keys for encryption, RSA keys below 2048 or above 8192 bits. Errors:
/// `too_large`; `invalid_argument` for other texts, for two keys with one id, and when no key is
/// left.
[[nodiscard]] result<jwk_set> parse_jwk_set(std::string_view text);

} // namespace codeq::security
