// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery/schedule_reader.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/records/record_codec.hpp"

#include <algorithm>
#include <utility>

namespace codeq::storage {

result<std::vector<core::occurrence>>
read_occurrences(const task_store& store, shard_id shard, const schedule_address& name) {
  std::vector<core::occurrence> entries;
  result<void> decoded;
  auto range = occurrences_of(shard, name);
  auto scanned = store.scan(range.begin, range.end, [&](std::string_view, std::string_view value) {
    auto entry = decode_occurrence(value);
    if (!entry) {
      decoded = entry.error();
      return false;
    }
    entries.push_back(*entry);
    return true;
  });
  if (!scanned)
    return scanned.error();
  if (!decoded)
    return decoded.error();
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.number < b.number;
  });
  return entries;
}

} // namespace codeq::storage
