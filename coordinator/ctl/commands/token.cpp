// SPDX-License-Identifier: Apache-2.0
#include "security/token.hpp"

#include "base/json_writer.hpp"
#include "base/rfc3339.hpp"
#include "base/wall_clock.hpp"
#include "config/access_options.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"
#include "security/access_limits.hpp"
#include "security/private_file.hpp"
#include "security/token_file.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

using std::filesystem::path;

/// The longest overlap of a rotation by default: a day to replace the old token everywhere.
constexpr duration overlap_default = std::chrono::hours(24);

/// Options of `token create`; the parser of the token file validates them.
struct create_options {
  path file;
  std::string subject;
  std::string tenant;
  std::string role;
  /// Names separated by commas, or `*`; empty: none.
  std::string queues;
  /// Names separated by commas; empty: all.
  std::string scopes;
  std::optional<duration> lifetime;
  /// In the format of the token file; empty: none. By scope: producer, claim, admin.
  std::array<std::string, 3> rates;
  /// Empty: standard output.
  path out;
};

struct revoke_options {
  path file;
  /// Prefix of the token's digest.
  std::string name;
};

struct rotate_options {
  revoke_options old;
  std::optional<duration> lifetime;
  duration overlap = overlap_default;
  path out;
};

option file_option(path& target) {
  return required(config::file_option("file", "The coordinator's token file", target));
}

option lifetime_option(std::optional<duration>& target) {
  return duration_option(
    "expires",
    "Lifetime of the token, 1s to 3650d, such as 90d [default: it does not expire]",
    target,
    {std::chrono::seconds(1), limits::token_lifetime_max});
}

option out_option(path& target) {
  return config::file_option(
    "out",
    "File to write the token to, readable by its owner only [default: standard output]",
    target);
}

option token_option(std::string& target) {
  return required(
    placed(plain_option("TOKEN", "TOKEN", "The token's name as `token list` shows it", target)));
}

std::vector<option> create_grammar(create_options& to) {
  constexpr auto rate = "PER_SECOND[:BURST]";
  return {
    file_option(to.file),
    required(name_option("subject", "Name of the token's holder, shown in logs", to.subject)),
    required(plain_option(
      "tenant",
      "NAME",
      "Tenant that the token gives access to; `*`, for admins and readers, is all, and required "
      "for metrics",
      to.tenant)),
    required(plain_option(
      "role",
      "ROLE",
      "What the token allows: producer, worker, producer-worker, admin, reader (reads what an "
      "admin may, and changes nothing) or metrics (reads /metrics only)",
      to.role)),
    plain_option(
      "queues",
      "NAMES",
      "Queues that a worker may use, separated by commas, or `*` for all [default: none]",
      to.queues),
    plain_option(
      "scopes",
      "NAMES",
      "What a worker may do, separated by commas: codeq:claim, codeq:heartbeat, codeq:abandon, "
      "codeq:nack, codeq:result, codeq:subscribe [default: all of them]",
      to.scopes),
    lifetime_option(to.lifetime),
    plain_option(
      "rate-producer", rate, "Maximum rate of enqueued tasks [default: no limit]", to.rates[0]),
    plain_option(
      "rate-claim", rate, "Maximum rate of claimed tasks [default: no limit]", to.rates[1]),
    plain_option(
      "rate-admin",
      rate,
      "Maximum rate of an admin's or a reader's requests to each shard [default: no limit]",
      to.rates[2]),
    out_option(to.out)};
}

std::vector<option> revoke_grammar(revoke_options& to) {
  return {file_option(to.file), token_option(to.name)};
}

std::vector<option> rotate_grammar(rotate_options& to) {
  return {
    file_option(to.old.file),
    token_option(to.old.name),
    lifetime_option(to.lifetime),
    duration_option(
      "overlap",
      "How long the old token stays valid, 0 to 3650d [default: 24h]",
      to.overlap,
      {duration{0}, limits::token_lifetime_max}),
    out_option(to.out)};
}

/// The time at which a token with that lifetime expires.
std::optional<timestamp> end_of(const std::optional<duration>& lifetime) {
  return lifetime ? std::optional(base::wall_now() + *lifetime) : std::nullopt;
}

result<security::principal> principal_of(const create_options& given) {
  security::principal who;
  who.subject = given.subject;
  who.tenant = given.tenant;
  auto role = security::parse_role(given.role);
  if (!role)
    return error{role.error().code, "--role " + role.error().context};
  who.role = *role;
  if (!given.queues.empty())
    who.queues = security::split_names(given.queues);
  if (!given.scopes.empty()) {
    auto scopes = security::parse_scopes(given.scopes);
    if (!scopes)
      return error{scopes.error().code, "--scopes " + scopes.error().context};
    who.scopes = *scopes;
  }
  who.expires = end_of(given.lifetime);
  for (std::size_t i = 0; i < security::rate_scopes; ++i) {
    if (given.rates[i].empty())
      continue;
    auto rate = security::parse_rate(given.rates[i]);
    if (!rate)
      return error{rate.error().code, "a rate " + rate.error().context};
    who.rates[i] = *rate;
  }
  return who;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ",") + name;
  return text;
}

std::string to_text(const security::rate& rate) {
  return rate.per_second == 0 ? "-"
                              : std::to_string(rate.per_second) + ":" + std::to_string(rate.burst);
}

std::string scopes_of(const security::principal& who) {
  if (!who.may_work())
    return "-";
  return who.scopes == security::scope_set::all() ? "*" : to_string(who.scopes);
}

/// When a token expires, and whether it has.
std::string expiry_of(const security::principal& who) {
  if (!who.expires)
    return "-";
  auto text = base::to_rfc3339(*who.expires);
  return who.is_expired(base::wall_now()) ? "expired " + text : text;
}

std::string to_text(const security::token_table& table) {
  std::vector<std::vector<std::string>> rows{
    {"TOKEN",
     "SUBJECT",
     "TENANT",
     "ROLE",
     "QUEUES",
     "SCOPES",
     "EXPIRES",
     "PRODUCER",
     "CLAIM",
     "ADMIN"}};
  for (const auto& who : table.principals())
    rows.push_back(
      {security::short_name(who->token),
       who->subject,
       who->tenant,
       std::string(to_string(who->role)),
       who->queues.empty() ? "-" : joined(who->queues),
       scopes_of(*who),
       expiry_of(*who),
       to_text(who->rates[0]),
       to_text(who->rates[1]),
       to_text(who->rates[2])});
  return format_table(rows);
}

void write_scopes(base::json_writer& out, const security::principal& who) {
  out.begin_array("scopes");
  for (std::size_t i = 0; who.may_work() && i < security::scope_names.size(); ++i)
    if (who.scopes.has(static_cast<security::scope>(i)))
      out.text(security::scope_names[i]);
  out.end_array();
}

std::string to_json(const security::token_table& table) {
  base::json_writer out;
  out.begin_object().begin_array("tokens");
  for (const auto& who : table.principals()) {
    out.begin_object().field("token", security::short_name(who->token));
    out.field("subject", who->subject).field("tenant", who->tenant);
    out.field("role", to_string(who->role)).begin_array("queues");
    for (const auto& queue : who->queues)
      out.text(queue);
    out.end_array();
    write_scopes(out, *who);
    if (who->expires)
      out.field("expires", base::to_rfc3339(*who->expires));
    out.end_object();
  }
  return out.end_array().end_object().take() + "\n";
}

/// A file for a new token; none when it goes to standard output. It is opened before the token is
/// made, so that no token gets lost.
using token_target = std::optional<security::private_file>;

result<token_target> open_target(const path& out, bool may_replace) {
  if (out.empty())
    return token_target();
  auto file = security::private_file::create(out, may_replace);
  if (!file)
    return file.error();
  return token_target(std::move(*file));
}

int show_token(context& with, const std::string& token, token_target& to) {
  if (to) {
    auto written = to->write(token + "\n");
    return written ? exit_done : fail(written.error(), with.json);
  }
  if (!with.json) {
    print(token + "\n");
    return exit_done;
  }
  base::json_writer out;
  out.begin_object().field("token", token).end_object();
  print(out.take() + "\n");
  return exit_done;
}

int create(context& with, const create_options& given) {
  auto who = principal_of(given);
  if (!who)
    return fail(who.error(), with.json);
  auto target = open_target(given.out, false);
  if (!target)
    return fail(target.error(), with.json);
  auto token = security::create_token(given.file, std::move(*who));
  if (!token)
    return fail(token.error(), with.json);
  return show_token(with, *token, *target);
}

int rotate(context& with, const rotate_options& given) {
  auto target = open_target(given.out, true);
  if (!target)
    return fail(target.error(), with.json);
  auto rotated = security::rotate_token(
    given.old.file, given.old.name, end_of(given.lifetime), base::wall_now() + given.overlap);
  if (!rotated)
    return fail(rotated.error(), with.json);
  return show_token(with, rotated->token, *target);
}

int list(context& with, const path& file) {
  auto table = security::read_token_file(file);
  if (!table)
    return fail(table.error(), with.json);
  print(with.json ? to_json(*table) : to_text(*table));
  return exit_done;
}

int revoke(context& with, const revoke_options& given) {
  auto revoked = security::revoke_token(given.file, given.name);
  if (!revoked)
    return fail(revoked.error(), with.json);
  if (!with.json)
    print("revoked the token of " + revoked->subject + ", tenant " + revoked->tenant + "\n");
  return exit_done;
}

} // namespace

void add_token(command_table& to) {
  to.group("token", "Create, list, rotate and revoke access tokens in a coordinator's file");
  to.add(command<create_options>{
    .name = "token create",
    .help = "Add a token to the file and print it, once",
    .grammar = create_grammar,
    .run = create});
  to.add(command<path>{
    .name = "token list",
    .help = "Show what the tokens of the file allow",
    .grammar = [](path& file) { return std::vector{file_option(file)}; },
    .run = list});
  to.add(command<rotate_options>{
    .name = "token rotate",
    .help = "Make a new token with the same rights; the old one stays valid for a while",
    .grammar = rotate_grammar,
    .run = rotate});
  to.add(command<revoke_options>{
    .name = "token revoke",
    .help = "Remove a token from the file",
    .grammar = revoke_grammar,
    .run = revoke});
}

} // namespace codeq::ctl
