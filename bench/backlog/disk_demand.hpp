// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "backlog/backlog.hpp"

#include <cstdint>

namespace codeq::bench {

/// Bytes on disk of one task beside its payload: the other fields of its record, and room for a
/// compaction, whose input and output both exist until it has ended.
inline constexpr std::uint64_t bytes_beside_payload = 344;

/// Bytes that the store of a full backlog may take: 600 for a task with the default payload, of
/// which 300 to 560 were measured as written to tables. Payloads count in full, although the store
/// compresses older tables, since how far depends on the payloads.
[[nodiscard]] constexpr std::uint64_t disk_demand(const backlog_options& options) noexcept {
  return options.tasks * (options.payload + bytes_beside_payload);
}

/// Checks that the system's temporary directory, which holds the store, has room for the backlog.
/// Errors: `disk_full` with the free bytes, the folder and the demand; `unavailable` when the free
/// bytes are unknown.
[[nodiscard]] result<void> check_disk(const backlog_options& options);

} // namespace codeq::bench
