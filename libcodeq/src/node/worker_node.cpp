// SPDX-License-Identifier: Apache-2.0
#include "codeq/worker_node.hpp"

#include "base/random.hpp"
#include "base/tuning.hpp"
#include "base/errors.hpp"
#include "config/values.hpp"
#include "node/link_security.hpp"
#include "node/worker_monitor.hpp"
#include "observe/log.hpp"
#include "security/token_file.hpp"
#include "transport/configure.hpp"
#include "transport/link.hpp"
#include "transport/socket.hpp"
#include "worker/host/dispatcher_driver.hpp"
#include "worker/host/dispatcher_sink.hpp"
#include "worker/host/handler_set.hpp"
#include "worker/node/wire.hpp"
#include "worker/process/child_handler.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <unistd.h>

namespace codeq {

namespace {

using base::wrong;

/// Actor handlers share these threads; a single thread could be blocked by one long handler.
constexpr unsigned scheduler_threads_min = 2;

std::string range_text(std::size_t from, std::size_t to) {
  return "; it must be " + std::to_string(from) + ".." + std::to_string(to);
}

result<void> check_worker(const worker_node_options& options) {
  if (auto ok = node::check_coordinators(options.coordinators); !ok)
    return ok;
  if (!is_valid_name(options.name))
    return wrong(
      "name is `" + options.name + "`; it must be 1 to " + std::to_string(limits::name_bytes_max)
      + " letters, digits, `.`, `_` or `-`");
  if (!is_valid_name(options.tenant))
    return wrong(
      "tenant is `" + options.tenant + "`; it must be 1 to "
      + std::to_string(limits::name_bytes_max) + " letters, digits, `.`, `_` or `-`");
  if (options.slots < 1 || options.slots > limits::slots_max)
    return wrong(
      "slots is " + std::to_string(options.slots) + range_text(1, limits::slots_max));
  if (options.prefetch > limits::slots_max)
    return wrong(
      "prefetch is " + std::to_string(options.prefetch) + range_text(0, limits::slots_max));
  if (options.batch < 1 || options.batch > limits::reports_per_request_max)
    return wrong(
      "batch is " + std::to_string(options.batch) + range_text(1, limits::reports_per_request_max));
  if (options.drain < duration{0})
    return wrong(
      "drain is " + std::to_string(options.drain.count()) + " ms; it must not be negative");
  return {};
}

worker::handler_sources sources_of(worker_node_options& options) {
  return {
    std::move(options.handlers), options.libraries, options.programs, options.isolation_program};
}

/// For an error of a file or a program: the same options give it again, as with a value that is out
/// of its range.
error lasting(const error& reason) {
  return wrong(reason.context);
}

/// Errors: `invalid_argument`.
result<worker::handler_set> load_handlers(worker_node_options& options) {
  auto set = worker::handler_set::load(sources_of(options));
  return set ? std::move(set) : lasting(set.error());
}

worker::handler_wishes wishes_of(const worker_node_options& options) {
  return {options.queues, options.only};
}

using hello_maker = std::function<protocol::hello()>;

/// Makes the hello of each connection, with the current token.
result<hello_maker> introduce(
  const worker_node_options& options,
  const std::vector<handler_registry::entry>& handlers,
  std::function<std::string()> token) {
  std::vector<std::string> queues;
  for (const auto& handler : handlers)
    queues.push_back(handler.queue);
  hello_maker make = [who = worker_identity{options.name, base::random_bits()},
                      tenant = options.tenant,
                      queues,
                      token = std::move(token)] {
    return worker::make_hello(who, tenant, queues, token());
  };
  auto hello = make();
  if (hello.body().size() > tuning::hello_bytes_max)
    return wrong(
      "the token and the names of " + std::to_string(queues.size()) + " queues make a hello of "
      + std::to_string(hello.body().size()) + " bytes; it must not pass "
      + std::to_string(tuning::hello_bytes_max));
  return make;
}

} // namespace

struct worker_node::impl {
  struct system_config : caf::actor_system_config {
    system_config() {
      transport::configure(
        *this, std::max(std::thread::hardware_concurrency(), scheduler_threads_min));
    }
  };

  impl(worker_node_options given, worker::handler_set set)
    : options(std::move(given)), handlers(std::move(set)), system(config) {}

  ~impl() {
    monitor.reset();
    stop(duration{0});
    // The last handle; the system then waits for the end of the handlers.
    dispatcher = nullptr;
    transport::finish(system);
  }

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  /// Reads the token and the certificate for `metrics`. Errors: of their files.
  result<void> open_metrics_access();
  /// Serves the metrics, if that is configured. Errors: of `worker_monitor::start`.
  result<void> monitor_worker();
  void spawn(const hello_maker& hello, std::vector<handler_registry::entry> chosen);
  [[nodiscard]] actors::link_actor start_link(
    const actors::dispatcher_actor& owner,
    const hello_maker& hello,
    std::size_t index,
    const std::string& coordinator);
  void stop(duration limit);
  void end(result<void> how);
  result<void> await_end();

  worker_node_options options;
  worker::handler_set handlers;
  std::shared_ptr<security::tls_source> tls;
  /// The same certificate for `metrics`; null without TLS there.
  std::shared_ptr<security::tls_source> metrics_tls;
  std::string metrics_token;
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<result<void>> outcome;
  system_config config;
  caf::actor_system system;
  actors::dispatcher_actor dispatcher;
  std::unique_ptr<node::worker_monitor> monitor;
};

void worker_node::impl::spawn(
  const hello_maker& hello, std::vector<handler_registry::entry> chosen) {
  worker::dispatcher_driver_options dispatching;
  dispatching.handlers = std::move(chosen);
  dispatching.dispatcher.tenant = options.tenant;
  dispatching.dispatcher.slots = options.slots;
  dispatching.dispatcher.prefetch = options.prefetch;
  dispatching.dispatcher.batch = options.batch;
  dispatching.dispatcher.coordinators = options.coordinators;
  dispatching.start_link = [this, hello](
                             const actors::dispatcher_actor& owner,
                             std::size_t index,
                             const std::string& coordinator) {
    return start_link(owner, hello, index, coordinator);
  };
  dispatching.on_end = [this](result<void> how) { end(std::move(how)); };
  dispatcher = worker::spawn_dispatcher(system, std::move(dispatching));
  actors::links_spawned spawned;
  for (std::size_t i = 0; i < options.coordinators.size(); ++i)
    spawned.links.push_back(start_link(dispatcher, hello, i, options.coordinators[i]));
  caf::anon_send(dispatcher, std::move(spawned));
}

actors::link_actor worker_node::impl::start_link(
  const actors::dispatcher_actor& owner,
  const hello_maker& hello,
  std::size_t index,
  const std::string& coordinator) {
  transport::link_options link;
  link.index = index;
  link.coordinator = coordinator;
  link.make_hello = hello;
  link.sink = worker::dispatcher_sink(owner, index);
  link.owner = caf::actor_cast<caf::strong_actor_ptr>(owner);
  link.tls = tls;
  return transport::spawn_link(system, std::move(link));
}

result<void> worker_node::impl::open_metrics_access() {
  if (!options.metrics_token_file.empty()) {
    auto token = security::read_bearer(options.metrics_token_file);
    if (!token)
      return token.error();
    metrics_token = std::move(*token);
  }
  auto endpoint = transport::parse_listen_address(options.metrics);
  bool is_remote = endpoint && !config::is_loopback(endpoint->host);
  security::tls_files files{options.metrics_certificate, options.metrics_key};
  if (files.certificate.empty() && is_remote)
    files = {options.access.tls_certificate, options.access.tls_key};
  if (options.metrics.empty() || files.certificate.empty())
    return {};
  auto source = security::tls_source::open(std::move(files), security::tls_side::server);
  if (!source)
    return source.error();
  metrics_tls = std::move(*source);
  return {};
}

result<void> worker_node::impl::monitor_worker() {
  if (options.metrics.empty())
    return {};
  auto started =
    node::worker_monitor::start({options.metrics, metrics_token, metrics_tls, dispatcher});
  if (!started)
    return started.error();
  monitor = std::move(*started);
  CODEQ_LOG_INFO("worker serves metrics listen={} port={}", options.metrics, monitor->port());
  return {};
}

void worker_node::impl::stop(duration limit) {
  caf::anon_send(dispatcher, actors::drain_request{limit});
  static_cast<void>(await_end());
}

void worker_node::impl::end(result<void> how) {
  std::lock_guard lock(mutex);
  outcome = std::move(how);
  ended.notify_all();
}

result<void> worker_node::impl::await_end() {
  std::unique_lock lock(mutex);
  ended.wait(lock, [this] { return outcome.has_value(); });
  return *outcome;
}

result<std::unique_ptr<worker_node>> worker_node::start(worker_node_options options) {
  if (auto ok = check_worker(options); !ok)
    return ok.error();
  auto access = node::open_credentials(options.access, options.coordinators);
  if (!access)
    return lasting(access.error());
  auto set = load_handlers(options);
  if (!set)
    return set.error();
  auto chosen = set->choose(wishes_of(options));
  if (!chosen)
    return chosen.error();
  auto hello = introduce(options, *chosen, access->token);
  if (!hello)
    return hello.error();
  auto state = std::make_unique<impl>(std::move(options), std::move(*set));
  state->tls = std::move(access->tls);
  if (auto ok = state->open_metrics_access(); !ok)
    return lasting(ok.error());
  state->spawn(*hello, std::move(*chosen));
  if (auto ok = state->monitor_worker(); !ok)
    return ok.error();
  return std::unique_ptr<worker_node>(new worker_node(std::move(state)));
}

result<void> worker_node::reconfigure(const worker_node_options& options) {
  if (auto ok = check_worker(options); !ok)
    return ok.error();
  auto chosen = impl_->handlers.choose(wishes_of(options));
  if (!chosen)
    return chosen.error();
  caf::anon_send(
    impl_->dispatcher,
    actors::reconfigure_worker{std::move(*chosen), options.slots, options.prefetch});
  return {};
}

result<std::vector<handled_queue>> list_handlers(worker_node_options options) {
  auto set = load_handlers(options);
  if (!set)
    return set.error();
  auto chosen = set->choose(wishes_of(options));
  if (!chosen)
    return chosen.error();
  std::vector<handled_queue> listed;
  for (const auto& handler : *chosen) {
    listed.push_back({handler.queue, std::string(set->kind_of(handler)), handler.options});
    auto& slots = listed.back().options.slots;
    slots = slots == 0 ? options.slots : std::min(slots, options.slots);
  }
  return listed;
}

std::string to_string(const handled_queue& handled) {
  const auto& options = handled.options;
  return handled.queue + " " + handled.kind + " slots=" + std::to_string(options.slots) + " weight="
         + std::to_string(options.weight) + " isolation=" + std::string(to_string(options.run_in));
}

result<void> serve_isolated(worker_node_options options, const std::string& queue) {
  auto set = load_handlers(options);
  if (!set)
    return set.error();
  auto handler = set->handler_of(queue);
  if (!handler)
    return handler.error();
  const auto* function = std::get_if<handler_function>(&handler->handler);
  if (function == nullptr)
    return wrong("queue `" + queue + "` is not handled by a function");
  worker::serve_parent(*function, STDIN_FILENO, STDOUT_FILENO);
}

worker_node::worker_node(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

worker_node::~worker_node() = default;

void worker_node::drain() {
  impl_->stop(impl_->options.drain);
}

result<void> worker_node::reload() {
  for (const auto& source : {impl_->tls, impl_->metrics_tls})
    if (auto ok = source ? source->reload() : result<void>{}; !ok)
      return ok;
  return {};
}

std::uint16_t worker_node::metrics_port() const noexcept {
  return impl_->monitor ? impl_->monitor->port() : 0;
}

result<void> worker_node::wait() {
  return impl_->await_end();
}

} // namespace codeq
