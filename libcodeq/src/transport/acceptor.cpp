// SPDX-License-Identifier: Apache-2.0
#include "transport/acceptor.hpp"

#include "base/remote_block.hpp"
#include "base/tuning.hpp"
#include "observe/log.hpp"
#include "transport/admission.hpp"
#include "transport/connection.hpp"
#include "transport/socket.hpp"

#include <caf/io/broker.hpp>
#include <caf/io/middleman.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace codeq::transport {

/// Timer message: look for connections whose handshake takes too long.
struct sweep_handshakes {};

/// Timer message: accept again after a pause.
struct resume_accepting {};

} // namespace codeq::transport

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::transport::sweep_handshakes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::transport::resume_accepting)

namespace codeq::transport {

namespace {

using std::chrono::steady_clock;

/// Refused connections are counted and logged in one line per interval.
constexpr duration refusal_log_interval{1000};

/// Handshakes are checked at this interval, and at least ten times within their timeout.
constexpr duration sweep_interval_max{250};

/// True when few file descriptors are left. A listening socket that cannot accept for lack of
/// descriptors would wake up the middleman without end.
bool low_on_descriptors(int any_fd) {
  int probe = ::fcntl(any_fd, F_DUPFD_CLOEXEC, 0);
  if (probe < 0)
    return true;
  ::close(probe);
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0
         && static_cast<rlim_t>(probe) + tuning::descriptors_reserved > limit.rlim_cur;
}

struct acceptor_state;
using acceptor_self = caf::io::stateful_broker<acceptor_state>*;

/// The broker of a listening port; runs on the middleman's thread.
struct acceptor_state {
  static constexpr const char* name = "acceptor";

  void start(acceptor_self self_pointer, int fd, const acceptor_options& wanted);
  void welcome(caf::io::connection_handle handle);

  /// Closes an unauthenticated connection at once, to make room for one from that address.
  void evict(const caf::strong_actor_ptr& stranger, const std::string& remote);
  void turn_away(caf::io::connection_handle handle, std::string_view reason);
  void pause();
  void close_late(const std::vector<caf::strong_actor_ptr>& connections);
  void stop();

  /// Sends itself a message without a sender: see the pitfalls in README.md.
  template <class Message>
  void send_later(duration after, Message message) {
    caf::delayed_anon_send(caf::actor_cast<caf::actor>(self), after, std::move(message));
  }

  /// Interval between two checks of handshakes.
  [[nodiscard]] duration interval() const {
    return std::min(options.connection.hello_timeout / 10, sweep_interval_max);
  }

  acceptor_self self = nullptr;
  caf::io::accept_handle port;
  acceptor_options options;
  std::shared_ptr<admission> places;
  steady_clock::time_point next_refusal_log;
  std::size_t refusals_unlogged = 0;
};

void acceptor_state::start(acceptor_self self_pointer, int fd, const acceptor_options& wanted) {
  self = self_pointer;
  options = wanted;
  places =
    std::make_shared<admission>(options.connections_max, options.unauthenticated_connections_max);
  port = self->add_doorman(fd);
  send_later(interval(), sweep_handshakes{});
}

void acceptor_state::welcome(caf::io::connection_handle handle) {
  if (low_on_descriptors(static_cast<int>(handle.id()))) {
    turn_away(handle, "few file descriptors are left");
    return pause();
  }
  auto remote = base::remote_block_of(self->remote_addr(handle));
  auto place = places->admit(remote);
  if (!place) {
    options.meter->note({"connections_max", options.connections_max, "remote", remote});
    return turn_away(handle, place.error().context);
  }
  if (place->evicted)
    evict(place->evicted, remote);
  self->fork(
    accepted_connection,
    handle,
    accepted_options{
      options.registrar,
      options.connection,
      std::move(place->ticket),
      options.tls ? options.tls->current() : nullptr});
}

void acceptor_state::evict(const caf::strong_actor_ptr& stranger, const std::string& remote) {
  auto max = options.unauthenticated_connections_max;
  options.meter->note({"unauthenticated_connections_max", max, "remote", remote});
  caf::anon_send(
    caf::actor_cast<actors::connection_actor>(stranger),
    actors::close_connection{
      {errc::overloaded, "unauthenticated_connections_max=" + std::to_string(max) + " reached"},
      true});
}

void acceptor_state::turn_away(caf::io::connection_handle handle, std::string_view reason) {
  // No read or write is pending on this socket, so releasing it closes it.
  self->take(handle);
  ++refusals_unlogged;
  auto now = self->clock().now();
  if (now < next_refusal_log)
    return;
  CODEQ_LOG_WARN(
    "acceptor turns connections away count={} reason=\"{}\"", refusals_unlogged, reason);
  next_refusal_log = now + refusal_log_interval;
  refusals_unlogged = 0;
}

void acceptor_state::pause() {
  self->halt(port);
  send_later(tuning::accept_pause, resume_accepting{});
}

void acceptor_state::close_late(const std::vector<caf::strong_actor_ptr>& connections) {
  for (const auto& connection : connections)
    caf::anon_send(
      caf::actor_cast<actors::connection_actor>(connection),
      actors::close_connection{{errc::timeout, "the handshake took too long"}});
}

void acceptor_state::stop() {
  // There will be no more sweeps, so connections that wait are closed now.
  close_late(places->stop());
  self->quit();
}

caf::behavior acceptor(acceptor_self self, int fd, const acceptor_options& options) {
  self->set_default_handler(caf::drop);
  self->set_exit_handler([self](caf::exit_msg&) { self->state.stop(); });
  self->state.start(self, fd, options);
  return {
    [self](const caf::io::new_connection_msg& fresh) { self->state.welcome(fresh.handle); },
    [self](const caf::io::acceptor_closed_msg&) { self->state.stop(); },
    [self](sweep_handshakes) {
      self->state.close_late(self->state.places->take_overdue(self->clock().now()));
      self->state.send_later(self->state.interval(), sweep_handshakes{});
    },
    [self](resume_accepting) { self->trigger(self->state.port); }};
}

} // namespace

result<acceptor_handle> spawn_acceptor(caf::actor_system& system, acceptor_options options) {
  auto listening = listen_on(options.address, options.port);
  if (!listening)
    return listening.error();
  CODEQ_LOG_INFO("acceptor listens address={} port={}", options.address, listening->port);
  auto fd = listening->socket.release();
  auto actor = system.middleman().spawn_broker(acceptor, fd, std::move(options));
  return acceptor_handle{std::move(actor), listening->port};
}

} // namespace codeq::transport
