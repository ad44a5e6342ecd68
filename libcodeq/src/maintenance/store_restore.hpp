// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "storage/records/record_codec.hpp"
#include "storage/task_store.hpp"

#include <cstdint>

namespace codeq::maintenance {

/// The epoch of a store that was restored at `now`: beyond all that the store which was backed up
/// can have come to since, so that no token of its later life is ever equal to or above one that
/// the restored store gives. May be beyond the last epoch.
[[nodiscard]] std::uint64_t epoch_of_restored(std::uint32_t stored, timestamp now);

/// Makes a copied store one of its own: another id, and an epoch as above, synced. Errors: of the
/// store; `incompatible_store` when it has a newer format or epochs ran out.
[[nodiscard]] result<storage::store_record>
give_identity(storage::task_store& store, std::uint64_t store_id, timestamp now);

} // namespace codeq::maintenance
