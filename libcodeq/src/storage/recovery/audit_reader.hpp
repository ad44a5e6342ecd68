// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"
#include "codeq/result.hpp"

#include "storage/task_store.hpp"

#include <span>

namespace codeq::storage {

/// A page of the audit log of the shards, latest command first; the entries of one command on
/// several shards are one. Reads a bounded number of entries, so a page may have fewer commands
/// than its limit although there are more. Commands older than their retention are left out.
/// `now`: shard time. Errors: of the store; `corruption`.
[[nodiscard]] result<audit_page> read_audit(
  const task_store& store,
  std::span<const shard_id> shards,
  const audit_filter& filter,
  timestamp now);

} // namespace codeq::storage
