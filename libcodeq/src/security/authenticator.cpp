// SPDX-License-Identifier: Apache-2.0
#include "security/authenticator.hpp"

#include "base/errors.hpp"
#include "security/access_limits.hpp"
#include "security/token.hpp"

#include <utility>

namespace codeq::security {

namespace {

using base::refused;

/// Tokens of the token file have no dot.
bool is_jwt(std::string_view bearer) {
  return bearer.find('.') != std::string_view::npos;
}

/// When the token expired, whose it is, and where a new one comes from.
std::string expiry_of(const principal& who) {
  auto renewal = who.signing_key ? "its issuer has to sign a new one"
                                 : "`codeqctl token rotate` makes a new one";
  return "has expired at " + codeq::to_string(*who.expires) + ", subject " + who.subject + "; "
         + renewal;
}

} // namespace

std::shared_ptr<const principal> authenticator::authenticate(std::string_view bearer) const {
  if (bearer.empty())
    return nullptr;
  auto who = find(bearer, options_.now());
  if (who)
    return *who;
  if (options_.on_refused)
    options_.on_refused(who.error());
  return nullptr;
}

result<std::shared_ptr<const principal>>
authenticator::find(std::string_view bearer, timestamp now) const {
  if (bearer.size() > limits::bearer_bytes_max)
    // Without its size, since the log has lines of its own for each reason.
    return refused("it has more than " + std::to_string(limits::bearer_bytes_max) + " bytes");
  if (is_jwt(bearer) && options_.keys)
    return check_jwt(bearer, now);
  auto who = options_.tokens ? options_.tokens->current()->authenticate(bearer) : nullptr;
  if (!who)
    return refused("it is not known");
  if (who->is_expired(now))
    return refused("it " + expiry_of(*who));
  return who;
}

result<std::shared_ptr<const principal>>
authenticator::check_jwt(std::string_view text, timestamp now) const {
  auto keys = options_.keys->current(now);
  if (!keys) {
    options_.keys->want_refresh();
    return refused("there are no keys, or only stale ones, to verify it");
  }
  auto digest = digest_of(text);
  if (auto known = recall(digest, keys)) {
    if (known->is_expired(now))
      return refused("it " + expiry_of(*known));
    return known;
  }
  auto jwt = signed_jwt::read(text);
  if (!jwt)
    return jwt.error();
  const auto* key = keys->find(jwt->key_id());
  if (!key) {
    options_.keys->want_refresh();
    return refused("its kid is not among the keys");
  }
  auto claims = jwt->verify(*key);
  if (!claims)
    return claims.error();
  auto who = principal_of(*claims, options_.rules, now);
  if (!who)
    return who.error();
  who->signing_key = key->digest;
  auto shared = std::make_shared<const principal>(std::move(*who));
  remember(digest, keys, shared);
  return shared;
}

std::shared_ptr<const principal>
authenticator::recall(const token_digest& jwt, const std::shared_ptr<const jwk_set>& keys) const {
  std::lock_guard lock(mutex_);
  if (verified_with_ != keys)
    return nullptr;
  auto at = verified_.find(jwt);
  return at == verified_.end() ? nullptr : at->second;
}

void authenticator::remember(
  const token_digest& jwt,
  const std::shared_ptr<const jwk_set>& keys,
  const std::shared_ptr<const principal>& who) const {
  std::lock_guard lock(mutex_);
  if (verified_with_ != keys || verified_.size() >= limits::verified_jwts_max)
    verified_.clear();
  verified_with_ = keys;
  verified_.emplace(jwt, who);
}

result<void> authenticator::review(const principal& who) const {
  auto now = options_.now();
  // The node connects again, with a newer token if it has one.
  if (who.is_expired(now))
    return error{errc::going_away, "the token " + expiry_of(who)};
  if (who.signing_key) {
    // Without fresh keys a session goes on until its token expires.
    auto keys = options_.keys ? options_.keys->current(now) : nullptr;
    if (keys && !keys->contains(*who.signing_key))
      return error{errc::going_away, "the key of the token was withdrawn"};
    return {};
  }
  auto current = options_.tokens ? options_.tokens->current()->find(who.token) : nullptr;
  if (!current)
    return refused("the token was revoked");
  if (*current != who)
    return error{errc::going_away, "the token was changed"};
  return {};
}

} // namespace codeq::security
