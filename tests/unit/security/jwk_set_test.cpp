// SPDX-License-Identifier: Apache-2.0
#include "security/access_limits.hpp"
#include "security/jwk_set.hpp"

#include "test_issuer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace codeq::security {

namespace {

std::string refusal(const std::string& text) {
  auto set = parse_jwk_set(text);
  return set ? "" : set.error().context;
}

constexpr auto no_key =
  "the key set has no key for RS256 (RSA of 2048 to 8192 bits) or ES256 (EC on P-256)";

/// The key with another member.
boost::json::object with(boost::json::object key, const char* name, const char* value) {
  key[name] = value;
  return key;
}

} // namespace

TEST(JwkSet, HasTheKeysOfBothAlgorithms) {
  auto rsa = test_key::rsa("r").jwk();
  auto ec = test_key::ec("e").jwk();

  auto set = parse_jwk_set(set_of({rsa, with(ec, "alg", "ES256")}));

  ASSERT_TRUE(set) << set.error().context;
  ASSERT_TRUE(set->find("r") && set->find("e"));
  EXPECT_EQ(set->find("r")->algorithm, jwt_algorithm::rs256);
  EXPECT_EQ(set->find("e")->algorithm, jwt_algorithm::es256);
  EXPECT_TRUE(set->contains(set->find("e")->digest));
  EXPECT_EQ(set->find("x"), nullptr);
  EXPECT_EQ(set->find(""), nullptr) << "which of the two is meant?";
  EXPECT_EQ(*set, *parse_jwk_set(set_of({with(rsa, "use", "sig"), ec})));
}

TEST(JwkSet, KeyOfTheSameIdThatIsAnotherKeyIsADifferentSet) {
  auto old = parse_jwk_set(set_of({test_key::ec("e").jwk()}));
  auto fresh = parse_jwk_set(set_of({test_key::ec("e").jwk()}));

  ASSERT_TRUE(old && fresh);
  EXPECT_NE(*old, *fresh);
  EXPECT_FALSE(fresh->contains(old->find("e")->digest));
}

TEST(JwkSet, OnlyKeyIsMeantWhenATokenNamesNone) {
  auto key = test_key::ec("e").jwk();
  key.erase("kid");

  auto set = parse_jwk_set(set_of({key}));

  ASSERT_TRUE(set) << set.error().context;
  EXPECT_NE(set->find(""), nullptr);
}

TEST(JwkSet, KeysThatVerifyNoAcceptedTokenAreLeftOut) {
  auto ec = test_key::ec("e").jwk();
  auto rsa = test_key::rsa("r").jwk();

  EXPECT_EQ(refusal(set_of({})), no_key);
  EXPECT_EQ(refusal(set_of({{{"kty", "oct"}, {"k", "c2VjcmV0"}, {"kid", "s"}}})), no_key);
  EXPECT_EQ(refusal(set_of({with(ec, "use", "enc")})), no_key);
  EXPECT_EQ(refusal(set_of({with(ec, "alg", "ES384")})), no_key);
  EXPECT_EQ(refusal(set_of({with(rsa, "alg", "HS256")})), no_key);
  EXPECT_EQ(refusal(set_of({with(rsa, "alg", "PS256")})), no_key);
  EXPECT_EQ(refusal(set_of({with(ec, "x", "AAAA")})), no_key);
  EXPECT_EQ(refusal(set_of({with(rsa, "e", "AQABAQABAQAB")})), no_key);
  EXPECT_EQ(refusal(set_of({with(rsa, "e", "AQ=B")})), no_key) << "not base64url";
  EXPECT_EQ(refusal(set_of({test_key::ec("e", CJOSE_JWK_EC_P_384).jwk()})), no_key);
  EXPECT_EQ(refusal(set_of({test_key::rsa("weak", 1024).jwk()})), no_key);
  EXPECT_EQ(refusal(set_of({"text", 1, nullptr})), no_key);
}

TEST(JwkSet, PointThatIsNotOnTheCurveIsNoKey) {
  auto ec = test_key::ec("e").jwk();
  ec["y"] = ec["x"];

  EXPECT_EQ(refusal(set_of({ec})), no_key);
}

TEST(JwkSet, IsBoundedInBytesKeysAndNesting) {
  EXPECT_EQ(
    refusal(std::string(limits::jwks_bytes_max + 1, ' ')),
    "the key set has 262145 bytes; the limit is 262144");
  boost::json::array many(limits::jwks_keys_max + 1);
  EXPECT_EQ(refusal(set_of(many)), "the key set has 101 keys; the limit is 100");
  constexpr auto malformed = "the key set is not a JSON object with an array \"keys\"";
  for (const std::string text :
       {"", "{", "[]", "{}", "{\"keys\":1}", "{\"keys\":[]} x", "\xff", "null"})
    EXPECT_EQ(refusal(text), malformed) << text;
  EXPECT_EQ(
    refusal("{\"keys\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"), malformed);
  auto key = test_key::ec("e").jwk();
  EXPECT_EQ(refusal(set_of({key, key})), "the key set has two keys with one \"kid\"");
}

} // namespace codeq::security
