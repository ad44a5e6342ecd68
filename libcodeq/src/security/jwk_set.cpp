// SPDX-License-Identifier: Apache-2.0
#include "security/jwk_set.hpp"

#include "base/text_encoding.hpp"
#include "base/errors.hpp"
#include "security/access_limits.hpp"
#include "security/bounded_json.hpp"
#include "security/token.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <cjose/cjose.h>
#include <openssl/err.h>

namespace codeq::security {

namespace {

using base::wrong;

namespace json = boost::json;

/// The longest texts of key parameters: base64url of an RSA modulus, of an exponent of 32 bits,
/// and of a coordinate of P-256.
constexpr std::size_t modulus_digits_max = (limits::rsa_key_bits_max / 8 * 4 + 2) / 3;
constexpr std::size_t exponent_digits_max = 6;
constexpr std::size_t coordinate_digits = 43;

/// A number of a key; empty when it is not base64url, for which the library stops the program.
std::string number_of(const json::object& from, std::string_view name) {
  auto text = text_of(from, name);
  return base::is_base64url(text) ? text : std::string();
}

bool is_for_signatures(const json::object& key) {
  if (key.contains("use"))
    return text_of(key, "use") == "sig";
  const auto* operations = key.if_contains("key_ops");
  if (!operations)
    return true;
  const auto* list = operations->if_array();
  return list && std::any_of(list->begin(), list->end(), [](const json::value& one) {
           return one.is_string() && one.get_string() == "verify";
         });
}

/// The members of a public key that identify it; empty when they are not within bounds. Others,
/// such as those of a private key, are not read.
json::object public_members(const json::object& key) {
  if (text_of(key, "kty") == "RSA") {
    auto modulus = number_of(key, "n");
    auto exponent = number_of(key, "e");
    if (
      modulus.empty() || modulus.size() > modulus_digits_max || exponent.empty()
      || exponent.size() > exponent_digits_max)
      return {};
    return {{"kty", "RSA"}, {"n", modulus}, {"e", exponent}};
  }
  auto x = number_of(key, "x");
  auto y = number_of(key, "y");
  bool fits = text_of(key, "crv") == "P-256" && x.size() == coordinate_digits
              && y.size() == coordinate_digits;
  return fits ? json::object{{"kty", "EC"}, {"crv", "P-256"}, {"x", x}, {"y", y}} : json::object();
}

std::shared_ptr<cjose_jwk_t> import(const std::string& members) {
  cjose_err failure{};
  auto* key = cjose_jwk_import(members.data(), members.size(), &failure);
  ERR_clear_error();
  return key ? std::shared_ptr<cjose_jwk_t>(key, cjose_jwk_release) : nullptr;
}

bool has_good_size(const cjose_jwk_t* key, jwt_algorithm algorithm) {
  cjose_err failure{};
  auto bits = cjose_jwk_get_keysize(key, &failure);
  return algorithm == jwt_algorithm::es256
         || (bits >= limits::rsa_key_bits_min && bits <= limits::rsa_key_bits_max);
}

/// The key, if it verifies tokens of an accepted algorithm.
std::optional<verification_key> read_key(const json::object& from) {
  auto type = text_of(from, "kty");
  if ((type != "RSA" && type != "EC") || !is_for_signatures(from))
    return std::nullopt;
  verification_key key;
  key.algorithm = type == "RSA" ? jwt_algorithm::rs256 : jwt_algorithm::es256;
  if (from.contains("alg") && text_of(from, "alg") != to_string(key.algorithm))
    return std::nullopt;
  key.id = text_of(from, "kid");
  if (key.id.size() > limits::jwks_key_id_bytes_max)
    return std::nullopt;
  auto members = json::serialize(public_members(from));
  key.digest = digest_of(members);
  key.native = import(members);
  bool is_usable = key.native && has_good_size(key.native.get(), key.algorithm);
  return is_usable ? std::optional(std::move(key)) : std::nullopt;
}

} // namespace

std::string_view to_string(jwt_algorithm algorithm) noexcept {
  return algorithm == jwt_algorithm::rs256 ? "RS256" : "ES256";
}

const verification_key* jwk_set::find(std::string_view id) const noexcept {
  if (id.empty())
    return keys_.size() == 1 ? &keys_.front() : nullptr;
  auto at =
    std::find_if(keys_.begin(), keys_.end(), [&](const auto& key) { return key.id == id; });
  return at == keys_.end() ? nullptr : &*at;
}

bool jwk_set::contains(const token_digest& key) const noexcept {
  return std::any_of(
    keys_.begin(), keys_.end(), [&](const auto& one) { return one.digest == key; });
}

result<jwk_set> parse_jwk_set(std::string_view text) {
  if (text.size() > limits::jwks_bytes_max)
    return error{
      errc::too_large,
      "the key set has " + std::to_string(text.size()) + " bytes; the limit is "
        + std::to_string(limits::jwks_bytes_max)};
  auto document = parse_bounded_object(text);
  const auto* list = document && document->contains("keys") ? document->at("keys").if_array()
                                                            : nullptr;
  if (!list)
    return wrong("the key set is not a JSON object with an array \"keys\"");
  if (list->size() > limits::jwks_keys_max)
    return error{
      errc::too_large,
      "the key set has " + std::to_string(list->size()) + " keys; the limit is "
        + std::to_string(limits::jwks_keys_max)};
  std::vector<verification_key> keys;
  for (const auto& one : *list) {
    auto key = one.is_object() ? read_key(one.get_object()) : std::nullopt;
    if (!key)
      continue;
    for (const auto& other : keys)
      if (other.id == key->id)
        return wrong("the key set has two keys with one \"kid\"");
    keys.push_back(std::move(*key));
  }
  if (keys.empty())
    return wrong(
      "the key set has no key for RS256 (RSA of 2048 to 8192 bits) or ES256 (EC on P-256)");
  return jwk_set(std::move(keys));
}

} // namespace codeq::security
