// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/operator_types.hpp"

#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::client {

/// A page of a list over all shards: which part to request from each of them, and how to merge what
/// they answer. Keyset pages: the place of the next page is a sequence for each shard. Pure.
class page_merge {
public:
  /// Empty when `page.after` is not the `after` of a page in this order of a store with that many
  /// shards.
  [[nodiscard]] static std::optional<page_merge>
  begin(const task_filter& filter, const page_request& page, std::uint16_t shards);

  [[nodiscard]] question question_for(std::uint16_t shard) const;

  /// Merges one part per shard, in their order without the shards that are `missing`, ascending.
  /// Errors: `unsupported` from an older coordinator, which ignored a part of the filter.
  [[nodiscard]] result<task_page>
  merge(std::vector<list_part> parts, std::vector<shard_id> missing = {}) const;

private:
  page_merge(const task_filter& filter, const page_request& page, std::vector<sequence> place)
    : filter_(filter), page_(page), place_(std::move(place)) {}

  [[nodiscard]] bool is_down() const noexcept { return page_.order == list_order::newest_first; }

  task_filter filter_;
  page_request page_;
  /// For each shard the bound of its tasks: they are above it, or, if the newest come first, below
  /// it; 0 is no bound.
  std::vector<sequence> place_;
};

} // namespace codeq::client
