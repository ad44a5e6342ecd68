// SPDX-License-Identifier: Apache-2.0
#include "transport/link.hpp"

#include "base/tuning.hpp"
#include "observe/log.hpp"
#include "protocol/reply.hpp"
#include "transport/backoff.hpp"
#include "transport/connection.hpp"
#include "transport/socket.hpp"

#include <caf/after.hpp>
#include <caf/io/middleman.hpp>

#include <random>

namespace codeq::transport {

/// The link's first message to itself, so that its spawner does not wait for the first dial.
struct start_dialling {};

} // namespace codeq::transport

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::transport::start_dialling)

namespace codeq::transport {

namespace {

/// The messages of a link inside the transport.
using link_internal_actor = actors::link_actor::extend<
  // Dials for the first time.
  caf::reacts_to<start_dialling>,
  // The connection has ended.
  caf::reacts_to<dialled_lost>>;

class link_state;
using link_self = link_internal_actor::stateful_pointer<link_state>;

/// True for reasons of a refusal that a later attempt meets again until a person changes something.
/// The link dials again nevertheless, except after `superseded`.
bool is_lasting_refusal(errc code) {
  return (code >= errc::invalid_argument && code < errc::stale_lease) || code == errc::superseded;
}

/// At most one connection to one coordinator; runs on the link's own thread.
class link_state {
public:
  static constexpr const char* name = "link";

  void start(link_self self, const link_options& options);
  void dial();
  void lose(const dialled_lost& lost);
  /// With `farewell`, sends a goodbye first.
  void close(const error& reason, const actors::close_link* farewell);

private:
  void adopt(socket_owner socket);
  void report_down(const error& reason, bool is_refused);
  void give_up(const error& reason);
  void retry(const error& reason, bool is_refused = false);
  [[nodiscard]] observe::log_level log_level() const;

  link_self self_ = nullptr;
  link_options options_;
  endpoint peer_;
  backoff pauses_{tuning::reconnect_delay_min, tuning::reconnect_delay_max};
  std::minstd_rand random_{std::random_device{}()};
  std::uint64_t attempts_ = 0;
  actors::connection_actor connection_;
  std::string last_reason_;
  bool closing_ = false;
};

link_internal_actor::behavior_type handlers(link_self self) {
  return {
    [self](const actors::close_link& request) { self->state.close(request.reason, &request); },
    [self](start_dialling) { self->state.dial(); },
    [self](const dialled_lost& lost) { self->state.lose(lost); }};
}

/// Waits without a connection; dials when the pause is over. The pause is the behavior's own
/// timeout, since quitting cancels that. A delayed message would hold this actor and its thread
/// until it is due, and an actor system that ends earlier would wait for that thread for ever.
link_internal_actor::behavior_type waiting(link_self self, duration pause) {
  caf::behavior timed{
    [self](const actors::close_link& request) { self->state.close(request.reason, &request); },
    caf::after(pause) >>
      [self] {
        self->become(handlers(self));
        self->state.dial();
      }};
  return {link_internal_actor::behavior_type::unsafe_init{}, std::move(timed)};
}

void link_state::start(link_self self, const link_options& options) {
  self_ = self;
  options_ = options;
  pauses_ = backoff(options.reconnect_delay_min, options.reconnect_delay_max);
  self->monitor(options.owner);
  auto parsed = parse_endpoint(options.coordinator);
  if (!parsed) {
    return give_up(parsed.error());
  }
  peer_ = *parsed;
  self->send(self, start_dialling{});
}

void link_state::dial() {
  if (closing_)
    return;
  ++attempts_;
  // The only message that can be in the mailbox now is a request to end.
  auto cancelled = [self = self_] { return !self->mailbox().empty(); };
  auto socket = transport::dial(peer_, options_.connect_timeout, cancelled);
  if (!socket)
    return retry(socket.error());
  adopt(std::move(*socket));
}

void link_state::adopt(socket_owner socket) {
  dialled_options dialled;
  dialled.settings = options_.connection;
  dialled.hello = options_.make_hello();
  dialled.index = options_.index;
  dialled.attempt = attempts_;
  dialled.sink = options_.sink;
  dialled.tls = options_.tls ? options_.tls->current() : nullptr;
  dialled.host = peer_.host;
  dialled.owner = options_.owner;
  dialled.link = self_->address();
  connection_ = self_->system().middleman().spawn_broker(
    dialled_connection, socket.release(), std::move(dialled));
}

void link_state::lose(const dialled_lost& lost) {
  if (lost.attempt != attempts_ || !connection_)
    return;
  connection_ = nullptr;
  if (closing_)
    return self_->quit();
  if (lost.was_up) {
    pauses_.reset();
    last_reason_.clear();
  }
  // A peer that reports a malformed frame on an established connection may have received a
  // corrupted one, so dial again.
  bool broken_later = lost.was_up && lost.reason.code == errc::protocol_error;
  const auto is_refused = lost.refused && !broken_later && is_lasting_refusal(lost.reason.code);
  if (is_refused && lost.reason.code == errc::superseded)
    return give_up(lost.reason);
  retry(lost.reason, is_refused);
}

void link_state::give_up(const error& reason) {
  CODEQ_LOG_AT(
    log_level(),
    "no connection to the coordinator, gives up coordinator={} reason=\"{}\"",
    options_.coordinator,
    to_string(reason));
  report_down(reason, true);
  self_->quit();
}

void link_state::retry(const error& reason, bool is_refused) {
  auto chance = std::uniform_real_distribution<double>(0, 1)(random_);
  auto pause = pauses_.next(chance);
  // Logs one line for a coordinator that is away for hours, not one per attempt.
  auto text = to_string(reason);
  if (text != last_reason_)
    CODEQ_LOG_AT(
      log_level(),
      "no connection to the coordinator, will try again coordinator={} pause_ms={} reason=\"{}\"",
      options_.coordinator,
      pause.count(),
      text);
  last_reason_ = std::move(text);
  report_down(reason, is_refused);
  self_->become(waiting(self_, pause));
}

void link_state::report_down(const error& reason, bool is_refused) {
  caf::anon_send(
    caf::actor_cast<caf::actor>(options_.owner),
    actors::link_down{options_.index, reason, is_refused});
}

observe::log_level link_state::log_level() const {
  return options_.owner_reports ? observe::log_level::debug : observe::log_level::warn;
}

void link_state::close(const error& reason, const actors::close_link* farewell) {
  if (closing_)
    return;
  closing_ = true;
  if (!connection_)
    return self_->quit();
  // A goodbye gives the leases of a worker back, which another link may have taken over.
  if (farewell && reason.code != errc::disconnected)
    self_->send(connection_, protocol::make_goodbye(errc::none, farewell->finished).to_wire());
  self_->send(connection_, actors::close_connection{reason});
}

void set_handlers(link_self self) {
  self->set_default_handler(caf::drop);
  self->set_down_handler([self](caf::down_msg&) {
    self->state.close({errc::going_away, "the link's owner ended"}, nullptr);
  });
  self->set_exit_handler([self](caf::exit_msg&) {
    self->state.close({errc::going_away, "the link was told to end"}, nullptr);
  });
}

link_internal_actor::behavior_type link(link_self self, const link_options& options) {
  set_handlers(self);
  self->state.start(self, options);
  return handlers(self);
}

} // namespace

actors::link_actor spawn_link(caf::actor_system& system, link_options options) {
  return system.spawn<caf::detached>(link, std::move(options));
}

} // namespace codeq::transport
