// SPDX-License-Identifier: Apache-2.0
// Handles queue `ledger` and writes into a database of its own, SQLite, guarded by the fencing
// token: a zombie, whose lease has ended and whose task was granted again, cannot change anything,
// however late it writes. CODEQ_LEDGER names the file (default ledger.db). Group: the account.
// Payload: its new owner.
#include "codeq/handler.hpp"

#include <cstdlib>
#include <memory>
#include <string>

#include <sqlite3.h>

namespace {

using database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

constexpr int busy_timeout_ms = 5000;

database open_ledger() {
  const char* named = std::getenv("CODEQ_LEDGER");
  sqlite3* opened = nullptr;
  sqlite3_open(named == nullptr ? "ledger.db" : named, &opened);
  database ledger(opened, sqlite3_close);
  sqlite3_busy_timeout(opened, busy_timeout_ms);
  sqlite3_exec(
    opened,
    "CREATE TABLE IF NOT EXISTS owner (account TEXT PRIMARY KEY, name TEXT, fence INTEGER)",
    nullptr,
    nullptr,
    nullptr);
  return ledger;
}

// Tokens can be compared within one task and its group, so only one group may write a row. `<=` and
// not `<`: the same attempt may write again.
constexpr auto set_owner =
  "INSERT INTO owner (account, name, fence) VALUES (?1, ?2, ?3) ON CONFLICT (account) DO UPDATE "
  "SET name = excluded.name, fence = excluded.fence WHERE fence <= excluded.fence";

codeq::outcome write_owner(const codeq::task& task) {
  if (task.group.empty()) {
    return codeq::outcome::failed_permanently("the task needs a group, which names the account");
  }
  auto ledger = open_ledger();
  sqlite3_stmt* prepared = nullptr;
  sqlite3_prepare_v2(ledger.get(), set_owner, -1, &prepared, nullptr);
  statement set(prepared, sqlite3_finalize);
  auto name = task.payload.view();
  sqlite3_bind_text(prepared, 1, task.group.data(), static_cast<int>(task.group.size()), nullptr);
  sqlite3_bind_text(prepared, 2, name.data(), static_cast<int>(name.size()), nullptr);
  // Tokens are below 2^63, so SQLite's integers can hold them.
  sqlite3_bind_int64(prepared, 3, static_cast<sqlite3_int64>(codeq::value(task.token)));
  if (sqlite3_step(prepared) != SQLITE_DONE) {
    return codeq::outcome::failed(sqlite3_errmsg(ledger.get()));
  }
  if (sqlite3_changes(ledger.get()) == 0) {
    return codeq::outcome::failed("a later attempt wrote before this one");
  }
  return codeq::outcome::completed();
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle("ledger", write_owner);
}
