// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace codeq::protocol {

/// The protocol version of this build; both sides of a connection must support it.
inline constexpr std::uint16_t version = 1;

} // namespace codeq::protocol
