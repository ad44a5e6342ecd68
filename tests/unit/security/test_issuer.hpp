// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "security/jwk_set.hpp"

#include <memory>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <cjose/cjose.h>

namespace codeq::security {

/// base64url without padding.
[[nodiscard]] std::string base64url(std::string_view bytes);

/// A key pair, whose private part signs tokens as an issuer does.
class test_key {
public:
  static test_key rsa(const std::string& id, std::size_t bits = 2048);
  static test_key ec(const std::string& id, cjose_jwk_ec_curve curve = CJOSE_JWK_EC_P_256);

  /// A shared secret, which no key set may bring.
  static test_key secret(const std::string& id, std::string_view bytes);

  /// The JWK of the public part.
  [[nodiscard]] boost::json::object jwk() const;

  /// A token with these claims. `algorithm` is what its header says.
  [[nodiscard]] std::string sign(const std::string& claims, const char* algorithm) const;

private:
  test_key(std::string id, cjose_jwk_t* native);

  std::string id_;
  std::shared_ptr<cjose_jwk_t> native_;
};

/// The text of a key set.
[[nodiscard]] std::string set_of(const boost::json::array& keys);

} // namespace codeq::security
