// SPDX-License-Identifier: Apache-2.0
#include "base/queue_pattern.hpp"

#include "codeq/ids.hpp"
#include "codeq/limits.hpp"

namespace codeq::base {

result<queue_pattern> queue_pattern::parse(std::string_view text) {
  bool is_prefix = text.ends_with('*');
  auto stem = is_prefix ? text.substr(0, text.size() - 1) : text;
  bool is_all = is_prefix && stem.empty();
  if (!is_all && !is_valid_name(stem))
    return error{
      errc::invalid_argument,
      "`" + std::string(text.substr(0, 2 * limits::name_bytes_max))
        + "` is no queue or pattern; it must be 1 to " + std::to_string(limits::name_bytes_max)
        + " letters, digits, `.`, `_` or `-`; a pattern is some of these and a `*`, or `*` alone"};
  return queue_pattern(std::string(stem), is_prefix);
}

std::optional<queue_pattern> queue_pattern::common_with(const queue_pattern& other) const {
  if (covers(other))
    return other;
  if (other.covers(*this))
    return *this;
  return std::nullopt;
}

const queue_pattern*
most_specific(const std::vector<queue_pattern>& patterns, const queue_pattern& wanted) {
  const queue_pattern* found = nullptr;
  for (const auto& one : patterns) {
    if (!one.covers(wanted))
      continue;
    bool is_better = !found || one.is_one_queue()
                     || (!found->is_one_queue() && one.stem().size() > found->stem().size());
    if (is_better)
      found = &one;
  }
  return found;
}

} // namespace codeq::base
