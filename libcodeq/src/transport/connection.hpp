// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "transport/admission.hpp"
#include "transport/connection_state.hpp"
#include "transport/settings.hpp"

#include <caf/io/typed_broker.hpp>

#include <memory>

namespace codeq::transport {

/// Parameters of an accepted connection.
struct accepted_options {
  actors::registrar_actor registrar;
  connection_settings settings;
  std::shared_ptr<admission_ticket> ticket;
  /// Null: without TLS.
  std::shared_ptr<const security::tls_context> tls;
};

/// The broker of a connection that a peer dialled. It reads one hello, passes it to the registrar,
/// reads nothing more until the connection is accepted, and then passes frames to the owner's sink.
/// Runs on the middleman's thread.
connection_broker::behavior_type accepted_connection(
  connection_self self, caf::io::connection_handle handle, const accepted_options& options);

/// The broker of a connection that a link dialled. It sends the hello, waits for the answer,
/// notifies the link's owner by `link_up`, and then passes frames to the owner's sink. Takes
/// ownership of the socket. Runs on the middleman's thread.
connection_broker::behavior_type
dialled_connection(connection_self self, int fd, const dialled_options& options);

} // namespace codeq::transport
