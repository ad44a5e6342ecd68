// SPDX-License-Identifier: Apache-2.0
#include "config/access_options.hpp"
#include "config/ctl_commands.hpp"

#include <utility>

namespace codeq::config {

namespace {

option required(option entry) {
  entry.required = true;
  return entry;
}

option token_file_option(std::filesystem::path& target) {
  return required(file_option("file", "The coordinator's token file. Required", target));
}

void add_create(ctl_commands& to) {
  auto target = std::make_shared<token_create_command>();
  constexpr auto rate = "PER_SECOND[:BURST]";
  command entry{"token create", "Add a token to the file and print it, once", {}};
  entry.options = {
    token_file_option(target->file),
    required(
      name_option("subject", "Whom the token is for, shown in logs. Required", target->subject)),
    required(plain_option(
      "tenant",
      "NAME",
      "The bearer's tenant; `*` is all tenants, for admins. Required",
      target->tenant)),
    required(plain_option("role", "ROLE", "producer, worker or admin. Required", target->role)),
    plain_option(
      "queues",
      "NAMES",
      "What a worker may claim: names with commas between them, or `*` "
      "[default: none]",
      target->queues),
    plain_option(
      "rate-producer", rate, "Tasks enqueued at most [default: no limit]", target->rates[0]),
    plain_option("rate-claim", rate, "Tasks claimed at most [default: no limit]", target->rates[1]),
    plain_option(
      "rate-admin", rate, "Requests to a shard at most [default: no limit]", target->rates[2])};
  to.add(std::move(entry), target);
}

} // namespace

void add_token_commands(ctl_commands& to) {
  add_create(to);
  auto list = std::make_shared<token_list_command>();
  to.add<token_list_command>(
    {"token list", "Show what the tokens of the file allow", {token_file_option(list->file)}},
    list);
  auto revoke = std::make_shared<token_revoke_command>();
  auto name =
    plain_option("TOKEN", "TOKEN", "The token's name as `token list` shows it", revoke->name);
  name.positional = name.required = true;
  to.add<token_revoke_command>(
    {"token revoke", "Remove a token from the file", {token_file_option(revoke->file), name}},
    revoke);
}

} // namespace codeq::config
