// SPDX-License-Identifier: Apache-2.0
#include "cluster/etcd_contact.hpp"

#include "cluster/cluster_timing.hpp"

#include <algorithm>

namespace codeq::cluster {

void etcd_contact::note(const result<void>& how, monotonic_time now) {
  if (how)
    answered_ = now;
  else
    reason_ = to_string(how.error());
}

void etcd_contact::note_write(const result<void>& how, monotonic_time now) {
  if (how) {
    undecided_since_.reset();
    return;
  }
  undecided_since_ = undecided_since_.value_or(now);
  write_reason_ = to_string(how.error());
}

etcd_contact::news etcd_contact::look(monotonic_time now) {
  const auto is_lost = silent(now) > duration{0};
  if (is_lost == is_told_lost_)
    return news::none;
  is_told_lost_ = is_lost;
  return is_lost ? news::lost : news::found;
}

duration etcd_contact::silent(monotonic_time now) const {
  const auto since = std::min(answered_, undecided_since_.value_or(answered_));
  return now < since + timing::etcd_silent ? duration{0} : now - since;
}

const std::string& etcd_contact::reason() const {
  return undecided_since_ && *undecided_since_ < answered_ ? write_reason_ : reason_;
}

} // namespace codeq::cluster
