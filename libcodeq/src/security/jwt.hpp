// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "security/jwk_set.hpp"
#include "security/principal.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct _cjose_jws_int;

namespace codeq::security {

/// The claims that say what a bearer may do. A name that no claim has may also be a path with dots,
/// such as `realm_access.roles`.
struct claim_names {
  std::string subject = "sub";
  std::string tenant = "tenantId";
  std::string role = "role";
  std::string scopes = "scope";
  std::string queues = "eventTypes";
};

/// Which JWTs are accepted, and how their claims become a principal.
struct jwt_rules {
  /// At least one each; a token has one of the issuers, and one of the audiences among its own.
  std::vector<std::string> issuers;
  std::vector<std::string> audiences;
  claim_names claims{};
  /// Further values of the role claim, besides the names of the roles in any case.
  std::vector<std::pair<std::string, role>> role_values{};
  /// The tenant of tokens without a tenant claim; empty refuses them.
  std::string default_tenant{};
};

/// A JWT in compact form (RFC 7515) whose header is acceptable. Nothing of it can be trusted before
/// `verify`.
class signed_jwt {
public:
  /// Errors: `unauthorized`, with the reason.
  [[nodiscard]] static result<signed_jwt> read(std::string_view text);

  /// The id of the key that is said to have signed it; empty when it names none.
  [[nodiscard]] const std::string& key_id() const noexcept { return key_id_; }

  /// Verifies the signature and returns the text of the claims. Errors: `unauthorized`, also when
  /// the key is for another algorithm.
  [[nodiscard]] result<std::string> verify(const verification_key& key) const;

private:
  std::string key_id_;
  jwt_algorithm algorithm_ = jwt_algorithm::rs256;
  std::size_t signature_text_bytes_ = 0;
  std::shared_ptr<_cjose_jws_int> native_;
};

/// The bearer that verified claims describe, at wall-clock time `now`. Its token expires at `exp`
/// plus `limits::jwt_leeway`. Errors: `unauthorized`, with the reason.
///
/// The role is the strongest of those that the role claim names. Without a known one it is worker
/// when the token names queues, else producer, as in codeQ. A worker has the scopes and queues that
/// the token names, none without the claims.
[[nodiscard]] result<principal>
principal_of(std::string_view claims, const jwt_rules& rules, timestamp now);

} // namespace codeq::security
