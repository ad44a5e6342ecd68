// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "storage/keys/keyspace.hpp"

#include <algorithm>

namespace codeq::test {

/// All keys of one kind of a shard. @pre the kind is one of those in `data_of`
[[nodiscard]] inline storage::key_range keys_of_kind(storage::key_tag kind, shard_id shard) {
  const auto all = storage::data_of(shard);
  return *std::find_if(all.begin(), all.end(), [kind](const storage::key_range& one) {
    return one.begin.front() == static_cast<char>(kind);
  });
}

} // namespace codeq::test
