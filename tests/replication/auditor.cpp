// SPDX-License-Identifier: Apache-2.0
#include "replication/auditor.hpp"

namespace codeq::replication::sim {

namespace {

std::string text(position at) {
  return std::to_string(at.epoch) + "/" + std::to_string(at.number);
}

} // namespace

void auditor::fail(const std::string& what) {
  if (violation_.empty())
    violation_ = what;
}

bool auditor::has(const std::vector<entry>& log, position at) const {
  return at.number <= log.size() && log[at.number - 1].at == at;
}

void auditor::writes(const std::vector<entry>& log, const entry& what) {
  const auto last = log.empty() ? position{} : log.back().at;
  if (what.at.number != log.size() + 1 || what.previous != last)
    fail("delta " + text(what.at) + " is written out of order, after " + text(last));
  const auto [known, is_new] = deltas_.emplace(what.at, what);
  if (!is_new && known->second.body != what.body)
    fail("two deltas have the position " + text(what.at));
  if (!is_new && known->second.previous != what.previous)
    fail("delta " + text(what.at) + " is written to a state that it was not made for");
}

void auditor::acknowledges(epoch_number epoch, position at) {
  acknowledged_.push_back(at);
  if (at.epoch != epoch)
    fail("delta " + text(at) + " is acknowledged in epoch " + std::to_string(epoch));
  if (!has_to_stay(at))
    return;
  for (auto later = served_.upper_bound(epoch); later != served_.end(); ++later)
    if (!has(later->second, at))
      fail("delta " + text(at) + " is acknowledged, but epoch " + std::to_string(later->first)
           + " serves without it");
}

void auditor::serves(epoch_number epoch, const std::vector<entry>& log) {
  if (served_.contains(epoch))
    fail("epoch " + std::to_string(epoch) + " is served twice");
  served_[epoch] = log;
  check_before(epoch, log);
}

void auditor::check_before(epoch_number epoch, const std::vector<entry>& log) {
  for (auto at : acknowledged_)
    if (at.epoch < epoch && has_to_stay(at) && !has(log, at))
      fail("acknowledged delta " + text(at) + " is lost");
}

void auditor::check_log(const std::vector<entry>& log) {
  check_before(static_cast<epoch_number>(-1), log);
}

void auditor::may_answer(epoch_number epoch) {
  if (epoch >= loss_accepted_ && !served_.empty() && served_.rbegin()->first > epoch)
    fail("epoch " + std::to_string(epoch) + " may answer while epoch "
         + std::to_string(served_.rbegin()->first) + " serves");
}

} // namespace codeq::replication::sim
