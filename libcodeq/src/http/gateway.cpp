// SPDX-License-Identifier: Apache-2.0
#include "http/gateway.hpp"

#include "codeq/limits.hpp"

#include "transport/socket.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <utility>

namespace codeq::http {

result<std::unique_ptr<gateway_node>>
gateway_node::start(caf::actor_system& system, gateway_options options) {
  auto endpoint = transport::parse_listen_address(options.listen);
  if (!endpoint)
    return endpoint.error();
  auto actor = system.spawn(gateway, options.actor);
  std::unique_ptr<gateway_node> node(new gateway_node(system, actor));
  server_options s;
  s.address = endpoint->host;
  s.port = endpoint->port;
  s.serve = [actor](exchange_ptr call) { caf::anon_send(actor, call_arrived{std::move(call)}); };
  s.gone = [actor](exchange_ptr call) { caf::anon_send(actor, client_gone{std::move(call)}); };
  s.meter = options.meter;
  auto server = server::start(std::move(s));
  if (!server)
    return server.error();
  node->server_ = std::move(*server);
  node->port_ = node->server_->port();
  return node;
}

gateway_node::~gateway_node() {
  stop();
}

void gateway_node::stop() {
  if (!actor_)
    return;
  if (server_)
    server_->stop_accepting();
  caf::scoped_actor self{system_};
  self->request(actor_, limits::http_shutdown_max, stop_gateway{})
    .receive([](bool) {}, [](const caf::error&) {});
  if (server_)
    server_->stop();
  // The exchanges that it may still hold are of the server's connections.
  caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  self->wait_for(actor_);
  actor_ = nullptr;
  server_.reset();
}

} // namespace codeq::http
