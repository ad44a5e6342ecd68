// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace codeq::base {

/// Random bits, different in every process; for identities and names, not for secrets.
[[nodiscard]] std::uint64_t random_bits();

} // namespace codeq::base
