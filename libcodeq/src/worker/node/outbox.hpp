// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "worker/node/report.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
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
  explicit outbox(std::size_t stores, std::size_t batch_reports = limits::reports_per_request_max)
    : unsent_(stores), batch_reports_(batch_reports) {}

  /// True when the coordinator of the shard is connected.
  using shard_test = std::function<bool(shard_id shard)>;

  void add(report made);

  /// The reports that were not sent to the store since it was connected, oldest first, in batches
  /// within the limits of a request; they count as sent.
  [[nodiscard]] std::vector<batch> take(std::size_t store);

  /// The same for those whose shard is reached; the others are kept.
  [[nodiscard]] std::vector<batch> take(std::size_t store, const shard_test& is_reached);

  /// The connection to the store is new: all unanswered reports have to be sent again.
  void resend(std::size_t store);

  /// The same for these shards, in ascending order. Returns the keys of those reports.
  std::vector<lease_key> resend(std::size_t store, std::span<const shard_id> shards);

  /// The coordinator answered the report; false when it was not waiting.
  bool answered(const lease_key& key);

  /// The coordinator has no space for the report now: it is sent again after the next call of
  /// `send_postponed`. False when it was not waiting.
  bool postpone(const lease_key& key);
  void send_postponed();

  /// The coordinator refused a completion, or a report that names limits, for its content: replaces
  /// it by a failure with the reason, which is valid until the next call of a non-const function.
  /// Null when none was waiting.
  const report* refused(const lease_key& key, const std::string& why);

  /// Reports to the store will never be answered.
  void drop(std::size_t store);

  [[nodiscard]] std::size_t stores() const noexcept { return unsent_.size(); }

  /// True for a report that waits for its answer, or waited at the latest `resend` to its shard.
  /// The coordinator may have decided the resume before that report; then it delivers the task
  /// again, perhaps after the answer.
  [[nodiscard]] bool has_reported(const lease_key& key) const {
    return waiting_.contains(key) || resent_.contains(key);
  }

  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  /// True when so many reports are unanswered that no more tasks should be claimed.
  [[nodiscard]] bool is_full() const noexcept;

private:
  struct entry {
    report made;
    /// Number of the report, so that reports are resent in their order.
    std::uint64_t order = 0;
  };

  /// Lists the waiting reports that `is_meant`, in their order.
  template <class Test>
  [[nodiscard]] std::vector<lease_key> list(Test&& is_meant) const;
  [[nodiscard]] std::vector<batch> pack(const std::vector<lease_key>& keys) const;

  std::unordered_map<lease_key, entry, lease_key_hash> waiting_;
  std::vector<std::vector<lease_key>> unsent_;
  std::vector<lease_key> postponed_;
  /// The reports that waited at the latest `resend` to their shards.
  std::unordered_set<lease_key, lease_key_hash> resent_;
  std::size_t batch_reports_;
  std::uint64_t next_order_ = 0;
  std::size_t bytes_ = 0;
};

} // namespace codeq::worker
