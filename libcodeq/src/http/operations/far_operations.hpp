// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/desk/record_wishes.hpp"
#include "http/desk/shard_desk.hpp"
#include "http/operations/operation_records.hpp"

#include <string>
#include <vector>

namespace codeq::http {

/// The operations that other coordinators of the cluster run: reads their records, and has their
/// coordinators change them. `operation_desk` owns it; all callbacks are called once.
class far_operations {
public:
  /// `wishes` reach the others.
  void start(shard_desk& desk, record_wishes& wishes) {
    desk_ = &desk;
    wishes_ = &wishes;
  }

  /// Reads the record of an operation. Errors: `unknown_task`, and those of a read.
  void
  find(const std::string& tenant, const std::string& id, shard_desk::then<bulk_operation> done);

  /// Reads the records of a tenant on the shards that other coordinators serve. Errors: those of
  /// the first read that failed.
  void list(const std::string& tenant, shard_desk::then<std::vector<bulk_operation>> done);

  /// Has the coordinator of an operation change it; `done` is called once that is durable. Errors:
  /// those of the change; `timeout`: it may take effect later.
  void alter(operation_wish wish, shard_desk::then<void> done);

private:
  void send(const operation_wish& wish, shard_desk::then<void> done);

  shard_desk* desk_ = nullptr;
  record_wishes* wishes_ = nullptr;
};

} // namespace codeq::http
