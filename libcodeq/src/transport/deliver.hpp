// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"

#include <caf/send.hpp>

#include <string>
#include <utility>

namespace codeq::transport {

/// A sink that sends frames of the schema types `Ss` to `owner`, each as its typed `frame<S>`, and
/// refuses all others; a goodbye that is not among them is let pass, since the end of the
/// connection follows. Holds `owner` for as long as the connection holds the sink.
template <class... Ss, class Handle>
[[nodiscard]] actors::frame_sink deliver(Handle owner) {
  return [owner = std::move(owner)](const protocol::wire_frame& wire) -> result<void> {
    result<void> outcome =
      error{errc::protocol_error, "unexpected frame type=" + std::to_string(wire.type)};
    auto offer = [&]<class S>(std::type_identity<S>) {
      if (wire.type != protocol::frame_type<S>)
        return false;
      auto parsed = protocol::frame<S>::parse(wire.body);
      if (parsed)
        caf::anon_send(owner, std::move(*parsed));
      outcome = parsed ? result<void>{} : result<void>{parsed.error()};
      return true;
    };
    bool known = (offer(std::type_identity<Ss>{}) || ...);
    if (!known && wire.type == protocol::frame_type<schema::Goodbye>)
      return {};
    return outcome;
  };
}

} // namespace codeq::transport
