// SPDX-License-Identifier: Apache-2.0
#include "cluster/etcd_contact.hpp"

#include "cluster/cluster_timing.hpp"

namespace codeq::cluster {

void etcd_contact::note(const result<void>& how, monotonic_time now) {
  if (how)
    answered_ = now;
  else
    reason_ = to_string(how.error());
}

void etcd_contact::note_write(const result<void>& how, monotonic_time now) {
  if (how) {
    undecided_.reset();
    return;
  }
  undecided_ = {undecided_ ? undecided_->first : now, now};
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
  if (now >= answered_ + timing::etcd_silent)
    return now - answered_;
  return decides_nothing() ? now - undecided_->first : duration{0};
}

bool etcd_contact::decides_nothing() const {
  return undecided_ && undecided_->last >= undecided_->first + timing::etcd_silent;
}

const std::string& etcd_contact::reason() const {
  return decides_nothing() ? write_reason_ : reason_;
}

} // namespace codeq::cluster
