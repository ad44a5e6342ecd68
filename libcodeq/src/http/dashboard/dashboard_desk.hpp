// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "base/fair_share.hpp"
#include "http/dashboard/live_json.hpp"
#include "http/dashboard/queue_history.hpp"
#include "http/desk/shard_desk.hpp"
#include "http/server/caller.hpp"
#include "http/server/event_stream.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace codeq::http {

/// The parts of an event stream, as bits.
enum live_parts : unsigned { live_queues = 1, live_workers = 2 };

/// The response that these events follow.
[[nodiscard]] response event_answer(std::shared_ptr<event_stream> events);

/// Tells dashboards the recent past, and once a second the present. All dashboards of a
/// tenant share one computation, and nothing is computed while there are none, except the history.
/// Used by the gateway's actor.
class dashboard_desk {
public:
  void start(shard_desk& desk, authenticate who);

  /// Ends all streams.
  void stop();

  /// Opens a stream of events about what the caller may see. It ends with the caller's token.
  /// Errors: `overloaded`.
  [[nodiscard]] result<std::shared_ptr<event_stream>>
  subscribe(std::shared_ptr<const caller> by, std::string bearer, unsigned parts);

  /// Opens a stream of events about the progress of a task, which ends with the task. Errors:
  /// `overloaded`.
  [[nodiscard]] result<std::shared_ptr<event_stream>>
  follow(std::shared_ptr<const caller> by, std::string bearer, task_id task);

  [[nodiscard]] const queue_history& history() const noexcept { return history_; }

private:
  struct subscription {
    std::shared_ptr<const caller> by;
    std::string bearer;
    /// None of a stream about a task.
    unsigned parts = 0;
    std::shared_ptr<event_stream> events;
    /// It has got no event yet.
    bool is_new = true;
    /// The desk's name for the watch of the task; zero when there is none.
    std::uint64_t watch = 0;
  };

  /// Those who may see the same share one computation.
  using audience = std::tuple<std::string, bool, unsigned>;

  [[nodiscard]] result<std::shared_ptr<event_stream>> open(subscription made);
  void arm();
  void tick();

  /// Lets a new stream have its first event soon.
  void hurry();

  /// Ends the streams whose clients are gone or whose tokens are not valid any more.
  void drop_closed();
  void ask_workers(const base::coordinator_counts& stats);
  void publish(
    const base::coordinator_counts& stats, const std::vector<base::worker_counts>& workers);
  [[nodiscard]] live_event make_event(
    const subscription& to,
    const base::coordinator_counts& stats,
    const std::vector<base::worker_counts>& workers);

  shard_desk* desk_ = nullptr;
  authenticate who_;
  queue_history history_;
  base::fair_share places_{limits::live_streams_max};
  std::list<subscription> subscriptions_;
  /// The rows of the event before, by tenant.
  std::map<std::string, queue_rows> rows_;
  std::optional<monotonic_time> recorded_at_;
  std::uint64_t ticks_ = 0;
  monotonic_time ticked_at_{};
  bool hurries_ = false;
  bool is_asking_ = false;
  bool stopped_ = false;
};

} // namespace codeq::http
