// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include "maintenance/finding_list.hpp"
#include "maintenance/shard_facts.hpp"

#include <optional>
#include <span>
#include <string_view>

/// What must hold of each record by itself and of what it refers to; one function per kind. A new
/// kind of record takes one more, an entry in the list and an `in_words` of its key.
namespace codeq::maintenance {

/// One kind of records that belong to a shard.
struct record_kind {
  /// As in `in_words` of its key.
  std::string_view name;
  /// The shard, when the key is of this kind.
  std::optional<shard_id> (*shard_of)(std::string_view key);
  /// @pre the key is of this kind and of the shard of `facts`; keys come in their order
  void (*check)(
    shard_facts& facts, std::string_view key, std::string_view value, finding_list& found);
};

/// All kinds but the store's own record.
[[nodiscard]] std::span<const record_kind> record_kinds();

} // namespace codeq::maintenance
