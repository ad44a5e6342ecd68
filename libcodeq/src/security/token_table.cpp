// SPDX-License-Identifier: Apache-2.0
#include "security/token_table.hpp"

#include "codeq/limits.hpp"

#include "base/rfc3339.hpp"
#include "base/errors.hpp"
#include "security/access_limits.hpp"
#include "security/token.hpp"

#include <charconv>
#include <set>

namespace codeq::security {

namespace {

using base::wrong;

constexpr std::array<std::string_view, rate_scopes> rate_fields{
  "rate-producer", "rate-claim", "rate-admin"};

constexpr std::string_view blanks = " \t\r";

std::uint64_t beginning_of(const token_digest& digest) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i)
    number = number << 8 | digest[i];
  return number;
}

constexpr auto name_rule = "1 to 128 letters, digits, `.`, `_` or `-`";

result<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t number = 0;
  auto [end, status] = std::from_chars(text.begin(), text.end(), number);
  if (status != std::errc{} || end != text.end() || number < 1 || number > limits::rate_max)
    return wrong(
      "must be PER_SECOND or PER_SECOND:BURST, each 1.." + std::to_string(limits::rate_max));
  return number;
}

/// Takes the next word of a line; empty at its end.
std::string_view take_word(std::string_view& rest) {
  auto begin = rest.find_first_not_of(blanks);
  if (begin == rest.npos)
    return rest = {};
  rest.remove_prefix(begin);
  auto word = rest.substr(0, rest.find_first_of(blanks));
  rest.remove_prefix(word.size());
  return word;
}

/// Reads one of the rates, which are the last fields that a line may have.
result<void> read_rate(std::string_view name, std::string_view value, principal& to) {
  for (std::size_t i = 0; i < rate_fields.size(); ++i) {
    if (name != rate_fields[i])
      continue;
    auto limit = parse_rate(value);
    if (!limit)
      return limit.error();
    to.rates[i] = *limit;
    return {};
  }
  return wrong(
    "is not a field; there are sha256, subject, tenant, role, queues, scopes, expires, "
    "rate-producer, rate-claim and rate-admin");
}

result<void> read_field(std::string_view name, std::string_view value, principal& to) {
  if (name == "sha256") {
    auto digest = parse_digest(value);
    if (!digest)
      return wrong("must be 64 digits of 0-9 and a-f");
    to.token = *digest;
    return {};
  }
  if (name == "subject" || name == "tenant") {
    (name == "subject" ? to.subject : to.tenant) = value;
    return {};
  }
  if (name == "role") {
    auto what = parse_role(value);
    if (!what)
      return what.error();
    to.role = *what;
    return {};
  }
  if (name == "queues") {
    to.queues = split_names(value);
    return {};
  }
  if (name == "scopes") {
    auto scopes = parse_scopes(value);
    if (!scopes)
      return scopes.error();
    to.scopes = *scopes;
    return {};
  }
  if (name == "expires") {
    to.expires = base::parse_rfc3339(value);
    return to.expires ? result<void>{} : wrong("must be a time like 2026-05-20T10:00:00Z");
  }
  return read_rate(name, value, to);
}

/// A field's name for an error text, shortened because it could be a token by mistake.
std::string shown(std::string_view name) {
  constexpr std::size_t longest = 16;
  bool is_plain = name.size() <= longest && is_valid_name(name);
  return is_plain ? std::string(name) : "a word of " + std::to_string(name.size()) + " bytes";
}

result<principal> parse_line(std::string_view line) {
  principal who;
  std::set<std::string_view> seen;
  for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
    auto equals = word.find('=');
    if (equals == word.npos)
      return wrong("a word of " + std::to_string(word.size()) + " bytes is not field=value");
    auto name = word.substr(0, equals);
    if (auto ok = read_field(name, word.substr(equals + 1), who); !ok)
      return error{ok.error().code, shown(name) + " " + ok.error().context};
    if (!seen.insert(name).second)
      return wrong(std::string(name) + " is there twice");
  }
  for (std::string_view name : {"sha256", "subject", "tenant", "role"})
    if (!seen.contains(name))
      return wrong(std::string(name) + " is missing");
  if (auto ok = check(who); !ok)
    return ok.error();
  return who;
}

result<void> check_queues(const principal& who) {
  if (!who.may_work() && !who.queues.empty())
    return wrong("queues is for workers only");
  if (!who.may_work() && who.scopes != scope_set::all())
    return wrong("scopes is for workers only");
  if (who.may_work() && who.queues.empty())
    return wrong("queues is missing; a worker's token names queues or has `*`");
  if (who.queues.size() > limits::queues_per_token_max)
    return error{
      errc::too_large,
      "queues has " + std::to_string(who.queues.size()) + " names; the limit is "
        + std::to_string(limits::queues_per_token_max)};
  for (const auto& queue : who.queues)
    if (!is_valid_name(queue) && !(queue == everything && who.queues.size() == 1))
      return wrong(
        std::string("queues must be names of ") + name_rule + " with commas between them, or `*`");
  return {};
}

} // namespace

token_table::token_table(std::vector<principal> principals) {
  for (auto& who : principals) {
    places_.emplace(beginning_of(who.token), principals_.size());
    subjects_.emplace(who.subject, principals_.size());
    principals_.push_back(std::make_shared<const principal>(std::move(who)));
  }
}

std::shared_ptr<const principal> token_table::authenticate(std::string_view bearer) const {
  if (bearer.empty() || bearer.size() > limits::bearer_bytes_max)
    return nullptr;
  return find(digest_of(bearer));
}

std::shared_ptr<const principal> token_table::find(const token_digest& digest) const {
  std::shared_ptr<const principal> found;
  auto [from, to] = places_.equal_range(beginning_of(digest));
  for (auto at = from; at != to; ++at)
    if (is_same(principals_[at->second]->token, digest))
      found = principals_[at->second];
  return found;
}

std::vector<std::shared_ptr<const principal>>
token_table::find_subject(std::string_view subject) const {
  std::vector<std::shared_ptr<const principal>> found;
  auto [from, to] = subjects_.equal_range(subject);
  for (auto at = from; at != to; ++at)
    found.push_back(principals_[at->second]);
  return found;
}

result<token_table> parse_tokens(std::string_view text) {
  if (text.size() > limits::token_file_bytes_max)
    return error{
      errc::too_large,
      "the token file has " + std::to_string(text.size()) + " bytes; the limit is "
        + std::to_string(limits::token_file_bytes_max)};
  std::vector<principal> principals;
  std::set<token_digest> digests;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    auto first = line.find_first_not_of(blanks);
    if (first == line.npos || line[first] == '#')
      continue;
    auto at_line = [&](const error& reason) {
      return error{reason.code, "line " + std::to_string(number) + ": " + reason.context};
    };
    auto who = parse_line(line);
    if (!who)
      return at_line(who.error());
    if (!digests.insert(who->token).second)
      return at_line(wrong("sha256 is the same as on an earlier line"));
    if (principals.size() == limits::tokens_max)
      return at_line(
        {errc::too_large, "there may be " + std::to_string(limits::tokens_max) + " tokens"});
    principals.push_back(std::move(*who));
  }
  return token_table(std::move(principals));
}

std::string to_line(const principal& who) {
  std::string line = "sha256=" + to_text(who.token) + " subject=" + who.subject
                     + " tenant=" + who.tenant + " role=" + std::string(to_string(who.role));
  for (std::size_t i = 0; i < who.queues.size(); ++i)
    line += (i == 0 ? " queues=" : ",") + who.queues[i];
  if (who.scopes != scope_set::all())
    line += " scopes=" + to_string(who.scopes);
  if (who.expires)
    line += " expires=" + base::to_rfc3339(*who.expires);
  for (std::size_t i = 0; i < rate_scopes; ++i)
    if (who.rates[i].per_second != 0)
      line += " " + std::string(rate_fields[i]) + "=" + std::to_string(who.rates[i].per_second)
              + ":" + std::to_string(who.rates[i].burst);
  return line;
}

result<rate> parse_rate(std::string_view text) {
  auto colon = text.find(':');
  auto per_second = parse_number(text.substr(0, colon));
  if (!per_second)
    return per_second.error();
  auto burst = colon == text.npos ? per_second : parse_number(text.substr(colon + 1));
  if (!burst)
    return burst.error();
  return rate{*per_second, *burst};
}

result<void> check(const principal& who) {
  if (!is_valid_name(who.subject))
    return wrong(std::string("subject must be ") + name_rule);
  bool may_be_all = who.may_inspect() || who.role == role::metrics;
  if (who.is_of_all_tenants() ? !may_be_all : !is_valid_name(who.tenant))
    return wrong(std::string("tenant must be ") + name_rule + ", or, of an admin or reader, `*`");
  if (who.role == role::metrics && !who.is_of_all_tenants())
    return wrong("tenant of a metrics token must be `*`, since metrics are of the whole process");
  return check_queues(who);
}

std::string_view to_string(role what) noexcept {
  switch (what) {
  case role::producer:
    return "producer";
  case role::worker:
    return "worker";
  case role::admin:
    return "admin";
  case role::producer_worker:
    return "producer-worker";
  case role::reader:
    return "reader";
  case role::metrics:
    return "metrics";
  }
  return "unknown";
}

result<role> parse_role(std::string_view text) {
  for (auto what : all_roles)
    if (text == to_string(what))
      return what;
  return wrong("must be producer, worker, producer-worker, admin, reader or metrics");
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  for (;;) {
    auto name = text.substr(0, text.find(','));
    names.emplace_back(name);
    if (name.size() == text.size())
      return names;
    text.remove_prefix(name.size() + 1);
  }
}

} // namespace codeq::security
