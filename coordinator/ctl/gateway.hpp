// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "ctl/queue_settings.hpp"
#include "http/server/outgoing.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace codeq::ctl {

/// An HTTP gateway, as its clients see it. Each question takes a connection of its own.
class gateway {
public:
  /// Errors: `invalid_argument` for a URL that is none, and for a token that would go unencrypted
  /// over a network; `unavailable` for files that cannot be used.
  [[nodiscard]] static result<gateway>
  open(const std::string& url, const operator_options& options);

  /// Asks for `path` under the base path. Errors: what the gateway answered instead of 2xx, with
  /// its words; of `http::send_and_wait`.
  [[nodiscard]] result<std::string>
  ask(std::string_view method, const std::string& path, std::string body = {}) const;

  /// Asks for a path that waits up to a minute by itself.
  [[nodiscard]] result<std::string> wait_for(const std::string& path) const;

private:
  [[nodiscard]] result<std::string>
  send(std::string_view method, const std::string& path, std::string body, duration timeout) const;

  http::http_url base_;
  std::string token_;
  std::shared_ptr<const security::tls_context> tls_;
  duration timeout_{0};
};

/// A task to enqueue, as the gateway takes it. Errors: `unsupported` names what it cannot say.
[[nodiscard]] result<std::string> to_gateway_json(const task_spec& task);

/// The settings of a queue to change, as the gateway takes them.
[[nodiscard]] std::string to_gateway_json(const queue_changes& changes);

} // namespace codeq::ctl
