// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace codeq::protocol {

/// The version of the protocol that this build speaks; both sides of a connection have to.
inline constexpr std::uint16_t version = 1;

} // namespace codeq::protocol
