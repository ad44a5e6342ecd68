// SPDX-License-Identifier: Apache-2.0
#include "codeq/worker_node.hpp"

#include "node/link_security.hpp"
#include "transport/configure.hpp"
#include "transport/link.hpp"
#include "worker/dispatcher.hpp"
#include "worker/exec_handler.hpp"
#include "worker/plugin_loader.hpp"
#include "worker/wire.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

namespace codeq {

namespace {

/// Handlers that are actors share these threads; one alone could be held up by a long one.
constexpr unsigned scheduler_threads_min = 2;

struct worker_system : caf::actor_system_config {
  worker_system() {
    transport::configure(
      *this, std::max(std::thread::hardware_concurrency(), scheduler_threads_min));
  }
};

error wrong_option(std::string text) {
  return {errc::invalid_argument, std::move(text)};
}

std::string range_text(std::size_t from, std::size_t to) {
  return "; it must be " + std::to_string(from) + ".." + std::to_string(to);
}

result<void> check(const worker_node_options& options) {
  if (options.coordinators.empty())
    return wrong_option("coordinators is empty; it must name at least one `host:port`");
  if (!is_valid_name(options.name))
    return wrong_option(
      "name is `" + options.name + "`; it must be 1 to " + std::to_string(limits::name_bytes_max)
      + " letters, digits, `.`, `_` or `-`");
  if (!is_valid_name(options.tenant))
    return wrong_option(
      "tenant is `" + options.tenant + "`; it must be 1 to "
      + std::to_string(limits::name_bytes_max) + " letters, digits, `.`, `_` or `-`");
  if (options.slots < 1 || options.slots > limits::slots_max)
    return wrong_option(
      "slots is " + std::to_string(options.slots) + range_text(1, limits::slots_max));
  if (options.prefetch > limits::slots_max)
    return wrong_option(
      "prefetch is " + std::to_string(options.prefetch) + range_text(0, limits::slots_max));
  if (options.drain < duration{0})
    return wrong_option(
      "drain is " + std::to_string(options.drain.count()) + " ms; it must not be negative");
  return {};
}

result<void> check_queues(const std::vector<std::string>& queues) {
  if (queues.empty())
    return wrong_option("no queue is handled; give a handler library, a program or handlers");
  if (queues.size() > limits::queues_per_worker_max)
    return wrong_option(
      std::to_string(queues.size()) + " queues are handled"
      + range_text(1, limits::queues_per_worker_max));
  std::set<std::string_view> seen;
  for (const auto& queue : queues) {
    if (!is_valid_name(queue))
      return wrong_option(
        "queue is `" + queue + "`; it must be 1 to " + std::to_string(limits::name_bytes_max)
        + " letters, digits, `.`, `_` or `-`");
    if (!seen.insert(queue).second)
      return wrong_option("queue `" + queue + "` has two handlers; it must have one");
  }
  return {};
}

/// Adds the handlers of libraries and programs to those of the embedding program.
result<void> gather_handlers(worker_node_options& options) {
  for (const auto& file : options.libraries)
    if (auto ok = worker::load_handlers(file, options.handlers); !ok)
      return ok;
  for (const auto& text : options.programs) {
    auto command = worker::parse_exec_command(text);
    if (!command)
      return command.error();
    auto queue = command->queue;
    options.handlers.handle(queue, worker::make_exec_handler(std::move(*command)));
  }
  return {};
}

std::uint64_t random_bits() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

} // namespace

struct worker_node::impl {
  explicit impl(worker_node_options given) : options(std::move(given)), system(config) {}

  ~impl() {
    stop(duration{0});
    // The last handle; the system then waits for the handlers' ends.
    dispatcher = nullptr;
    transport::finish(system);
  }

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  void spawn(const protocol::hello& hello);
  void stop(duration limit);
  void end(result<void> how);
  result<void> await_end();

  worker_node_options options;
  std::shared_ptr<security::tls_source> tls;
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<result<void>> outcome;
  worker_system config;
  caf::actor_system system;
  actors::dispatcher_actor dispatcher;
};

void worker_node::impl::spawn(const protocol::hello& hello) {
  worker::dispatcher_options dispatching;
  dispatching.handlers = options.handlers.entries();
  dispatching.tenant = options.tenant;
  dispatching.slots = options.slots;
  dispatching.prefetch = options.prefetch;
  dispatching.links = options.coordinators.size();
  dispatching.on_end = [this](result<void> how) { end(std::move(how)); };
  dispatcher = worker::spawn_dispatcher(system, std::move(dispatching));
  actors::links_spawned spawned;
  for (std::size_t i = 0; i < options.coordinators.size(); ++i) {
    transport::link_options link;
    link.index = i;
    link.coordinator = options.coordinators[i];
    link.make_hello = [hello] { return hello; };
    link.sink = worker::dispatcher_sink(dispatcher, i);
    link.owner = caf::actor_cast<caf::strong_actor_ptr>(dispatcher);
    link.tls = tls;
    spawned.links.push_back(transport::spawn_link(system, std::move(link)));
  }
  caf::anon_send(dispatcher, std::move(spawned));
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
  if (auto ok = check(options); !ok)
    return ok.error();
  if (auto ok = gather_handlers(options); !ok)
    return ok.error();
  std::vector<std::string> queues;
  for (const auto& entry : options.handlers.entries())
    queues.push_back(entry.queue);
  if (auto ok = check_queues(queues); !ok)
    return ok.error();
  auto access = node::open_credentials(options.access, options.coordinators);
  if (!access)
    return access.error();
  auto hello =
    worker::make_hello({options.name, random_bits()}, options.tenant, queues, access->token);
  if (hello.body().size() > limits::hello_bytes_max)
    return wrong_option(
      "the names of " + std::to_string(queues.size()) + " queues make a hello of "
      + std::to_string(hello.body().size()) + " bytes; it must not pass "
      + std::to_string(limits::hello_bytes_max));
  auto state = std::make_unique<impl>(std::move(options));
  state->tls = std::move(access->tls);
  state->spawn(hello);
  return std::unique_ptr<worker_node>(new worker_node(std::move(state)));
}

worker_node::worker_node(std::unique_ptr<impl> state) : impl_(std::move(state)) {
}

worker_node::~worker_node() = default;

void worker_node::drain() {
  impl_->stop(impl_->options.drain);
}

result<void> worker_node::reload() {
  return impl_->tls ? impl_->tls->reload() : result<void>{};
}

result<void> worker_node::wait() {
  return impl_->await_end();
}

} // namespace codeq
