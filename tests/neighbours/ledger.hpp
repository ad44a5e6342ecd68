// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace codeq::neighbours {

/// A follow-up: the shard that it belongs to, and a group of its own.
struct follow_up_name {
  shard_id from{};
  shard_id to{};
  std::string group;

  auto operator<=>(const follow_up_name&) const = default;
};

/// The follow-ups of all completions that were acknowledged, and which of them may be lost.
class ledger {
public:
  struct entry {
    /// How many writes its shard had on disk when the completion was acknowledged.
    std::size_t written = 0;
    bool may_be_lost = false;
  };

  void acknowledged(const follow_up_name& name, std::size_t written) {
    entries_.try_emplace(name, entry{written, false});
  }

  /// The follow-ups, to be changed.
  [[nodiscard]] std::map<follow_up_name, entry>& entries() { return entries_; }

private:
  std::map<follow_up_name, entry> entries_;
};

} // namespace codeq::neighbours
