// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace codeq::mutation {

/// Number of the active fault; 0: none. Set only by `mutation_test`, before it runs anything.
inline std::size_t active_fault = 0;

/// Condition of every switch that `generate.py` inserts into the copies.
[[nodiscard]] inline bool is_active(std::size_t fault) noexcept {
  return fault == active_fault;
}

/// Names of the faults by number, in the order of `faults.toml`; the first one is "no fault".
/// Defined in the file that `generate.py` writes.
extern const std::span<const char* const> fault_names;

/// By the number of the fault, the seed that is tried before all others; 0: none.
extern const std::span<const std::uint64_t> first_seeds;

} // namespace codeq::mutation
