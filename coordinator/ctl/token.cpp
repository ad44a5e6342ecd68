// SPDX-License-Identifier: Apache-2.0
#include "security/token.hpp"

#include "base/json_writer.hpp"
#include "ctl/commands.hpp"
#include "ctl/output.hpp"
#include "ctl/text.hpp"
#include "security/token_file.hpp"

#include <string>
#include <utility>
#include <vector>

namespace codeq::ctl {

namespace {

result<security::principal> principal_of(const config::token_create_command& command) {
  security::principal who;
  who.subject = command.subject;
  who.tenant = command.tenant;
  auto role = security::parse_role(command.role);
  if (!role)
    return error{role.error().code, "--role " + role.error().context};
  who.role = *role;
  if (!command.queues.empty())
    who.queues = security::split_names(command.queues);
  for (std::size_t i = 0; i < security::rate_scopes; ++i) {
    if (command.rates[i].empty())
      continue;
    auto rate = security::parse_rate(command.rates[i]);
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

} // namespace

int run(const config::ctl_config& config, const config::token_create_command& command) {
  auto who = principal_of(command);
  if (!who)
    return fail(who.error(), config.json);
  auto token = security::create_token(command.file, std::move(*who));
  if (!token)
    return fail(token.error(), config.json);
  if (config.json) {
    base::json_writer out;
    out.begin_object().field("token", *token).end_object();
    print(out.take() + "\n");
  } else {
    print(*token + "\n");
  }
  return exit_done;
}

int run(const config::ctl_config& config, const config::token_list_command& command) {
  auto table = security::read_token_file(command.file);
  if (!table)
    return fail(table.error(), config.json);
  print(config.json ? to_json(*table) : to_text(*table));
  return exit_done;
}

int run(const config::ctl_config& config, const config::token_revoke_command& command) {
  auto revoked = security::revoke_token(command.file, command.name);
  if (!revoked)
    return fail(revoked.error(), config.json);
  if (!config.json)
    print("revoked the token of " + revoked->subject + ", tenant " + revoked->tenant + "\n");
  return exit_done;
}

} // namespace codeq::ctl
