// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "security/access_limits.hpp"
#include "security/bounded_json.hpp"
#include "security/jwt.hpp"
#include "security/token.hpp"
#include "security/token_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

namespace codeq::security {

namespace {

using base::refused;

namespace json = boost::json;

/// The latest time that a claim may name, in seconds since 1970: the year 9999.
constexpr double seconds_max = 253'402'300'799.0;
constexpr std::size_t subject_prefix_max = 100;

/// The claim with that name or, if there is none, at that path.
const json::value* find_claim(const json::object& claims, std::string_view name) {
  const auto* at = &claims;
  while (at) {
    if (const auto* value = at->if_contains(name))
      return value;
    auto dot = name.find('.');
    const auto* outer = dot == name.npos ? nullptr : at->if_contains(name.substr(0, dot));
    at = outer ? outer->if_object() : nullptr;
    name.remove_prefix(at ? dot + 1 : 0);
  }
  return nullptr;
}

std::string text_in(const json::value* value) {
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::string(*text) : std::string();
}

/// The texts of an array, or the words of a text; other elements are left out.
std::vector<std::string> texts_of(const json::value* value) {
  std::vector<std::string> texts;
  if (const auto* list = value ? value->if_array() : nullptr) {
    for (const auto& one : *list)
      if (one.is_string())
        texts.emplace_back(one.get_string());
    return texts;
  }
  auto rest = text_in(value);
  for (std::size_t at = 0; at < rest.size();) {
    auto end = std::min(rest.find(' ', at), rest.size());
    if (end > at)
      texts.push_back(rest.substr(at, end - at));
    at = end + 1;
  }
  return texts;
}

/// A time in seconds since 1970, whole or not. Empty when the claim is missing or is no time.
std::optional<timestamp> time_of(const json::object& claims, std::string_view name) {
  const auto* value = claims.if_contains(name);
  if (!value || !value->is_number())
    return std::nullopt;
  auto seconds = value->to_number<double>();
  if (!std::isfinite(seconds) || seconds < 0 || seconds > seconds_max)
    return std::nullopt;
  return timestamp{duration{static_cast<std::int64_t>(seconds * 1000)}};
}

result<void> check_times(const json::object& claims, timestamp now) {
  auto until = time_of(claims, "exp");
  if (!until)
    return refused("it has no exp");
  if (now >= *until + limits::jwt_leeway)
    return refused("it has expired at " + codeq::to_string(*until));
  for (std::string_view name : {"nbf", "iat"}) {
    if (!claims.contains(name))
      continue;
    auto from = time_of(claims, name);
    if (!from)
      return refused("its " + std::string(name) + " is not a time");
    if (*from > now + limits::jwt_leeway)
      return refused("its " + std::string(name) + " is in the future");
  }
  return {};
}

bool has_any(const std::vector<std::string>& wanted, const std::vector<std::string>& given) {
  return std::any_of(given.begin(), given.end(), [&](const std::string& one) {
    return std::find(wanted.begin(), wanted.end(), one) != wanted.end();
  });
}

/// One text or an array of texts; unlike scopes, a text is one value.
std::vector<std::string> audiences_of(const json::object& claims) {
  const auto* value = claims.if_contains("aud");
  if (value && value->is_string())
    return {text_in(value)};
  return value && value->is_array() ? texts_of(value) : std::vector<std::string>{};
}

result<void> check_origin(const json::object& claims, const jwt_rules& rules) {
  if (!has_any(rules.issuers, {text_in(claims.if_contains("iss"))}))
    return refused("its iss is another issuer");
  if (!has_any(rules.audiences, audiences_of(claims)))
    return refused("its aud is another audience");
  return {};
}

/// A valid name for a subject. One with other characters gets a part of its digest, so that two
/// subjects never have one name.
std::string name_of(const std::string& subject) {
  if (is_valid_name(subject))
    return subject;
  auto name = subject.substr(0, subject_prefix_max);
  for (auto& c : name)
    if (!is_valid_name(std::string_view(&c, 1)))
      c = '_';
  return name + "-" + short_name(digest_of(subject));
}

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::optional<role> role_named(const std::string& value, const jwt_rules& rules) {
  for (const auto& [name, what] : rules.role_values)
    if (name == value)
      return what;
  for (auto what : all_roles)
    if (is_same_word(value, to_string(what)))
      return what;
  return std::nullopt;
}

role role_of(const json::object& claims, const jwt_rules& rules, bool names_queues) {
  std::array<bool, all_roles.size()> given{};
  for (const auto& value : texts_of(find_claim(claims, rules.claims.role)))
    if (auto what = role_named(value, rules))
      given[static_cast<std::size_t>(*what)] = true;
  auto has = [&](role what) { return given[static_cast<std::size_t>(what)]; };
  if (has(role::producer) && has(role::worker))
    given[static_cast<std::size_t>(role::producer_worker)] = true;
  for (auto what :
       {role::admin,
        role::producer_worker,
        role::producer,
        role::worker,
        role::reader,
        role::metrics})
    if (has(what))
      return what;
  return names_queues ? role::worker : role::producer;
}

result<std::vector<std::string>> queues_of(const json::object& claims, const jwt_rules& rules) {
  auto queues = texts_of(find_claim(claims, rules.claims.queues));
  if (queues.size() > limits::queues_per_token_max)
    return refused("it names too many queues");
  if (std::find(queues.begin(), queues.end(), everything) != queues.end())
    return std::vector{std::string(everything)};
  for (const auto& queue : queues)
    if (!is_valid_name(queue))
      return refused("it names a queue that has no valid name");
  return queues;
}

scope_set scopes_of(const json::object& claims, const jwt_rules& rules) {
  scope_set scopes;
  for (const auto& name : texts_of(find_claim(claims, rules.claims.scopes)))
    if (auto one = parse_scope(name))
      scopes.add(*one);
  return scopes;
}

/// The tenant of a bearer with that role. Errors: `unauthorized`.
result<std::string> tenant_of(const json::object& claims, const jwt_rules& rules, role what) {
  if (what == role::metrics)
    return std::string(everything);
  const auto* claim = find_claim(claims, rules.claims.tenant);
  auto tenant = claim ? text_in(claim) : rules.default_tenant;
  bool may_be_all = what == role::admin || what == role::reader;
  if (is_valid_name(tenant) || (may_be_all && tenant == everything))
    return tenant;
  return refused(
    claim ? "its tenant is not a valid name" : "it names no tenant, and there is no default");
}

} // namespace

result<principal> principal_of(std::string_view text, const jwt_rules& rules, timestamp now) {
  auto claims = parse_bounded_object(text);
  if (!claims)
    return refused("its claims are not a JSON object of bounded depth");
  if (auto ok = check_times(*claims, now); !ok)
    return ok.error();
  if (auto ok = check_origin(*claims, rules); !ok)
    return ok.error();
  auto subject = text_in(find_claim(*claims, rules.claims.subject));
  if (subject.empty())
    return refused("it names no subject");
  auto queues = queues_of(*claims, rules);
  if (!queues)
    return queues.error();
  principal who;
  who.role = role_of(*claims, rules, !queues->empty());
  auto tenant = tenant_of(*claims, rules, who.role);
  if (!tenant)
    return tenant.error();
  who.subject = name_of(subject);
  who.tenant = std::move(*tenant);
  if (who.may_work()) {
    who.queues = std::move(*queues);
    who.scopes = scopes_of(*claims, rules);
  }
  who.expires = *time_of(*claims, "exp") + limits::jwt_leeway;
  auto issuer = text_in(claims->if_contains("iss"));
  who.token = digest_of(
    "jwt\n" + issuer + "\n" + subject + "\n" + who.tenant + "\n"
    + std::string(to_string(who.role)));
  return who;
}

} // namespace codeq::security
