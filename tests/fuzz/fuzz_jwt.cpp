// SPDX-License-Identifier: Apache-2.0
#include "security/jwt.hpp"

#include <cstdlib>
#include <string_view>

namespace {

using namespace codeq;

/// A public key; nobody has the private one, so no token may ever be verified with it.
const security::jwk_set& keys() {
  static const auto set =
    security::parse_jwk_set(R"({"keys":[{"kty":"EC","crv":"P-256","kid":"k",
      "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})")
      .value();
  return set;
}

void read_token(std::string_view text) {
  auto jwt = security::signed_jwt::read(text);
  if (!jwt)
    return;
  if (jwt->verify(*keys().find("k")))
    std::abort();
}

void read_claims(std::string_view text) {
  security::jwt_rules rules;
  rules.issuers = {"i"};
  rules.audiences = {"a"};
  auto who = security::principal_of(text, rules, timestamp{duration{1'700'000'000'000}});
  if (!who)
    return;
  bool is_sound = is_valid_name(who->subject) && who->expires
                  && (is_valid_name(who->tenant) || who->is_of_all_tenants());
  if (!is_sound || (who->role == security::role::worker && who->is_of_all_tenants()))
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.empty())
    return 0;
  auto kind = text.front();
  text.remove_prefix(1);
  if (kind == 't')
    read_token(text);
  else if (kind == 'c')
    read_claims(text);
  else
    static_cast<void>(security::parse_jwk_set(text));
  return 0;
}
