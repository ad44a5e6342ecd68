// SPDX-License-Identifier: Apache-2.0
#include "security/jwt.hpp"

#include "base/errors.hpp"
#include "base/text_encoding.hpp"
#include "security/access_limits.hpp"
#include "security/bounded_json.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <cjose/cjose.h>
#include <openssl/err.h>

namespace codeq::security {

namespace {

using base::refused;

/// The length of an ES256 signature, 64 bytes, in base64url. The library takes one with more bytes.
constexpr std::size_t es256_text_bytes = 86;

/// Forgets OpenSSL's errors at the end of a scope. The thread may serve TLS connections, which
/// would take them for their own.
struct error_eraser {
  error_eraser() = default;
  error_eraser(const error_eraser&) = delete;
  error_eraser& operator=(const error_eraser&) = delete;

  ~error_eraser() { ERR_clear_error(); }
};

/// Three texts in base64url, between dots. The library stops the program for other texts.
bool is_compact(std::string_view text) {
  auto first = text.find('.');
  auto last = text.rfind('.');
  return std::count(text.begin(), text.end(), '.') == 2 && base::is_base64url(text.substr(0, first))
         && base::is_base64url(text.substr(first + 1, last - first - 1))
         && base::is_base64url(text.substr(last + 1));
}

/// @pre `text` is base64url
std::optional<std::string> decode_base64url(std::string_view text) {
  uint8_t* bytes = nullptr;
  std::size_t size = 0;
  cjose_err failure{};
  if (!cjose_base64url_decode(text.data(), text.size(), &bytes, &size, &failure))
    return std::nullopt;
  std::string decoded(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return decoded;
}

std::optional<jwt_algorithm> algorithm_named(std::string_view name) {
  for (auto one : {jwt_algorithm::rs256, jwt_algorithm::es256})
    if (name == to_string(one))
      return one;
  return std::nullopt;
}

} // namespace

result<signed_jwt> signed_jwt::read(std::string_view text) {
  error_eraser eraser;
  auto end = text.find('.');
  if (!is_compact(text) || end > limits::jwt_header_bytes_max)
    return refused("it is not a JWT");
  auto decoded = decode_base64url(text.substr(0, end));
  auto header = decoded ? parse_bounded_object(*decoded) : std::nullopt;
  if (!header)
    return refused("its header is not base64url of a JSON object");
  auto algorithm = algorithm_named(text_of(*header, "alg"));
  if (!algorithm)
    return refused("its alg is not RS256 or ES256");
  if (header->contains("crit"))
    return refused("its header has crit, of which no extension is known");
  signed_jwt jwt;
  jwt.algorithm_ = *algorithm;
  jwt.signature_text_bytes_ = text.size() - text.rfind('.') - 1;
  jwt.key_id_ = text_of(*header, "kid");
  if (jwt.key_id_.size() > limits::jwks_key_id_bytes_max)
    return refused("its kid is too long");
  cjose_err failure{};
  auto* native = cjose_jws_import(text.data(), text.size(), &failure);
  if (!native)
    return refused("it is malformed");
  jwt.native_ = {native, cjose_jws_release};
  // The library reads the header by itself and has to see the same algorithm.
  const auto* alg = cjose_header_get(cjose_jws_get_protected(native), CJOSE_HDR_ALG, &failure);
  if (!alg || alg != to_string(*algorithm))
    return refused("its header is ambiguous");
  return jwt;
}

result<std::string> signed_jwt::verify(const verification_key& key) const {
  error_eraser eraser;
  // A key is for one algorithm, so the token cannot choose how it is used.
  if (key.algorithm != algorithm_)
    return refused("its alg is not that of its key");
  if (algorithm_ == jwt_algorithm::es256 && signature_text_bytes_ != es256_text_bytes)
    return refused("its signature has a wrong length");
  cjose_err failure{};
  if (!cjose_jws_verify(native_.get(), key.native.get(), &failure))
    return refused("its signature is wrong");
  uint8_t* claims = nullptr;
  std::size_t size = 0;
  if (!cjose_jws_get_plaintext(native_.get(), &claims, &size, &failure))
    return refused("it has no claims");
  return std::string(reinterpret_cast<const char*>(claims), size);
}

} // namespace codeq::security
