// SPDX-License-Identifier: Apache-2.0
#include "storage/replica/shard_sweep.hpp"

namespace codeq::storage {

result<write_set> shard_sweep::next(std::size_t keys_max) {
  write_set removals;
  std::size_t keys = 0;
  for (; range_ < ranges_.size(); ++range_) {
    auto& range = ranges_[range_];
    std::string last;
    auto scanned = view_->scan(range.begin, range.end, [&](auto key, auto) {
      last = key;
      is_removed_singly(key) ? removals.single_remove(last) : removals.remove(last);
      return ++keys < keys_max;
    });
    if (!scanned)
      return scanned.error();
    // The successor of a string is the string with a zero byte appended.
    if (!last.empty())
      range.begin = last + '\0';
    if (keys >= keys_max)
      break;
  }
  return removals;
}

} // namespace codeq::storage
