// SPDX-License-Identifier: Apache-2.0
#include "base/rfc3339.hpp"
#include "security/access_limits.hpp"
#include "security/authenticator.hpp"
#include "security/token.hpp"
#include "support/temporary_directory.hpp"

#include "test_issuer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

namespace codeq::security {

namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::seconds;

/// A token file with the tokens `one`, and `short` until 10:00; and an issuer with one key.
class Authenticator : public testing::Test {
protected:
  Authenticator() {
    write_tokens(line("one", "") + line("short", " expires=2026-05-20T10:00:00Z"));
    options_.tokens = token_source::open(file_).value();
    keys_ = std::make_shared<key_source>(hours(24), [this] { ++wanted_; });
    options_.keys = keys_;
    options_.rules.issuers = {"https://issuer.test"};
    options_.rules.audiences = {"codeq"};
    options_.now = [this] { return now_; };
    options_.on_refused = [this](const error& reason) { reason_ = reason.context; };
    publish({key_});
    reset();
  }

  void reset() { check_ = std::make_unique<authenticator>(options_); }

  static std::string line(const std::string& token, const std::string& more) {
    return "sha256=" + to_text(digest_of(token)) + " subject=" + token
           + " tenant=shop role=producer" + more + "\n";
  }

  void write_tokens(const std::string& text) { std::ofstream(file_) << text; }

  void publish(const std::vector<test_key>& keys) {
    json::array list;
    for (const auto& key : keys)
      list.push_back(key.jwk());
    keys_->replace(parse_jwk_set(set_of(list)).value(), now_);
  }

  /// A JWT that expires after that time.
  std::string jwt(seconds lifetime, json::object more = {}, const char* subject = "ada") {
    auto until = now_ + lifetime;
    more["iss"] = more.contains("iss") ? more["iss"] : "https://issuer.test";
    more["aud"] = more.contains("aud") ? more["aud"] : "codeq";
    more["sub"] = subject;
    more["tenantId"] = "shop";
    more["exp"] = until.time_since_epoch().count() / 1000;
    return key_.sign(json::serialize(more), "ES256");
  }

  /// Why the bearer is refused; empty when it is not.
  std::string refusal(const std::string& bearer) {
    reason_.clear();
    bool is_known = check_->authenticate(bearer) != nullptr;
    EXPECT_EQ(is_known, reason_.empty());
    return reason_;
  }

  test::temporary_directory directory_;
  std::filesystem::path file_ = directory_.path() / "tokens";
  timestamp now_ = base::parse_rfc3339("2026-05-20T09:00:00Z").value();
  test_key key_ = test_key::ec("k1");
  std::shared_ptr<key_source> keys_;
  int wanted_ = 0;
  std::string reason_;
  authenticator::options options_;
  std::unique_ptr<authenticator> check_;
};

} // namespace

TEST_F(Authenticator, KnowsTokensOfTheFileUntilTheyExpire) {
  EXPECT_EQ(refusal("one"), "");
  EXPECT_EQ(refusal("short"), "");
  EXPECT_EQ(refusal("other"), "it is not known");
  EXPECT_EQ(
    refusal(std::string(limits::bearer_bytes_max + 1, 'x')),
    "it has more than 3072 bytes");
  auto who = check_->authenticate("short");

  now_ += hours(1);

  EXPECT_EQ(
    refusal("short"),
    "it has expired at " + to_string(*who->expires)
      + ", subject short; `codeqctl token rotate` makes a new one");
  EXPECT_EQ(refusal("one"), "");
  EXPECT_EQ(check_->review(*who).error().code, errc::going_away);
}

TEST_F(Authenticator, ReviewsSessionsOfTheFile) {
  auto one = check_->authenticate("one");
  auto other = check_->authenticate("short");
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(check_->review(*one));

  write_tokens(line("one", " rate-claim=5"));
  ASSERT_TRUE(options_.tokens->reload());

  EXPECT_EQ(check_->review(*one).error().code, errc::going_away) << "it has other rights";
  EXPECT_EQ(check_->review(*other).error().code, errc::unauthorized) << "it was revoked";
}

TEST_F(Authenticator, KnowsJwtsUntilTheyExpire) {
  auto good = jwt(seconds(60));
  auto who = check_->authenticate(good);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->subject, "ada");
  EXPECT_EQ(check_->authenticate(good), who) << "it is verified once";

  now_ += seconds(60) + limits::jwt_leeway - duration(1);
  EXPECT_TRUE(check_->review(*who));
  EXPECT_EQ(refusal(good), "");
  now_ += duration(1);

  EXPECT_EQ(
    refusal(good),
    "it has expired at " + to_string(*who->expires)
      + ", subject ada; its issuer has to sign a new one");
  EXPECT_EQ(check_->review(*who).error().code, errc::going_away);
  reset();
  EXPECT_TRUE(refusal(good).starts_with("it has expired at 2026-05-20 "));
}

TEST_F(Authenticator, RefusesWithTheReasonThatFits) {
  EXPECT_EQ(refusal(jwt(seconds(60), {{"iss", "x"}})), "its iss is another issuer");
  EXPECT_EQ(refusal(jwt(seconds(60), {{"aud", "x"}})), "its aud is another audience");
  EXPECT_EQ(refusal("a.b.c"), "it is not a JWT");
  EXPECT_EQ(refusal("YWJj.e30.e30"), "its header is not base64url of a JSON object");
  auto tampered = jwt(seconds(60));
  auto& last = tampered[tampered.size() - 9];
  last = last == 'A' ? 'B' : 'A';
  EXPECT_EQ(refusal(tampered), "its signature is wrong");
  EXPECT_EQ(wanted_, 0);
}

TEST_F(Authenticator, AsksForKeysWhenATokenNamesAnUnknownOne) {
  auto old = jwt(seconds(600));
  auto old_key = key_;
  key_ = test_key::ec("k2");
  auto fresh = jwt(seconds(600));
  EXPECT_EQ(refusal(fresh), "its kid is not among the keys");
  EXPECT_EQ(wanted_, 1);

  publish({old_key, key_});

  EXPECT_EQ(refusal(fresh), "");
  EXPECT_EQ(refusal(old), "") << "both keys are valid during a rotation";
  auto who = check_->authenticate(old);
  EXPECT_TRUE(check_->review(*who));
  publish({key_});
  EXPECT_EQ(refusal(old), "its kid is not among the keys");
  EXPECT_EQ(check_->review(*who).error().code, errc::going_away);
  EXPECT_EQ(refusal(fresh), "");
}

TEST_F(Authenticator, RefusesJwtsWithoutFreshKeys) {
  auto good = jwt(seconds(3 * 24 * 3600));
  auto who = check_->authenticate(good);
  now_ += hours(24);

  EXPECT_EQ(refusal(good), "there are no keys, or only stale ones, to verify it");
  EXPECT_EQ(wanted_, 1);
  EXPECT_TRUE(check_->review(*who)) << "nothing says that its key was withdrawn";
  EXPECT_EQ(refusal("one"), "");
}

TEST_F(Authenticator, KnowsNoJwtWithoutKeys) {
  options_.keys = nullptr;
  reset();

  EXPECT_EQ(refusal(jwt(seconds(60))), "it is not known");
  EXPECT_EQ(refusal("one"), "");
}

TEST_F(Authenticator, KnowsJwtsWithoutATokenFile) {
  options_.tokens = nullptr;
  reset();

  EXPECT_EQ(refusal("one"), "it is not known");
  EXPECT_EQ(refusal(jwt(seconds(60))), "");
}

} // namespace codeq::security
