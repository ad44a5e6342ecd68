// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace codeq::mutation {

/// The number of the fault that the code has from now on. 0: none. Changed by `mutation_test` only,
/// before it runs anything.
inline std::size_t active_fault = 0;

/// The condition of every switch that `generate.py` puts into the copies.
[[nodiscard]] inline bool is_active(std::size_t fault) noexcept {
  return fault == active_fault;
}

/// The names of the faults by number, in the order of `faults.toml`; the first one is "no fault".
/// Defined by the file that `generate.py` writes.
extern const std::span<const char* const> fault_names;

} // namespace codeq::mutation
