// SPDX-License-Identifier: Apache-2.0
#include "transport/connection.hpp"

namespace codeq::transport {

namespace {

/// Messages that are not part of the interface have handlers, too, so that none of them ends the
/// broker without a notification to its owner.
void set_handlers(connection_self self) {
  self->set_default_handler(caf::drop);
  self->set_error_handler([self](caf::error& e) {
    self->state.abandon({errc::unavailable, "a message of the connection failed: " + to_string(e)});
  });
  self->set_down_handler([self](caf::down_msg&) {
    self->state.close({errc::going_away, "the connection's owner ended"});
  });
  self->set_exit_handler([self](caf::exit_msg&) {
    self->state.abandon({errc::going_away, "the connection was told to end"});
  });
  self->set_exception_handler([self](std::exception_ptr& raised) -> caf::error {
    std::string what = "unknown exception";
    try {
      std::rethrow_exception(raised);
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {
    }
    self->state.abandon({errc::unavailable, "the connection failed: " + what});
    return caf::sec::runtime_error;
  });
}

connection_broker::behavior_type handlers(connection_self self) {
  // The most frequent ones first, since a message is compared with one after the other.
  return {
    [self](caf::io::new_data_msg& data) { self->state.receive(data); },
    [self](const caf::io::data_transferred_msg& progress) { self->state.sent(progress); },
    [self](const protocol::wire_frame& frame) { self->state.write_for_owner(frame); },
    [self](const actors::connection_accepted& accepted) { self->state.accept(accepted); },
    [self](actors::probe_peer) { return self->state.probe(); },
    [self](const actors::close_connection& request) { self->state.close_as_asked(request); },
    [self](const caf::io::connection_closed_msg&) { self->state.peer_closed(); },
    [self](const connection_deadline& deadline) { self->state.fire(deadline); }};
}

} // namespace

connection_broker::behavior_type accepted_connection(
  connection_self self, caf::io::connection_handle handle, const accepted_options& options) {
  set_handlers(self);
  self->state.start_accepted(self, handle, options.settings, options.tls);
  self->state.await_hello(options.registrar, options.ticket);
  return handlers(self);
}

connection_broker::behavior_type
dialled_connection(connection_self self, int fd, const dialled_options& options) {
  set_handlers(self);
  self->state.start_dialled(self, self->add_scribe(fd), options);
  return handlers(self);
}

} // namespace codeq::transport
