// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/coordinator_node.hpp"
#include "codeq/result.hpp"

#include "http/webhooks/webhook_options.hpp"

namespace codeq::node {

/// Options of webhook delivery, with the files loaded. Errors: of these files.
[[nodiscard]] result<http::webhook_options> open_webhooks(const coordinator_node_options& options);

} // namespace codeq::node
