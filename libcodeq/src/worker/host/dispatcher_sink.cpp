// SPDX-License-Identifier: Apache-2.0
#include "worker/host/dispatcher_sink.hpp"

#include <caf/send.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace codeq::worker {

actors::frame_sink dispatcher_sink(actors::dispatcher_actor dispatcher, std::size_t index) {
  return [dispatcher = std::move(dispatcher), index](const protocol::wire_frame& wire) {
    // A stopping coordinator sends this; only the end of its connection matters here.
    if (wire.type == protocol::frame_type<schema::Goodbye>)
      return result<void>{};
    result<void> taken =
      error{errc::protocol_error, "unexpected frame type=" + std::to_string(wire.type)};
    auto offer = [&]<class S>(std::type_identity<S>) {
      if (wire.type != protocol::frame_type<S>)
        return false;
      auto parsed = protocol::frame<S>::parse(wire.body);
      if (parsed)
        caf::anon_send(dispatcher, actors::from_link<S>{index, std::move(*parsed)});
      taken = parsed ? result<void>{} : result<void>{parsed.error()};
      return true;
    };
    static_cast<void>(
      offer(std::type_identity<schema::TaskBatch>{})
      || offer(std::type_identity<schema::ResultReply>{})
      || offer(std::type_identity<schema::LeasesLost>{})
      || offer(std::type_identity<schema::CancelNotice>{})
      || offer(std::type_identity<schema::ResumeReply>{})
      || offer(std::type_identity<schema::CheckpointsSaved>{})
      || offer(std::type_identity<schema::ClusterMap>{})
      || offer(std::type_identity<schema::CreditNews>{})
      || offer(std::type_identity<schema::HeartbeatReply>{}));
    return taken;
  };
}

} // namespace codeq::worker
