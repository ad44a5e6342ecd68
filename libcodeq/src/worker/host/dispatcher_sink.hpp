// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"

#include <cstddef>

namespace codeq::worker {

/// The sink for the frames of link `index`.
[[nodiscard]] actors::frame_sink
dispatcher_sink(actors::dispatcher_actor dispatcher, std::size_t index);

} // namespace codeq::worker
