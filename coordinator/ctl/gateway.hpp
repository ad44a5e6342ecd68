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

/// A client of an HTTP gateway. Each request uses a connection of its own.
class gateway {
public:
  /// Errors: `invalid_argument` for a malformed URL, or for a token that would be sent unencrypted
  /// over a network; `unavailable` for files that cannot be used.
  [[nodiscard]] static result<gateway>
  open(const std::string& url, const operator_options& options);

  /// Sends a request for `path` under the base path. Errors: the gateway's error response, with its
  /// text; errors of `http::send_and_wait`.
  [[nodiscard]] result<std::string>
  ask(std::string_view method, const std::string& path, std::string body = {}) const;

  /// Sends a GET for a path on which the gateway itself waits up to a minute.
  [[nodiscard]] result<std::string> wait_for(const std::string& path) const;

private:
  [[nodiscard]] result<std::string>
  send(std::string_view method, const std::string& path, std::string body, duration timeout) const;

  http::http_url base_;
  std::string token_;
  std::shared_ptr<const security::tls_context> tls_;
  duration timeout_{0};
};

/// The JSON of a task to enqueue, with its webhook unless that is empty. Errors: `unsupported`
/// names a field that the gateway does not have.
[[nodiscard]] result<std::string>
to_gateway_json(const task_spec& task, const std::string& webhook = {});

/// The JSON of a limit's definition.
[[nodiscard]] std::string to_gateway_json(const limit_definition& definition);

/// The JSON of a change of queue settings.
[[nodiscard]] std::string to_gateway_json(const queue_changes& changes);

} // namespace codeq::ctl
