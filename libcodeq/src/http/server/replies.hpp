// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/json_writer.hpp"
#include "http/server/caller.hpp"
#include "http/server/message.hpp"

#include <string>
#include <string_view>

/// The responses that many routes give.
namespace codeq::http {

/// Makes the body `{"error":"<text>"}`.
[[nodiscard]] response refusal(unsigned status, std::string_view text);

/// Makes a refusal from an error, with the status that fits its code. If the request may succeed
/// later (429, 503), the body also has the code's name: `{"error":"<text>","code":"queue_full"}`.
/// Errors of several causes share these statuses; clients of codeQ know the others by their texts.
[[nodiscard]] response refusal_of(const error& reason);

/// Writes the members that say why an item of a batch failed: the text, the code as a name, and the
/// status that a request for the item alone would have had.
void write_item_refusal(base::json_writer& json, const error& reason);

/// Makes the refusal of a request without a token that is accepted. `why` says no more than that.
[[nodiscard]] response no_valid_token(std::string_view why);

/// The same of a request with a token that is not known or has expired; it does not say which.
[[nodiscard]] response invalid_token();

[[nodiscard]] response rate_exceeded(const rate_refusal& refusal);

/// Makes a response from the JSON text that was written.
[[nodiscard]] response reply(unsigned status, base::json_writer& written);

/// Makes a response without a body.
[[nodiscard]] response no_content();

} // namespace codeq::http
