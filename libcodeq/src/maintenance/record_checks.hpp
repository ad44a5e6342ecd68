// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "maintenance/finding_list.hpp"
#include "maintenance/shard_facts.hpp"

#include <optional>
#include <span>
#include <string_view>

/// Checks of each record by itself and of its references; one function per kind. A new kind of
/// record needs a further function, an entry in the list and an `in_words` of its key.
namespace codeq::maintenance {

/// One kind of records that belong to a shard.
struct record_kind {
  /// The kind's name, as used by `in_words` of its key.
  std::string_view name;
  /// The shard, when the key is of this kind; otherwise empty.
  std::optional<shard_id> (*shard_of)(std::string_view key);
  /// Called for keys in their order. @pre the key is of this kind and of the shard of `facts`
  void (*check)(
    shard_facts& facts, std::string_view key, std::string_view value, finding_list& found);
};

/// All kinds except the store's own record.
[[nodiscard]] std::span<const record_kind> record_kinds();

} // namespace codeq::maintenance
