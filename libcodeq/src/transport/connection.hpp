// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "transport/admission.hpp"
#include "transport/connection_state.hpp"
#include "transport/settings.hpp"

#include <caf/io/typed_broker.hpp>

#include <memory>

namespace codeq::transport {

/// What an accepted connection starts with.
struct accepted_options {
  actors::registrar_actor registrar;
  connection_settings settings;
  std::shared_ptr<admission_ticket> ticket;
  /// Null for connections without TLS.
  std::shared_ptr<const security::tls_context> tls;
};

/// The broker of a socket that a peer dialled: reads one hello, hands it to the registrar, reads
/// nothing more until it is accepted, then feeds the owner's sink. Runs on the middleman's thread.
connection_broker::behavior_type accepted_connection(
  connection_self self, caf::io::connection_handle handle, const accepted_options& options);

/// The broker of a socket that a link dialled: sends the hello, waits for the answer, tells the
/// link's owner `link_up`, then feeds its sink. Takes the socket over. Runs on the middleman's
/// thread.
connection_broker::behavior_type
dialled_connection(connection_self self, int fd, const dialled_options& options);

} // namespace codeq::transport
