// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "core/commands/limit_command.hpp"
#include "protocol/messages.hpp"
#include "protocol/operator_convert.hpp"

#include <variant>

/// Requests about limits.
namespace codeq::protocol {

/// The command of a request about limits.
using limit_question = std::
  variant<core::set_limit, core::list_limits, core::list_limit_keys, core::close_limit_key>;

/// Errors: `protocol_error` for a malformed request; otherwise the reason why it is refused, which
/// names the field.
[[nodiscard]] result<limit_question> to_command(const limit_request& message, asked_at by);

[[nodiscard]] limit_reply make_limit_reply(const core::limits_answered& answer);

} // namespace codeq::protocol
