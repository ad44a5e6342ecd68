// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

namespace codeq::base {

/// Wall-clock time, for what people and other machines date, such as expiries of tokens. It may
/// step; shard time does not.
[[nodiscard]] timestamp wall_now();

} // namespace codeq::base
