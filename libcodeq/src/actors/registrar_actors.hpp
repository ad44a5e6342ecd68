// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"

#include <caf/typed_actor.hpp>

/// The registrar's interface as its own process sees it.
namespace codeq::actors {

/// Asks the registrar to let nobody in any more.
struct stop_registrar {};

/// Other tokens than before are in force.
struct tokens_replaced {};

/// What the REGISTRAR understands inside its own process.
using registrar_internal_actor = registrar_actor::extend<
  // Ends the sessions of tokens that are gone or say something else.
  caf::reacts_to<tokens_replaced>,
  // Refuses further hellos and ends every session.
  caf::replies_to<stop_registrar>::with<bool>>;

} // namespace codeq::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::stop_registrar)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(codeq::actors::tokens_replaced)
