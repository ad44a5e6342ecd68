// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/epoch_index.hpp"
#include "replication/messages.hpp"

#include <map>
#include <string>
#include <vector>

namespace codeq::replication::sim {

/// Checks what the replicas of one shard did against the promises. It sees what they wrote,
/// acknowledged, served and answered, never what they believe.
class auditor {
public:
  /// A replica writes a delta behind `log`.
  void writes(const std::vector<entry>& log, const entry& what);
  /// A primary acknowledges all deltas of its epoch up to one that it has written.
  void acknowledges(epoch_number epoch, position at);
  /// A primary serves from now on, with this log. One that was paused may do so late; then it can
  /// neither acknowledge nor answer.
  void serves(epoch_number epoch, const std::vector<entry>& log);
  /// A primary may answer what is not a commit.
  void may_answer(epoch_number epoch);
  /// A replica was made primary in this epoch after all had lost power: what it has not is lost, as
  /// it was said.
  void accept_loss(epoch_number epoch) { loss_accepted_ = epoch; }

  /// Notes a violation that was found elsewhere.
  void fail(const std::string& what);

  /// Each acknowledged delta is in a log.
  void check_log(const std::vector<entry>& log);

  [[nodiscard]] const std::string& violation() const { return violation_; }

  [[nodiscard]] const std::vector<position>& acknowledged() const { return acknowledged_; }

  /// Whether a delta that was acknowledged must not be lost.
  [[nodiscard]] bool has_to_stay(position at) const { return at.epoch >= loss_accepted_; }

  [[nodiscard]] std::size_t epochs_served() const { return served_.size(); }

  [[nodiscard]] bool was_served(epoch_number epoch) const { return served_.contains(epoch); }

private:
  void check_before(epoch_number epoch, const std::vector<entry>& log);
  [[nodiscard]] bool has(const std::vector<entry>& log, position at) const;

  /// Every delta that was ever written, by its position.
  std::map<position, entry> deltas_;
  std::vector<position> acknowledged_;
  std::map<epoch_number, std::vector<entry>> served_;
  /// Nothing is claimed of what was acknowledged before this epoch, nor of its primaries.
  epoch_number loss_accepted_ = 0;
  std::string violation_;
};

} // namespace codeq::replication::sim
