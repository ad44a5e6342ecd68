// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/queue.hpp"
#include "codeq/task.hpp"
#include "codeq/task_limits.hpp"

#include "task.capnp.h"

#include <cstddef>
#include <vector>

/// Conversions of limits between schema structs and C++ values. They do not check bounds. May throw
/// `kj::Exception` on malformed input.
namespace codeq::encoding {

[[nodiscard]] limit_definition read_rule(schema::LimitRule::Reader reader);
void write_rule(schema::LimitRule::Builder builder, const limit_definition& definition);

[[nodiscard]] std::vector<task_limit> read_limits(capnp::List<schema::TaskLimit>::Reader reader);
void write_limits(
  capnp::List<schema::TaskLimit>::Builder builder, const std::vector<task_limit>& uses);

/// Writes the limits of a struct that has them, unless there are none.
template <class Builder>
void write_limits_of(Builder builder, const std::vector<task_limit>& uses) {
  if (!uses.empty())
    write_limits(builder.initLimits(static_cast<capnp::uint>(uses.size())), uses);
}

[[nodiscard]] std::vector<queue_limit>
read_queue_limits(capnp::List<schema::QueueLimit>::Reader reader);
void write_queue_limits(
  capnp::List<schema::QueueLimit>::Builder builder, const std::vector<queue_limit>& all);

/// Upper bound of the words that the limits of a queue take.
[[nodiscard]] std::size_t limit_words(const std::vector<queue_limit>& all);

/// Upper bound of the words that a list of limits takes.
[[nodiscard]] std::size_t limit_words(const std::vector<task_limit>& uses);

} // namespace codeq::encoding
