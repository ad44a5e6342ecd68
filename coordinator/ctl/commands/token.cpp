// SPDX-License-Identifier: Apache-2.0
#include "security/token.hpp"

#include "base/json_writer.hpp"
#include "config/access_options.hpp"
#include "ctl/command_options.hpp"
#include "ctl/commands.hpp"
#include "ctl/text.hpp"
#include "security/token_file.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

using std::filesystem::path;

/// Options of `token create`; the parser of the token file validates them.
struct create_options {
  path file;
  std::string subject;
  std::string tenant;
  std::string role;
  /// Names separated by commas, or `*`; empty: none.
  std::string queues;
  /// In the format of the token file; empty: none. By scope: producer, claim, admin.
  std::array<std::string, 3> rates;
};

struct revoke_options {
  path file;
  /// Prefix of the token's digest.
  std::string name;
};

option file_option(path& target) {
  return required(config::file_option("file", "The coordinator's token file. Required", target));
}

std::vector<option> create_grammar(create_options& to) {
  constexpr auto rate = "PER_SECOND[:BURST]";
  return {
    file_option(to.file),
    required(
      name_option("subject", "Name of the token's holder, shown in logs. Required", to.subject)),
    required(plain_option(
      "tenant",
      "NAME",
      "Tenant that the token gives access to; `*`, for admins, is all. Required",
      to.tenant)),
    required(plain_option(
      "role", "ROLE", "What the token allows: producer, worker or admin. Required", to.role)),
    plain_option(
      "queues",
      "NAMES",
      "Queues that a worker may claim from, separated by commas, or `*` for all [default: none]",
      to.queues),
    plain_option(
      "rate-producer", rate, "Maximum rate of enqueued tasks [default: no limit]", to.rates[0]),
    plain_option(
      "rate-claim", rate, "Maximum rate of claimed tasks [default: no limit]", to.rates[1]),
    plain_option(
      "rate-admin",
      rate,
      "Maximum rate of an admin's requests to each shard [default: no limit]",
      to.rates[2])};
}

std::vector<option> revoke_grammar(revoke_options& to) {
  return {
    file_option(to.file),
    required(placed(
      plain_option("TOKEN", "TOKEN", "The token's name as `token list` shows it", to.name)))};
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

std::string to_text(const security::token_table& table) {
  std::vector<std::vector<std::string>> rows{
    {"TOKEN", "SUBJECT", "TENANT", "ROLE", "QUEUES", "PRODUCER", "CLAIM", "ADMIN"}};
  for (const auto& who : table.principals())
    rows.push_back(
      {security::short_name(who->token),
       who->subject,
       who->tenant,
       std::string(to_string(who->role)),
       who->queues.empty() ? "-" : joined(who->queues),
       to_text(who->rates[0]),
       to_text(who->rates[1]),
       to_text(who->rates[2])});
  return format_table(rows);
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
    out.end_array().end_object();
  }
  return out.end_array().end_object().take() + "\n";
}

int create(context& with, const create_options& given) {
  auto who = principal_of(given);
  if (!who)
    return fail(who.error(), with.json);
  auto token = security::create_token(given.file, std::move(*who));
  if (!token)
    return fail(token.error(), with.json);
  if (with.json) {
    base::json_writer out;
    out.begin_object().field("token", *token).end_object();
    print(out.take() + "\n");
  } else {
    print(*token + "\n");
  }
  return exit_done;
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
  to.group("token", "Create, list and revoke access tokens in a coordinator's file");
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
  to.add(command<revoke_options>{
    .name = "token revoke",
    .help = "Remove a token from the file",
    .grammar = revoke_grammar,
    .run = revoke});
}

} // namespace codeq::ctl
