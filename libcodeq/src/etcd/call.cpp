// SPDX-License-Identifier: Apache-2.0
#include "etcd/call.hpp"

#include "base/assert.hpp"
#include "etcd/etcd_limits.hpp"

#include <algorithm>

namespace codeq::etcd {

call::call(std::size_t members, std::size_t first, duration limit, monotonic_time now)
  : views_(members),
    turn_(first),
    ends_(now + limit) {
  CODEQ_ASSERT(first < members);
}

std::optional<std::size_t> call::free_member(monotonic_time now) const {
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const auto member = (turn_ + i) % views_.size();
    if (views_[member].open < limits::copies_open_max && now >= views_[member].free_at)
      return member;
  }
  return std::nullopt;
}

std::optional<call::copy> call::next(monotonic_time now) {
  if (is_over(now) || (!is_free_ && now < last_asked_ + limits::unanswered))
    return std::nullopt;
  const auto member = free_member(now);
  if (!member)
    return std::nullopt;
  auto& one = views_[*member];
  one.is_asked = true;
  ++one.open;
  last_asked_ = now;
  is_free_ = false;
  turn_ = (*member + 1) % views_.size();
  return copy{++copies_, *member};
}

monotonic_time call::wake_at() const {
  const auto may_ask = is_free_ ? monotonic_time{} : last_asked_ + limits::unanswered;
  auto at = ends_;
  for (const auto& one : views_)
    if (one.open < limits::copies_open_max)
      at = std::min(at, std::max(may_ask, one.free_at));
  return at;
}

void call::failed(const copy& what, std::string words, monotonic_time now) {
  auto& one = views_[what.member];
  --one.open;
  // The failure of an earlier copy hurries nobody.
  if (what.number == copies_)
    is_free_ = true;
  one.free_at = now + limits::failed_pause;
  one.words = std::move(words);
}

std::string call::words_of(std::size_t member) const {
  const auto& one = views_[member];
  if (!one.is_asked)
    return "";
  return one.words.empty() ? "no answer" : one.words;
}

} // namespace codeq::etcd
