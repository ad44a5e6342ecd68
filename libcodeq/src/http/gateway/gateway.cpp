// SPDX-License-Identifier: Apache-2.0
#include "http/gateway/gateway.hpp"

#include "base/tuning.hpp"
#include "http/gateway/beside_server.hpp"
#include "http/server/replies.hpp"
#include "transport/socket.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace codeq::http {

namespace {

/// The caller of the metrics address. It may see the metrics of all tenants.
std::shared_ptr<const caller> metrics_reader() {
  caller by{"metrics", {}};
  by.sees_all_tenants = true;
  by.sees_metrics = true;
  return std::make_shared<const caller>(std::move(by));
}

/// The failure with the option of the coordinator that asked for it.
error of_option(const char* option, const error& failure) {
  return {failure.code, std::string(option) + ": " + failure.context};
}

/// True for the routes that the metrics address serves, too.
bool is_of_monitoring(std::string_view name) {
  return name == "metrics" || name == "healthz" || name == "readyz";
}

} // namespace

result<std::unique_ptr<gateway_node>>
gateway_node::start(caf::actor_system& system, gateway_options options) {
  auto& desk = options.actor.desk;
  desk.answers = std::make_shared<answer_shares>(limits::http_answers_bytes_max, desk.meter);
  auto loop = std::make_shared<server_loop>();
  auto unit = std::make_shared<server_unit>(system, loop);
  desk.spawn_claim = [&system, unit](const claim_driver_options& wanted) {
    return spawn_beside_server(system, unit, drive_claim, wanted);
  };
  auto actor = spawn_beside_server(system, unit, gateway, options.actor);
  std::unique_ptr<gateway_node> node(new gateway_node(system, actor, loop, unit));
  auto serve = [actor](exchange_ptr call) { caf::anon_send(actor, call_arrived{std::move(call)}); };
  server_options s;
  s.meter = options.meter;
  s.limit_meter = desk.meter;
  s.answers = desk.answers;
  auto metrics_options = s;
  metrics_options.loop = std::make_shared<server_loop>();
  s.serve = serve;
  s.loop = loop;
  s.tls = options.tls;
  s.identify = options.actor.who;
  s.connections_max = options.connections_max;
  s.cors = options.actor.cors;
  auto server = node->listen(options.listen, std::move(s));
  if (!server)
    return of_option("--http", server.error());
  node->server_ = std::move(*server);
  if (options.metrics_listen.empty())
    return node;
  metrics_options.serve = [serve, by = metrics_reader()](exchange_ptr call) {
    const auto& in = call->in;
    bool is_read = in.method == "GET" || in.method == "HEAD";
    bool is_known = in.path.size() == 1 && is_of_monitoring(in.path.front());
    if (!is_read || !is_known)
      return call->answer(
        refusal(404, "not found; this address serves /metrics, /healthz and /readyz"));
    call->by = by;
    serve(std::move(call));
  };
  auto metrics = node->listen(options.metrics_listen, std::move(metrics_options));
  if (!metrics)
    return of_option("--metrics", metrics.error());
  node->metrics_server_ = std::move(*metrics);
  return node;
}

result<std::unique_ptr<server>> gateway_node::listen(const std::string& address, server_options s) {
  auto endpoint = transport::parse_listen_address(address);
  if (!endpoint)
    return endpoint.error();
  s.address = endpoint->host;
  s.port = endpoint->port;
  s.gone = [actor = actor_](exchange_ptr call) {
    caf::anon_send(actor, client_gone{std::move(call)});
  };
  return server::start(std::move(s));
}

void gateway_node::wait_for_rest() {
  auto end = std::chrono::steady_clock::now() + tuning::http_shutdown_max;
  loop_->run_rest();
  // Claims whose clients went away may still wait for shards.
  while (unit_->actors() > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loop_->run_rest();
  }
}

gateway_node::~gateway_node() {
  stop();
}

void gateway_node::stop() {
  if (!actor_)
    return;
  for (auto* one : {server_.get(), metrics_server_.get()})
    if (one)
      one->stop_accepting();
  caf::scoped_actor self{system_};
  self->request(actor_, tuning::http_shutdown_max, stop_gateway{})
    .receive([](bool) {}, [](const caf::error&) {});
  for (auto* one : {server_.get(), metrics_server_.get()})
    if (one)
      one->stop();
  // The actor ends before the servers, because exchanges that it may still have belong to their
  // connections. Its thread has ended already.
  caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  wait_for_rest();
  self->wait_for(actor_);
  actor_ = nullptr;
  metrics_server_.reset();
  server_.reset();
}

} // namespace codeq::http
