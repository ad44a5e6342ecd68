// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/json_writer.hpp"
#include "http/server/caller.hpp"
#include "http/server/message.hpp"

#include <string>
#include <string_view>

/// The answers that many routes give.
namespace codeq::http {

/// `{"error":"<text>"}`.
[[nodiscard]] response refusal(unsigned status, std::string_view text);

/// Why a shard or a check refused, with the status that fits the code.
[[nodiscard]] response refusal_of(const error& reason);

[[nodiscard]] response rate_exceeded(const rate_refusal& refusal);

/// The JSON that was written, with that status.
[[nodiscard]] response reply(unsigned status, base::json_writer& written);

/// An answer without a body.
[[nodiscard]] response no_content();

} // namespace codeq::http
