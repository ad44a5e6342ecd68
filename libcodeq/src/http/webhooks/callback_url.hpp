// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "http/webhooks/webhook_options.hpp"

#include <string>
#include <string_view>

namespace codeq::http {

/// Refuses a URL that no request is sent to: none at all when the gateway sends no requests, and
/// addresses that are not on the internet unless they are allowed. A refusal begins with `refusal`
/// and names `field`. Errors: `invalid_argument`.
[[nodiscard]] result<void> check_callback_url(
  const webhook_options& options,
  std::string_view refusal,
  std::string_view field,
  const std::string& url);

} // namespace codeq::http
