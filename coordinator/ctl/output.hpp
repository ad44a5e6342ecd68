// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "ctl/operator_api.hpp"

#include <string_view>

namespace codeq::ctl {

// Exit statuses of codeqctl; documented in its help text.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
/// Wrong usage, which the coordinator may be the one to find, or a destructive command that was not
/// confirmed.
inline constexpr int exit_usage = 2;
/// Verification could not open the store.
inline constexpr int exit_not_opened = 2;
inline constexpr int exit_not_ended = 3;
inline constexpr int exit_not_completed = 4;
/// The answer to a question lacks a part of the cluster, which did not answer.
inline constexpr int exit_partial = 5;

/// Writes bytes to stdout unchanged, and flushes.
void print(std::string_view text);

/// True when a gateway's answer says that it lacks shards or coordinators.
[[nodiscard]] bool lacks_shards(const document& said);

/// True when an answer says that it lacks shards.
template <class T>
[[nodiscard]] bool lacks_shards([[maybe_unused]] const T& told) {
  if constexpr (requires { told.missing_unnamed; })
    return !told.missing.empty() || told.missing_unnamed > 0;
  else if constexpr (requires { told.missing; })
    return !told.missing.empty();
  else if constexpr (requires { told.missing_shards; })
    return !told.missing_shards.empty();
  else
    return false;
}

/// Prints a gateway's answer: unchanged when `json`, otherwise as lines for people.
void print(const document& said, bool json);

/// Final exit status: `status`, or `exit_failed` with a message on stderr when stdout did not take
/// all output.
[[nodiscard]] int finish_output(int status);

/// Writes one line to stderr.
void complain(std::string_view text);

/// Reports the error on stderr, or as a JSON object on stdout in place of the answer. Returns
/// `exit_usage` for `invalid_argument`, whoever found it, and else `exit_failed`.
[[nodiscard]] int fail(const error& reason, bool json);

} // namespace codeq::ctl
