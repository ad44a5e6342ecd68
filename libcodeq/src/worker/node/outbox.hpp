// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "worker/node/report.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

/// The reports that no coordinator has answered. Each is kept, and resent after a reconnect, until
/// it is answered. Pure: returns what to send, sends nothing.
class outbox {
public:
  /// The reports of one result request. They belong to the outbox and are valid until the next call
  /// of a non-const function.
  struct batch {
    shard_id shard{};
    std::vector<const report*> reports;
  };

  /// `batch_reports`: maximum number of reports in one batch, at least 1.
  explicit outbox(std::size_t links, std::size_t batch_reports = limits::reports_per_request_max)
    : unsent_(links), batch_reports_(batch_reports) {}

  void add(report made);

  /// The reports that were not sent to `link` since it opened, oldest first, in batches within the
  /// limits of a request; they count as sent.
  [[nodiscard]] std::vector<batch> take(std::size_t link);

  /// The connection of `link` is new: all unanswered reports have to be sent again.
  void resend(std::size_t link);

  /// The coordinator answered the report; false when it was not waiting.
  bool answered(const lease_key& key);

  /// The coordinator has no space for the report now: it is sent again after the next call of
  /// `send_postponed`. False when it was not waiting.
  bool postpone(const lease_key& key);
  void send_postponed();

  /// The coordinator refused a completion for its content: replaces it by a failure with the
  /// reason. False when no completion was waiting.
  bool refused(const lease_key& key, const std::string& why);

  /// Reports to `link` will never be answered.
  void drop(std::size_t link);

  [[nodiscard]] bool contains(const lease_key& key) const { return waiting_.contains(key); }

  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  /// True when so many reports are unanswered that no more tasks should be claimed.
  [[nodiscard]] bool is_full() const noexcept;

private:
  struct entry {
    report made;
    /// Number of the report, so that reports are resent in their order.
    std::uint64_t order = 0;
  };

  std::unordered_map<lease_key, entry, lease_key_hash> waiting_;
  std::vector<std::vector<lease_key>> unsent_;
  std::vector<lease_key> postponed_;
  std::size_t batch_reports_;
  std::uint64_t next_order_ = 0;
  std::size_t bytes_ = 0;
};

} // namespace codeq::worker
