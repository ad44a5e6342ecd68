// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/actor_system_config.hpp>

#include <cstddef>

namespace codeq::transport {

/// Configures an actor system for codeq: the middleman, `threads` scheduler threads on one shared
/// queue, bounded turns, no listening port, and no configuration file from the working directory.
/// @pre called before the system is created; `caf::actor_system_config::parse` is never called.
void configure(caf::actor_system_config& config, std::size_t threads);

/// Waits until every actor has ended, then drops pending delayed messages: each holds its receiver,
/// and an actor system never finishes while a detached actor is held. Call before the system is
/// destroyed. @pre every actor was told to end
void finish(caf::actor_system& system);

} // namespace codeq::transport
