// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"

#include "common.capnp.h"

namespace codeq::protocol {

/// The code as it crosses the wire; the two enums number it differently.
[[nodiscard]] schema::ErrorCode to_schema(errc code) noexcept;

/// The code that a peer sent; one that this version does not know is `unsupported`.
[[nodiscard]] errc from_schema(schema::ErrorCode code) noexcept;

} // namespace codeq::protocol
