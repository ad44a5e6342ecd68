// SPDX-License-Identifier: Apache-2.0
#include "test_issuer.hpp"

#include <cstdlib>
#include <stdexcept>

namespace codeq::security {

std::string base64url(std::string_view bytes) {
  char* text = nullptr;
  std::size_t size = 0;
  cjose_err failure{};
  if (!cjose_base64url_encode(
        reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &text, &size, &failure))
    throw std::runtime_error(failure.message);
  std::string encoded(text, size);
  std::free(text);
  return encoded;
}

test_key::test_key(std::string id, cjose_jwk_t* native)
  : id_(std::move(id)), native_(native, cjose_jwk_release) {
  cjose_err failure{};
  if (!native_ || !cjose_jwk_set_kid(native_.get(), id_.data(), id_.size(), &failure))
    throw std::runtime_error("no key");
}

test_key test_key::rsa(const std::string& id, std::size_t bits) {
  constexpr uint8_t exponent[] = {1, 0, 1};
  cjose_err failure{};
  return {id, cjose_jwk_create_RSA_random(bits, exponent, sizeof exponent, &failure)};
}

test_key test_key::ec(const std::string& id, cjose_jwk_ec_curve curve) {
  cjose_err failure{};
  return {id, cjose_jwk_create_EC_random(curve, &failure)};
}

test_key test_key::secret(const std::string& id, std::string_view bytes) {
  cjose_err failure{};
  return {
    id,
    cjose_jwk_create_oct_spec(
      reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &failure)};
}

boost::json::object test_key::jwk() const {
  cjose_err failure{};
  auto* text = cjose_jwk_to_json(native_.get(), false, &failure);
  if (!text)
    throw std::runtime_error(failure.message);
  auto members = boost::json::parse(text).as_object();
  std::free(text);
  return members;
}

std::string test_key::sign(const std::string& claims, const char* algorithm) const {
  cjose_err failure{};
  std::shared_ptr<cjose_header_t> header(cjose_header_new(&failure), cjose_header_release);
  cjose_header_set(header.get(), CJOSE_HDR_ALG, algorithm, &failure);
  cjose_header_set(header.get(), CJOSE_HDR_KID, id_.c_str(), &failure);
  std::shared_ptr<cjose_jws_t> jws(
    cjose_jws_sign(
      native_.get(),
      header.get(),
      reinterpret_cast<const uint8_t*>(claims.data()),
      claims.size(),
      &failure),
    cjose_jws_release);
  const char* text = nullptr;
  if (!jws || !cjose_jws_export(jws.get(), &text, &failure))
    throw std::runtime_error(failure.message);
  return text;
}

std::string set_of(const boost::json::array& keys) {
  return boost::json::serialize(boost::json::object{{"keys", keys}});
}

} // namespace codeq::security
