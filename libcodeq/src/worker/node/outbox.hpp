// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"

#include "worker/node/report.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace codeq::worker {

/// The reports that no coordinator has answered yet. Each is kept and sent again after a reconnect
/// until it is answered. Pure: hands out what to send, sends nothing.
class outbox {
public:
  /// What goes into one result request; the reports stay the outbox's and are valid until the next
  /// call of a function that is not const.
  struct batch {
    shard_id shard{};
    std::vector<const report*> reports;
  };

  /// `batch_reports`: reports of one batch at most, at least 1.
  explicit outbox(std::size_t links, std::size_t batch_reports = limits::reports_per_request_max)
    : unsent_(links), batch_reports_(batch_reports) {}

  void add(report made);

  /// What was not sent to `link` since it opened, oldest first, in batches within the limits of a
  /// request; counted as sent.
  [[nodiscard]] std::vector<batch> take(std::size_t link);

  /// The connection of `link` is new: everything unanswered has to be sent again.
  void resend(std::size_t link);

  /// The coordinator decided; false when the report was not waiting.
  bool answered(const lease_key& key);

  /// The coordinator has no space for the report now: it is sent again after the next call of
  /// `send_postponed`. False when it was not waiting.
  bool postpone(const lease_key& key);
  void send_postponed();

  /// The coordinator does not take a completion for what it carries: a failure that says so takes
  /// its place. False when no completion was waiting.
  bool refused(const lease_key& key, const std::string& why);

  /// Nobody will answer on `link` any more.
  void drop(std::size_t link);

  [[nodiscard]] bool contains(const lease_key& key) const { return waiting_.contains(key); }

  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  /// True when so much is unanswered that no more work should be asked for.
  [[nodiscard]] bool is_full() const noexcept;

private:
  struct entry {
    report made;
    /// Counts reports, so that they are sent again in their order.
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
