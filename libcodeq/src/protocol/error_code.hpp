// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "common.capnp.h"

namespace codeq::protocol {

/// The code in the schema; the two enums have different numbers.
[[nodiscard]] schema::ErrorCode to_schema(errc code) noexcept;

/// The code that a peer sent; a code that this version does not know becomes `unsupported`.
[[nodiscard]] errc from_schema(schema::ErrorCode code) noexcept;

} // namespace codeq::protocol
