// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"
#include "security/access_limits.hpp"
#include "security/jwt.hpp"

#include "test_issuer.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <string>
#include <vector>

namespace codeq::security {

namespace {

namespace json = boost::json;

const timestamp now = base::parse_rfc3339("2026-05-20T10:00:00Z").value();

std::int64_t seconds(timestamp when) {
  return when.time_since_epoch().count() / 1000;
}

jwt_rules rules() {
  jwt_rules rules;
  rules.issuers = {"https://issuer.test"};
  rules.audiences = {"codeq", "codeq-worker"};
  return rules;
}

/// The claims of a worker as codeQ has them.
json::object worker_claims() {
  return {
    {"iss", "https://issuer.test"},
    {"aud", "codeq-worker"},
    {"sub", "worker-1"},
    {"exp", seconds(now) + 60},
    {"tenantId", "shop"},
    {"scope", "openid codeq:claim codeq:result"},
    {"eventTypes", {"mail", "print"}}};
}

result<principal> read(const json::object& claims, const jwt_rules& by = rules()) {
  return principal_of(json::serialize(claims), by, now);
}

std::string refusal(const json::object& claims, const jwt_rules& by = rules()) {
  auto who = read(claims, by);
  return who ? "" : who.error().context;
}

/// Worker claims with another value of one of them.
json::object with(const char* name, json::value value) {
  auto claims = worker_claims();
  claims[name] = std::move(value);
  return claims;
}

json::object without(const char* name) {
  auto claims = worker_claims();
  claims.erase(name);
  return claims;
}

/// Verifies tokens with the public keys of two key pairs.
class SignedJwt : public testing::Test {
protected:
  static void SetUpTestSuite() {
    rsa_ = new test_key(test_key::rsa("r"));
    ec_ = new test_key(test_key::ec("e"));
    keys_ = new jwk_set(parse_jwk_set(set_of({rsa_->jwk(), ec_->jwk()})).value());
  }

  static void TearDownTestSuite() {
    delete rsa_;
    delete ec_;
    delete keys_;
  }

  static result<std::string> verify(const std::string& text) {
    auto jwt = signed_jwt::read(text);
    if (!jwt)
      return jwt.error();
    const auto* key = keys_->find(jwt->key_id());
    if (!key)
      return error{errc::unauthorized, "no key"};
    return jwt->verify(*key);
  }

  static std::string refusal(const std::string& text) {
    auto claims = verify(text);
    EXPECT_TRUE(claims || claims.error().code == errc::unauthorized);
    return claims ? "" : claims.error().context;
  }

  /// A token with this header, and claims and signature of another token.
  static std::string with_header(const std::string& header, const std::string& of) {
    return base64url(header) + of.substr(of.find('.'));
  }

  static inline test_key* rsa_ = nullptr;
  static inline test_key* ec_ = nullptr;
  static inline jwk_set* keys_ = nullptr;
};

} // namespace

TEST_F(SignedJwt, OfBothAlgorithmsIsVerified) {
  EXPECT_EQ(verify(rsa_->sign("{\"a\":1}", "RS256")).value(), "{\"a\":1}");
  EXPECT_EQ(verify(ec_->sign("{\"a\":2}", "ES256")).value(), "{\"a\":2}");
}

TEST_F(SignedJwt, ThatWasTamperedWithIsRefused) {
  for (const auto& good : {rsa_->sign("{\"a\":1}", "RS256"), ec_->sign("{\"a\":1}", "ES256")}) {
    auto first = good.find('.');
    auto second = good.find('.', first + 1);
    auto claims = good.substr(0, first + 1) + base64url("{\"a\":2}") + good.substr(second);
    EXPECT_EQ(refusal(claims), "its signature is wrong");
    for (auto at : {second + 1, second + 20, good.size() - 5}) {
      auto signature = good;
      signature[at] = signature[at] == 'A' ? 'B' : 'A';
      EXPECT_EQ(refusal(signature), "its signature is wrong") << at;
    }
    EXPECT_NE(refusal(good.substr(0, second + 1)), "") << "an empty signature";
    EXPECT_NE(refusal(good.substr(0, good.size() - 4)), "") << "a short one";
  }
}

TEST_F(SignedJwt, WithMoreThanItsSignatureIsRefused) {
  auto good = ec_->sign("{\"a\":1}", "ES256");
  for (const char* more : {"A", "x", "AA", "AAAA"})
    EXPECT_EQ(refusal(good + more), "its signature has a wrong length") << more;
  auto of_rsa = rsa_->sign("{\"a\":1}", "RS256");
  for (const char* more : {"A", "x", "AA", "AAA", "AAAA"})
    EXPECT_NE(refusal(of_rsa + more), "") << more;
}

TEST_F(SignedJwt, ThatIsRefusedLeavesNoErrorForTheNextUserOfOpenssl) {
  auto good = rsa_->sign("{}", "RS256");
  ERR_clear_error();

  EXPECT_NE(refusal(good.substr(0, good.size() - 8) + "AAAAAAAA"), "");
  EXPECT_NE(refusal(test_key::rsa("r").sign("{}", "RS256")), "");

  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST_F(SignedJwt, OfAForeignKeyWithAKnownIdIsRefused) {
  EXPECT_EQ(refusal(test_key::rsa("r").sign("{}", "RS256")), "its signature is wrong");
  EXPECT_EQ(refusal(test_key::ec("e").sign("{}", "ES256")), "its signature is wrong");
  EXPECT_EQ(refusal(test_key::ec("other").sign("{}", "ES256")), "no key");
}

TEST_F(SignedJwt, CannotChooseAnotherAlgorithm) {
  constexpr auto wrong = "its alg is not RS256 or ES256";
  auto good = rsa_->sign("{}", "RS256");
  for (const char* header :
       {R"({"alg":"none","kid":"r"})",
        R"({"alg":"None","kid":"r"})",
        R"({"alg":"","kid":"r"})",
        R"({"kid":"r"})",
        R"({"alg":1,"kid":"r"})",
        R"({"alg":["RS256"],"kid":"r"})",
        R"({"alg":"rs256","kid":"r"})",
        R"({"alg":"ES512","kid":"e"})"})
    EXPECT_EQ(refusal(with_header(header, good)), wrong) << header;
  EXPECT_EQ(refusal(base64url(R"({"alg":"none","kid":"r"})") + "." + base64url("{}") + "."), wrong);
  EXPECT_EQ(refusal(rsa_->sign("{}", "RS384")), wrong);
  EXPECT_EQ(refusal(rsa_->sign("{}", "PS256")), wrong);
  EXPECT_EQ(
    refusal(with_header(R"({"alg":"ES256","kid":"r"})", good)), "its alg is not that of its key");
  EXPECT_EQ(
    refusal(with_header(R"({"alg":"RS256","kid":"e"})", ec_->sign("{}", "ES256"))),
    "its alg is not that of its key");
}

TEST_F(SignedJwt, IsNeverVerifiedWithAPublicKeyAsASecret) {
  auto modulus = rsa_->jwk().at("n").as_string();
  for (const auto& secret : {std::string(modulus), json::serialize(rsa_->jwk())}) {
    auto forged = test_key::secret("r", secret).sign("{\"role\":\"admin\"}", "HS256");
    EXPECT_EQ(refusal(forged), "its alg is not RS256 or ES256");
    EXPECT_NE(refusal(with_header(R"({"alg":"RS256","kid":"r"})", forged)), "");
  }
}

TEST_F(SignedJwt, OfAnotherFormIsRefused) {
  auto good = ec_->sign("{}", "ES256");
  for (const char* text :
       {"", ".", "..", "a.b", "a.b.c", "a.b.c.d.e", "e30.e30.e30", "!!!.e30.e30"})
    EXPECT_NE(refusal(text), "") << text;
  for (const auto& text : {good + ".", "." + good, good + "\n", " " + good, good + "="})
    EXPECT_NE(refusal(text), "") << text;
  // The library would stop the program.
  auto header = good.substr(0, good.find('.'));
  for (const auto& text :
       {std::string("eyJhbGciw=XMi.e30.e30"), header + ".e3=0.e30", header + ".e30.A=AA"})
    EXPECT_EQ(refusal(text), "it is not a JWT") << text;
  EXPECT_EQ(
    refusal(with_header(R"({"alg":"ES256","kid":"e","crit":["b64"],"b64":false})", good)),
    "its header has crit, of which no extension is known");
  EXPECT_EQ(
    refusal(with_header("{\"alg\":\"ES256\",\"kid\":\"" + std::string(300, 'k') + "\"}", good)),
    "its kid is too long");
  EXPECT_EQ(
    refusal(with_header(
      R"({"alg":"ES256","kid":"e","x":)" + std::string(100, '[') + std::string(100, ']') + "}",
      good)),
    "its header is not base64url of a JSON object");
  EXPECT_EQ(
    refusal(std::string(limits::jwt_header_bytes_max + 1, 'a') + ".e30.e30"), "it is not a JWT");
  EXPECT_NE(refusal(with_header(R"({"alg":"none","kid":"e","alg":"ES256"})", good)), "");
}

TEST(JwtClaims, OfAWorkerAreThoseOfCodeq) {
  auto who = read(worker_claims());

  ASSERT_TRUE(who) << who.error().context;
  EXPECT_EQ(who->subject, "worker-1");
  EXPECT_EQ(who->tenant, "shop");
  EXPECT_EQ(who->role, role::worker);
  EXPECT_EQ(who->queues, (std::vector<std::string>{"mail", "print"}));
  EXPECT_EQ(to_string(who->scopes), "codeq:claim,codeq:result");
  EXPECT_EQ(who->expires, now + std::chrono::seconds(60) + limits::jwt_leeway);
  EXPECT_EQ(read(with("eventTypes", {"mail", "*"}))->queues, std::vector<std::string>{"*"});
  EXPECT_EQ(
    read(with("eventTypes", "mail print"))->queues, (std::vector<std::string>{"mail", "print"}));
}

TEST(JwtClaims, OfAProducerNameNoQueues) {
  auto claims = without("eventTypes");
  auto who = read(claims);

  ASSERT_TRUE(who) << who.error().context;
  EXPECT_EQ(who->role, role::producer);
  EXPECT_TRUE(who->may_produce());
  EXPECT_FALSE(who->may_operate());
  EXPECT_FALSE(who->may_claim({"shop", "mail"}));
  claims["role"] = "ADMIN";
  EXPECT_EQ(read(claims)->role, role::admin);
  claims["role"] = "USER";
  EXPECT_EQ(read(claims)->role, role::producer) << "an unknown role gives no right";
}

TEST(JwtClaims, NameTheStrongestRole) {
  EXPECT_EQ(read(with("role", {"worker", "producer"}))->role, role::producer_worker);
  EXPECT_EQ(read(with("role", "worker producer"))->role, role::producer_worker);
  EXPECT_EQ(read(with("role", {"reader", "admin"}))->role, role::admin);
  EXPECT_EQ(read(with("role", "reader"))->role, role::reader);
  auto metrics = read(with("role", "metrics"));
  EXPECT_EQ(metrics->role, role::metrics);
  EXPECT_EQ(metrics->tenant, "*");
  EXPECT_FALSE(metrics->may_read() || metrics->may_work() || metrics->may_inspect());
  auto by = rules();
  by.role_values = {{"queue-operators", role::admin}};
  EXPECT_EQ(read(with("role", {"staff", "queue-operators"}), by)->role, role::admin);
  EXPECT_EQ(read(with("role", {"staff", "queue-operators"}))->role, role::worker);
}

TEST(JwtClaims, ThatAreMissingGiveAWorkerNothing) {
  auto claims = with("role", "worker");
  claims.erase("scope");
  claims.erase("eventTypes");
  auto who = read(claims);

  ASSERT_TRUE(who) << who.error().context;
  EXPECT_TRUE(who->scopes.empty());
  EXPECT_FALSE(who->may_claim({"shop", "mail"}));
}

TEST(JwtClaims, AreFoundUnderOtherNamesAndAtPaths) {
  auto by = rules();
  by.claims = {"azp", "https://claims.test/tenant", "realm_access.roles", "scp", "codeq.queues"};
  json::object claims{
    {"iss", "https://issuer.test"},
    {"aud", {"other", "codeq"}},
    {"azp", "w"},
    {"https://claims.test/tenant", "t"},
    {"exp", static_cast<double>(seconds(now)) + 0.5},
    {"realm_access", {{"roles", {"offline", "worker"}}}},
    {"scp", {"codeq:nack"}},
    {"codeq", {{"queues", {"q"}}}}};

  auto who = read(claims, by);

  ASSERT_TRUE(who) << who.error().context;
  EXPECT_EQ(who->subject, "w");
  EXPECT_EQ(who->tenant, "t");
  EXPECT_EQ(who->role, role::worker);
  EXPECT_EQ(to_string(who->scopes), "codeq:nack");
  EXPECT_EQ(who->queues, std::vector<std::string>{"q"});
}

TEST(JwtClaims, OfAnotherIssuerOrAudienceAreRefused) {
  constexpr auto issuer = "its iss is another issuer";
  constexpr auto audience = "its aud is another audience";
  EXPECT_EQ(refusal(with("iss", "https://evil.test")), issuer);
  EXPECT_EQ(refusal(with("iss", "https://issuer.test/")), issuer);
  EXPECT_EQ(refusal(with("iss", {"https://issuer.test"})), issuer);
  EXPECT_EQ(refusal(without("iss")), issuer);
  EXPECT_EQ(refusal(with("aud", "codeq other")), audience);
  EXPECT_EQ(refusal(with("aud", {"other"})), audience);
  EXPECT_EQ(refusal(with("aud", 1)), audience);
  EXPECT_EQ(refusal(without("aud")), audience);
}

TEST(JwtClaims, AreValidFromTheirTimeUntilTheirTime) {
  auto at = [](std::int64_t offset) { return seconds(now) + offset; };
  EXPECT_TRUE(refusal(with("exp", at(-31))).starts_with("it has expired at "));
  EXPECT_TRUE(refusal(with("exp", at(-30))).starts_with("it has expired at "));
  EXPECT_EQ(refusal(with("exp", at(-29))), "") << "the clocks may be apart";
  EXPECT_EQ(refusal(without("exp")), "it has no exp");
  for (json::value bad : {json::value("soon"), json::value(-1), json::value(1e300), json::value()})
    EXPECT_EQ(refusal(with("exp", bad)), "it has no exp");
  EXPECT_EQ(refusal(with("nbf", at(31))), "its nbf is in the future");
  EXPECT_EQ(refusal(with("nbf", at(29))), "");
  EXPECT_EQ(refusal(with("nbf", "x")), "its nbf is not a time");
  EXPECT_EQ(refusal(with("iat", at(3600))), "its iat is in the future");
  EXPECT_EQ(refusal(with("iat", at(-3600))), "");
}

TEST(JwtClaims, NeedASubjectAndATenant) {
  EXPECT_EQ(refusal(without("sub")), "it names no subject");
  EXPECT_EQ(refusal(with("sub", "")), "it names no subject");
  EXPECT_EQ(refusal(without("tenantId")), "it names no tenant, and there is no default");
  EXPECT_EQ(refusal(with("tenantId", "*")), "its tenant is not a valid name");
  EXPECT_EQ(refusal(with("tenantId", "a/b")), "its tenant is not a valid name");
  auto by = rules();
  by.default_tenant = "main";
  EXPECT_EQ(read(without("tenantId"), by)->tenant, "main");
  EXPECT_EQ(refusal(with("tenantId", 1), by), "its tenant is not a valid name");
  auto all = with("tenantId", "*");
  all["role"] = "admin";
  EXPECT_TRUE(read(all)->is_of_all_tenants());
}

TEST(JwtClaims, SubjectsWithOtherCharactersGetDifferentNames) {
  auto one = read(with("sub", "auth0|ada"));
  auto two = read(with("sub", "auth0/ada"));
  auto three = read(with("sub", json::string(1000, '@')));

  ASSERT_TRUE(one && two && three);
  EXPECT_TRUE(one->subject.starts_with("auth0_ada-")) << one->subject;
  EXPECT_NE(one->subject, two->subject);
  EXPECT_NE(one->token, two->token);
  EXPECT_TRUE(is_valid_name(three->subject));
  EXPECT_EQ(one->token, read(with("sub", "auth0|ada"))->token) << "they share a rate";
}

TEST(JwtClaims, AreBounded) {
  json::array many(limits::queues_per_token_max + 1);
  for (auto& queue : many)
    queue = "q";
  EXPECT_EQ(refusal(with("eventTypes", many)), "it names too many queues");
  EXPECT_EQ(refusal(with("eventTypes", {"a/b"})), "it names a queue that has no valid name");
  auto deep = "{\"a\":" + std::string(9, '[') + std::string(9, ']') + "}";
  for (const auto& text : {std::string("[]"), std::string(), deep})
    EXPECT_EQ(
      principal_of(text, rules(), now).error().context,
      "its claims are not a JSON object of bounded depth");
}

} // namespace codeq::security
