// SPDX-License-Identifier: Apache-2.0
#include "node/webhook_access.hpp"

#include "base/wall_clock.hpp"
#include "http/server/request_sender.hpp"
#include "security/tls_context.hpp"
#include "security/token_file.hpp"

#include <memory>
#include <utility>

namespace codeq::node {

result<http::webhook_options> open_webhooks(const coordinator_node_options& options) {
  http::webhook_options opened;
  opened.allow_private = options.webhook_allow_private;
  opened.wall_time = &base::wall_now;
  if (!options.webhook_secret_file.empty()) {
    auto secret = security::read_bearer(options.webhook_secret_file);
    if (!secret)
      return error{secret.error().code, "--webhook-secret-file " + secret.error().context};
    opened.secret = std::move(*secret);
  }
  security::tls_files files{{}, {}, options.webhook_authority};
  files.trust_system = true;
  auto tls = security::tls_context::load(files, security::tls_side::client);
  if (!tls)
    return tls.error();
  opened.send = [sender = std::make_shared<http::request_sender>(),
                 tls = *tls](const std::string& tenant, http::outgoing_request request, auto done) {
    request.tls = tls;
    sender->send(tenant, std::move(request), std::move(done));
  };
  return opened;
}

} // namespace codeq::node
