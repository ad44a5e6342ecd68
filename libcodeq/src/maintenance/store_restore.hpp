// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "storage/records/record_codec.hpp"
#include "storage/task_store.hpp"

#include <cstdint>

namespace codeq::maintenance {

/// The epoch of a store that is restored at `now`. It is greater than any that the backed-up store
/// can have reached since, so that the restored store's tokens are greater than all tokens that
/// were granted later. May exceed the maximum epoch.
[[nodiscard]] std::uint64_t epoch_of_restored(std::uint32_t stored, timestamp now);

/// Gives a copied store a new id and an epoch as above, synced. `reached`: an epoch that its shards
/// have reached apart from the store's own. Errors: of the store; `incompatible_store` when it has
/// a newer format or epochs ran out.
[[nodiscard]] result<storage::store_record> give_identity(
  storage::task_store& store, std::uint64_t store_id, timestamp now, std::uint32_t reached = 0);

} // namespace codeq::maintenance
