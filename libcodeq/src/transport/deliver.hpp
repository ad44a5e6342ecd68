// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"

#include <caf/send.hpp>

#include <utility>

namespace codeq::transport {

/// A sink that sends frames of the schema types `Ss` to `owner`, each as its typed `frame<S>`, and
/// refuses all others. A goodbye that is not among them is ignored, since the end of the connection
/// follows. The connection holds the sink, which holds `owner`.
template <class... Ss, class Handle>
[[nodiscard]] actors::frame_sink deliver(Handle owner) {
  return [owner = std::move(owner)](const protocol::wire_frame& wire) -> result<void> {
    auto send = [&](auto message) { caf::anon_send(owner, std::move(message)); };
    if (auto sent = protocol::visit_one_of<Ss...>(wire, send))
      return *sent;
    if (wire.type == protocol::frame_type<schema::Goodbye>)
      return {};
    return protocol::unexpected_frame(wire);
  };
}

} // namespace codeq::transport
