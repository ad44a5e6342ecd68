// SPDX-License-Identifier: Apache-2.0
#include "transport/configure.hpp"

#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/middleman.hpp>

namespace codeq::transport {

namespace {

/// Maximum number of messages that an actor or broker handles before others run; without a bound a
/// flooded broker would not touch its sockets until its mailbox is empty.
constexpr std::size_t turn_messages_max = 300;

} // namespace

void configure(caf::actor_system_config& config, std::size_t threads) {
  config.load<caf::io::middleman>();
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", threads);
  config.set("scheduler.max-throughput", turn_messages_max);
  config.set("middleman.workers", std::size_t{0});
  config.set("middleman.attach-utility-actors", true);
  config.set("middleman.enable-automatic-connections", false);
  config.set("middleman.heartbeat-interval", caf::timespan{0});
  config.set("middleman.connection-timeout", caf::timespan{0});
  config.set("logger.verbosity", caf::atom("quiet"));
}

void finish(caf::actor_system& system) {
  system.await_all_actors_done();
  system.clock().cancel_all();
}

} // namespace codeq::transport
