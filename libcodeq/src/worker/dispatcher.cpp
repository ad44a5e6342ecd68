// SPDX-License-Identifier: Apache-2.0
#include "worker/dispatcher.hpp"

#include "transport/spawn_beside_sockets.hpp"
#include "worker/dispatcher_state.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace codeq::worker {

namespace {

/// What may happen to the dispatcher besides its messages.
void watch(dispatcher_self self) {
  self->set_down_handler([self](caf::down_msg& down) {
    self->state.take_link_end(down.source);
    self->state.take_handler_end(down.source.id(), down.reason);
  });
  self->set_error_handler([](caf::error&) {
    // Somebody could not take what was sent; whoever it was is monitored.
  });
  self->set_exception_handler([self](std::exception_ptr& thrown) -> caf::error {
    self->state.take_exception(thrown);
    return caf::exit_reason::unhandled_exception;
  });
}

} // namespace

actors::dispatcher_actor::behavior_type
dispatcher(dispatcher_self self, dispatcher_options options) {
  using actors::from_link;
  watch(self);
  self->state.start(self, std::move(options));
  return {
    [self](const from_link<schema::TaskBatch>& m) { self->state.take_tasks(m.link, m.message); },
    [self](outcome& answer) { self->state.take_outcomes({&answer, 1}); },
    [self](actors::batch_outcome& batch) { self->state.take_outcomes(batch.answers); },
    [self](const from_link<schema::ResultReply>& m) {
      self->state.take_answers(m.link, m.message);
    },
    [self](const from_link<schema::LeasesLost>& m) { self->state.take_losses(m.link, m.message); },
    [self](const from_link<schema::CancelNotice>& m) {
      self->state.take_cancel(m.link, m.message);
    },
    [self](const from_link<schema::ResumeReply>& m) {
      self->state.take_resumed(m.link, m.message);
    },
    [self](const from_link<schema::CheckpointsSaved>& m) {
      self->state.take_saved(m.link, m.message);
    },
    [self](const actors::link_up& up) { self->state.take_link_up(up); },
    [self](const actors::link_down& down) { self->state.take_link_down(down); },
    [self](const actors::links_spawned& spawned) { self->state.take_links(spawned.links); },
    [self](const actors::drain_request& request) { self->state.drain(request.limit); },
    [self](const actors::dispatcher_flush&) { self->state.flush(); },
    [self](const actors::lease_look& look) { self->state.look_at_leases(look.number); },
    [self](const actors::attempt_news& news) { self->state.take_news(news); },
    [self](const actors::idle_look&) { self->state.end_idle(); },
    [self](actors::reconfigure_worker& wish) { self->state.reconfigure(wish); },
    [self](const actors::drain_step_over& over) { self->state.drain_step_over(over.step); },
  };
}

actors::dispatcher_actor spawn_dispatcher(caf::actor_system& system, dispatcher_options options) {
  return transport::spawn_beside_sockets(system, dispatcher, std::move(options));
}

actors::frame_sink dispatcher_sink(actors::dispatcher_actor dispatcher, std::size_t index) {
  return [dispatcher = std::move(dispatcher), index](const protocol::wire_frame& wire) {
    // A coordinator that stops says so; the end of its connection is all that matters here.
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
      || offer(std::type_identity<schema::CheckpointsSaved>{}));
    return taken;
  };
}

} // namespace codeq::worker
