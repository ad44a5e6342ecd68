// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/desk/record_walk.hpp"
#include "http/desk/shard_desk.hpp"
#include "http/server/flight_queue.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/webhooks/webhook_options.hpp"
#include "observe/line_pace.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace codeq::http {

/// Delivers the ends of tasks to the webhooks of their producers. Each webhook is stored as a task,
/// its record, in a tenant of its own. The record is durable before the producer is answered, found
/// again after a restart, completed by the delivery, and dead when no delivery succeeded. So each
/// end is delivered at least once, also when the process ends in between. In a cluster the
/// coordinator that added a webhook delivers it, and when that one is lost the one that serves the
/// shard of the record. The gateway's actor owns the desk.
class webhook_desk {
public:
  /// Looks for open webhooks. `post` sends the result of each `options.send` to the actor, which
  /// calls `answered`.
  void start(
    shard_desk& desk,
    webhook_options options,
    std::function<void(std::uint64_t, result<outgoing_answer>)> post);

  /// Sends nothing more. The next start finds the open webhooks again.
  void stop() {
    stopped_ = true;
    walk_.stop();
  }

  /// Refuses a webhook that a task cannot have. Errors: `invalid_argument`, `overloaded`.
  [[nodiscard]] result<void> check(const std::string& tenant, const std::string& url) const;

  /// Stores the webhook of a task that was added, and calls `done` when it is durable. Errors: the
  /// errors of the enqueue, which the returned ticket names; the text says whether the webhook was
  /// stored.
  enqueue_ticket add(
    task_id task,
    const std::string& tenant,
    const std::string& url,
    std::function<void(result<void>)> done);

  /// A dead task of the tenant was redriven: its webhook, if it has one, is delivered for its next
  /// end, too. Nothing may be left of a webhook whose last delivery was
  /// `limits::webhook_dead_retention` ago.
  void renew(const std::string& tenant, task_id task);

  /// Handles the result of a delivery.
  void answered(std::uint64_t number, const result<outgoing_answer>& answer);

  /// The number of open webhooks.
  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }

private:
  /// A webhook that was not delivered yet.
  struct entry {
    /// The task that stores the webhook.
    task_id record;
    /// The task whose end is delivered.
    task_id task;
    std::string tenant;
    /// Empty until it is read from the record, which is needed after a restart.
    std::string host{};
    std::uint32_t attempts = 0;
    /// The record was found, so another coordinator may have added it.
    bool is_found = false;
    /// The state of the task in the latest delivery.
    task_state told = task_state::completed;
    /// The task was redriven since the latest delivery began, so another end follows.
    bool is_redriven = false;
  };

  void take_up(entry fresh);
  /// Looks for the record of a redriven task, and once more later if it is open elsewhere.
  void look_for(const std::string& tenant, task_id task, bool is_last);
  /// False when the record is open, but not here.
  bool reopen(const entry& fresh, task_state state);
  void leave(shard_id shard);
  void remove(std::uint64_t number);
  /// Another coordinator has delivered the webhook.
  void drop(std::uint64_t number);
  void ended(std::uint64_t number);
  void wait_for_end(std::uint64_t number);
  void deliver(std::uint64_t number);

  /// Reads the host of a webhook from its record, then delivers.
  void find_host(std::uint64_t number);
  void send_next();
  void fail_read(std::uint64_t number, const error& why);
  void read(std::uint64_t number, const result<task_detail>& task, const std::string& url);
  void send(std::uint64_t number, const task_detail& task, const std::string& url);
  void retry(std::uint64_t number, const std::string& why);
  void log_failure(const entry& failed, duration pause, const std::string& why);
  /// Ends a webhook whose delivery was taken.
  void close_told(std::uint64_t number);
  void close(std::uint64_t number, force_kind how, const std::string& why);
  void finish_sending(std::uint64_t number);

  shard_desk* desk_ = nullptr;
  webhook_options options_;
  std::function<void(std::uint64_t, result<outgoing_answer>)> post_;
  std::map<std::uint64_t, entry> open_;
  /// The open webhooks by record, so that a repeated record is not added twice.
  std::map<task_id, std::uint64_t> numbers_;
  /// The tenants' shares of the places for open webhooks.
  base::fair_share places_{limits::webhooks_open_max};
  /// Ended tasks whose deliveries wait or are under way.
  flight_queue due_{limits::webhook_flights_max, limits::webhook_flights_per_host_max};
  std::map<std::uint64_t, flight> flights_;
  /// One line a second for each tenant: its receivers could otherwise fill the disk.
  observe::line_pace failure_lines_{1};
  std::uint64_t last_number_ = 0;
  record_walk walk_;
  bool stopped_ = false;
};

[[nodiscard]] std::string webhook_body(const task_detail& task);

/// The fields with the timestamp and signature of a body: HMAC-SHA256 of `SECONDS.BODY`, in
/// hexadecimal.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
signature_fields(const std::string& secret, timestamp now, std::string_view body);

} // namespace codeq::http
