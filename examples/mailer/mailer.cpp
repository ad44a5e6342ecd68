// SPDX-License-Identifier: Apache-2.0
// Handles queue `mail` by actors that answer later: the handler sends a request to a carrier, which
// is another actor, reports progress, and fails when the carrier does not answer in time. Nothing
// blocks, so one thread handles as many letters as the node has slots.
#include "codeq/actor_handler.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <deque>
#include <string>

namespace {

using namespace std::chrono_literals;

constexpr auto travel_time = 50ms;
constexpr auto carrier_patience = 10s;

using arrive_atom = caf::atom_constant<caf::atom("arrive")>;
using answer = caf::typed_response_promise<std::string>;

struct carrier_state {
  struct letter {
    std::string to;
    answer delivered;
  };

  std::deque<letter> on_the_way;
};

/// Delivers letters; those to `nowhere` get lost.
caf::behavior carrier(caf::stateful_actor<carrier_state>* self) {
  return {
    [self](const std::string& to) {
      auto delivered = self->make_response_promise<std::string>();
      if (to != "nowhere") {
        self->state.on_the_way.push_back({to, delivered});
        self->delayed_send(self, travel_time, arrive_atom::value);
      }
      return delivered;
    },
    [self](arrive_atom) {
      auto arrived = std::move(self->state.on_the_way.front());
      self->state.on_the_way.pop_front();
      arrived.delivered.deliver(arrived.to);
    }};
}

/// Passes a letter to the carrier and answers when it has arrived.
codeq::handler_actor::behavior_type mailer(codeq::handler_actor::pointer self) {
  auto courier = self->spawn(carrier);
  return {[self, courier](const codeq::task& task) -> caf::result<codeq::outcome> {
    auto ended = self->make_response_promise<codeq::outcome>();
    task.progress(0, "handed over");
    self->request(courier, carrier_patience, std::string(task.payload))
      .then(
        [ended, task](const std::string& to) mutable {
          task.progress(100, "arrived");
          ended.deliver(codeq::outcome::completed("delivered to " + to));
        },
        [ended](const caf::error&) mutable {
          ended.deliver(codeq::outcome::failed("the carrier is silent"));
        });
    return ended;
  }};
}

} // namespace

CODEQ_HANDLERS(registry) {
  registry.handle_actor("mail", mailer);
}
