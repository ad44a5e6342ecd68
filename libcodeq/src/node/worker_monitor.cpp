// SPDX-License-Identifier: Apache-2.0
#include "node/worker_monitor.hpp"

#include "config/values.hpp"
#include "http/server/replies.hpp"
#include "security/token.hpp"
#include "transport/socket.hpp"

#include <caf/send.hpp>

#include <utility>

namespace codeq::node {

namespace {

using answer_function = std::function<void(const actors::worker_health&)>;

/// Asks the dispatcher of a worker. A dispatcher that has ended drops the request with its answer.
void ask(
  const caf::weak_actor_ptr& dispatcher, const http::exchange_ptr& call, answer_function answer) {
  auto alive = dispatcher.lock();
  if (!alive)
    return call->answer(http::refusal(503, "the worker has ended"));
  caf::anon_send(
    caf::actor_cast<actors::dispatcher_actor>(alive), actors::ask_health{std::move(answer)});
}

void show_health(const http::exchange_ptr& call, const actors::worker_health& health) {
  base::json_writer json;
  json.begin_object()
    .field("status", health.is_draining ? "draining" : "ok")
    .field("coordinators", health.links)
    .field("connected", health.links_up)
    .end_object();
  call->answer(http::reply(200, json));
}

void show_metrics(const http::exchange_ptr& call, const actors::worker_health& health) {
  http::response answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = health.metrics;
  call->answer(std::move(answer));
}

result<void> check_listen(const worker_monitor_options& options, const std::string& host) {
  if (config::is_loopback(host) || (options.tls && !options.token.empty()))
    return {};
  return error{
    errc::invalid_argument,
    "metrics: `" + options.listen
      + "` is not a loopback address; others need a certificate and a token"};
}

} // namespace

result<std::unique_ptr<worker_monitor>> worker_monitor::start(worker_monitor_options options) {
  auto endpoint = transport::parse_listen_address(options.listen);
  if (!endpoint)
    return endpoint.error();
  if (auto ok = check_listen(options, endpoint->host); !ok)
    return ok.error();
  auto dispatcher = caf::actor_cast<caf::weak_actor_ptr>(options.dispatcher);
  std::optional<security::token_digest> wanted;
  if (!options.token.empty())
    wanted = security::digest_of(options.token);
  http::server_options s;
  s.address = endpoint->host;
  s.port = endpoint->port;
  s.tls = options.tls;
  s.gone = [](const http::exchange_ptr&) {};
  s.serve = [dispatcher, wanted](http::exchange_ptr call) {
    const auto& in = call->in;
    bool is_read = in.method == "GET" || in.method == "HEAD";
    auto name = in.path.size() == 1 ? in.path.front() : std::string();
    if (!is_read || (name != "metrics" && name != "healthz"))
      return call->answer(http::refusal(404, "not found"));
    auto show = name == "metrics" ? show_metrics : show_health;
    bool is_secret = name == "metrics" && wanted;
    if (is_secret && !security::is_same(security::digest_of(in.bearer), *wanted))
      return call->answer(http::refusal(401, "missing or wrong bearer token"));
    ask(
      dispatcher, call, [call, show](const actors::worker_health& health) { show(call, health); });
  };
  auto server = http::server::start(std::move(s));
  if (!server)
    return server.error();
  return std::unique_ptr<worker_monitor>(new worker_monitor(std::move(*server)));
}

} // namespace codeq::node
