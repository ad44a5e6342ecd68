// SPDX-License-Identifier: Apache-2.0
#include "storage/replica/shard_sweep.hpp"

namespace codeq::storage {

result<std::vector<std::string>> shard_sweep::next(std::size_t keys_max) {
  std::vector<std::string> keys;
  for (; range_ < ranges_.size(); ++range_) {
    auto& range = ranges_[range_];
    const auto before = keys.size();
    auto scanned = view_->scan(range.begin, range.end, [&](auto key, auto) {
      keys.emplace_back(key);
      return keys.size() < keys_max;
    });
    if (!scanned)
      return scanned.error();
    // The successor of a string is the string with a zero byte appended.
    if (keys.size() > before)
      range.begin = keys.back() + '\0';
    if (keys.size() >= keys_max)
      break;
  }
  return keys;
}

} // namespace codeq::storage
