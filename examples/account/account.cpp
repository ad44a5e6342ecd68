// SPDX-License-Identifier: Apache-2.0
// Handles queue `account` by keyed actors: each actor serves one group, whose name is an account,
// and keeps the account's balance between tasks. The balance is cached from a file per account in
// CODEQ_ACCOUNT_DIR (default .), so a new actor, also on another node, continues from there.
// Payload: the amount to add.
#include "codeq/actor_handler.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace {

/// State of one account: its balance, and the latest task that changed it.
struct account {
  std::string file;
  std::int64_t balance = 0;
  std::string last_task{};
};

account open_account(const std::string& name) {
  const char* folder = std::getenv("CODEQ_ACCOUNT_DIR");
  account opened{std::string(folder == nullptr ? "." : folder) + "/" + name + ".account"};
  std::ifstream(opened.file) >> opened.balance >> opened.last_task;
  return opened;
}

/// Writes a new file and renames it, so that the account's file is always complete.
bool save(const account& changed) {
  auto aside = changed.file + ".new";
  std::ofstream out(aside);
  out << changed.balance << ' ' << changed.last_task << '\n';
  out.close();
  return out.good() && std::rename(aside.c_str(), changed.file.c_str()) == 0;
}

std::optional<std::int64_t> parse_amount(std::string_view text) {
  std::int64_t amount = 0;
  auto end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, amount);
  return read.ec == std::errc() && read.ptr == end ? std::optional(amount) : std::nullopt;
}

codeq::outcome add(account& to, const codeq::task& task) {
  auto amount = parse_amount(task.payload);
  if (!amount) {
    return codeq::outcome::failed_permanently("the payload has to be an amount");
  }
  // A task that was delivered again after it was saved is already done.
  if (to.last_task != to_string(task.id)) {
    auto changed = to;
    changed.balance += *amount;
    changed.last_task = to_string(task.id);
    if (!save(changed)) {
      return codeq::outcome::failed(to.file + " cannot be written");
    }
    to = changed;
  }
  return codeq::outcome::completed(std::to_string(to.balance));
}

codeq::handler_actor::behavior_type
keep_account(codeq::handler_actor::pointer, const std::string& name) {
  // State of this actor, read once when it starts.
  auto state = std::make_shared<account>(open_account(name));
  return {[state](const codeq::task& task) { return add(*state, task); }};
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle_keyed("account", keep_account, std::chrono::minutes(5));
}
