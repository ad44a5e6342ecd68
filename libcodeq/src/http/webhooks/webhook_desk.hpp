// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/desk/shard_desk.hpp"
#include "http/server/flight_queue.hpp"
#include "http/server/gateway_limits.hpp"
#include "http/webhooks/webhook_options.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace codeq::http {

/// Tells of the ends of tasks whose producers asked for it. That a task has a webhook is itself a
/// task, in a tenant of its own: stored before the producer is answered, found again after a
/// restart, completed by the delivery and dead when nobody took it. So each end is delivered at
/// least once, also when the process ends in between. Owned by the gateway's actor.
class webhook_desk {
public:
  /// Looks for the webhooks that are open. Answers of `options.send` come back by `answered`.
  void start(
    shard_desk& desk,
    webhook_options options,
    std::function<void(std::uint64_t, result<outgoing_answer>)> post);

  /// Sends nothing more; what is open is found again at the next start.
  void stop() { stopped_ = true; }

  /// Why a task cannot have that webhook. Errors: `invalid_argument`, `overloaded`.
  [[nodiscard]] result<void> check(const std::string& tenant, const std::string& url) const;

  /// Remembers the webhook of a task that was added; `done` is called when that is durable. Errors:
  /// of the enqueue, which the returned ticket names.
  enqueue_ticket add(
    task_id task,
    const std::string& tenant,
    const std::string& url,
    std::function<void(result<void>)> done);

  /// A delivery came to an end.
  void answered(std::uint64_t number, const result<outgoing_answer>& answer);

  /// How many are open.
  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }

private:
  /// A webhook that was not delivered yet.
  struct entry {
    /// The task that stands for it.
    task_id record;
    /// Whose end is told.
    task_id task;
    std::string tenant;
    /// Empty until it is read from the record, which is needed after a restart.
    std::string host{};
    std::uint32_t attempts = 0;
  };

  void find_open(std::uint16_t shard, sequence below);
  void take_up(entry fresh);
  void wait_for_end(std::uint64_t number);
  void deliver(std::uint64_t number);

  /// Reads the host of a webhook from its record, then delivers.
  void find_host(std::uint64_t number);
  void send_next();
  void read(std::uint64_t number, const result<task_detail>& task, const std::string& url);
  void send(std::uint64_t number, const task_detail& task, const std::string& url);
  void retry(std::uint64_t number, const std::string& why);
  void close(std::uint64_t number, force_kind how, const std::string& why);
  void finish_sending(std::uint64_t number);

  shard_desk* desk_ = nullptr;
  webhook_options options_;
  std::function<void(std::uint64_t, result<outgoing_answer>)> post_;
  std::map<std::uint64_t, entry> open_;
  /// By their records, so that a repeat is not taken up twice.
  std::map<task_id, std::uint64_t> numbers_;
  /// The places of what is open.
  base::fair_share places_{limits::webhooks_open_max};
  /// Ended tasks whose deliveries wait or are under way.
  flight_queue due_{limits::webhook_flights_max, limits::webhook_flights_per_host_max};
  std::map<std::uint64_t, flight> flights_;
  std::uint64_t last_number_ = 0;
  bool stopped_ = false;
};

/// The body of a delivery.
[[nodiscard]] std::string webhook_body(const task_detail& task);

/// Timestamp and signature of a body: HMAC-SHA256 of `SECONDS.BODY`, in hexadecimal.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
signature_fields(const std::string& secret, timestamp now, std::string_view body);

} // namespace codeq::http
