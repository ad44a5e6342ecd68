// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/actor_system_config.hpp>

#include <cstddef>

namespace codeq::transport {

/// Sets up an actor system as codeq needs it: the middleman, `threads` scheduler threads on one
/// shared queue, bounded turns, nothing listening and no file read from the working directory.
/// @pre called before the system is made; `caf::actor_system_config::parse` is never called.
void configure(caf::actor_system_config& config, std::size_t threads);

} // namespace codeq::transport
