// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "http/operations/operation.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The tasks that store operations, and the wishes to another coordinator to change one. Pure.
namespace codeq::http {

/// The tenant of the records of operations. No token of a tenant can see it, unless an operator
/// created a token for its name.
inline constexpr auto operations_tenant = "codeq.operations";

/// The same for wishes.
inline constexpr auto wishes_tenant = "codeq.operation-wishes";

/// The task that stores an operation.
[[nodiscard]] task_spec record_of(const bulk_operation& o);

/// The shard of an operation's record. The coordinator that serves it runs the operation.
/// @pre shards > 0
[[nodiscard]] std::uint16_t
home_of(const std::string& tenant, const std::string& id, std::uint16_t shards);

/// The key under which an operation's record is found.
[[nodiscard]] task_key record_key(const std::string& tenant, const std::string& id);

/// A change that users make to an operation. Stored by name.
enum class operation_change : std::uint8_t { pause, resume, cancel };

/// A user's change of an operation that another coordinator runs.
struct operation_wish {
  std::string tenant{};
  std::string id{};
  operation_change what = operation_change::pause;
  operation_user by{};
  timestamp at{};
};

/// The text of a wish; see `wish_task`.
[[nodiscard]] std::string to_wish_text(const operation_wish& wish);

/// Errors: `corruption`.
[[nodiscard]] result<operation_wish> read_wish(std::string_view text);

} // namespace codeq::http
