// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/producer.hpp"
#include "codeq/result.hpp"
#include "codeq/task.hpp"

#include "client/enqueue_outbox.hpp"
#include "coordinator/shared/enqueue_shares.hpp"
#include "observe/limit_meter.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace codeq::http {

/// Names an enqueue that `give_up` can end; an empty ticket names none.
struct enqueue_ticket {
  std::size_t lane = 0;
  std::uint64_t submission = 0;
  /// In a cluster: the shard of its task, if no other may have it.
  std::optional<shard_id> shard{};
};

/// The enqueues of all tenants. Each tenant has its own producer session, window and bounded number
/// of places, called its lane, so that no enqueue waits for one of another tenant. A lane stays for
/// as long as the process: the shards remember its session anyway, and only tokens can add tenants.
/// The gateway's actor owns the desk, which uses neither clock nor network.
class enqueue_desk {
public:
  using done_function = std::function<void(result<enqueued_task>)>;

  /// Sends a request to its shard. The request holds its enqueue share until it is durable.
  using send_function =
    std::function<void(shard_id, const protocol::enqueue_request&, coordinator::enqueue_share)>;

  struct options {
    std::function<producer_id()> new_session;
    send_function send;
    client::store_identity store;
    std::shared_ptr<observe::limit_meter> meter;
    std::shared_ptr<coordinator::enqueue_shares> shares;
    /// In a cluster: whether the coordinator of the shard is connected. Empty when all shards are
    /// here.
    std::function<bool(shard_id)> reaches{};
  };

  void start(options opts) { options_ = std::move(opts); }

  /// Enqueues a task in the window of `tenant`, which need not be the task's own tenant. Errors:
  /// `invalid_argument`; `overloaded` at once when the tenant has no place or no bytes left, or the
  /// task's shard has too many of them: the shards of a cluster share both as `base::shared_places`
  /// says, and each may have one place in any case.
  enqueue_ticket submit(const std::string& tenant, const task_spec& task, done_function done);

  /// Ends an enqueue with `reason` and frees its place; does nothing when the enqueue has ended. A
  /// shard that already received the request may still add the task.
  void give_up(const enqueue_ticket& ticket, const error& reason);

  /// The same unless the enqueue was sent to a shard; then no shard adds the task. Returns false
  /// when it was sent, or has ended.
  bool withdraw(const enqueue_ticket& ticket, const error& reason);

  /// Handles a reply, and returns a retry when the shard asked for one. Errors: `protocol_error`.
  [[nodiscard]] result<std::optional<client::enqueue_outbox::retry>>
  accept(const protocol::enqueue_reply& reply);

  /// Sends the request `number` again, because the pause before its retry is over.
  void retry_due(std::uint64_t number);

  /// Sends all enqueues that are not answered again, because the answers of the last session are
  /// lost.
  void send_again();

  /// In a cluster: the shards have another coordinator, or a new connection to it.
  void resend(std::span<const shard_id> shards);

  /// Ends every enqueue with `reason`.
  void fail_all(const error& reason);

private:
  struct lane {
    explicit lane(client::enqueue_outbox::options opts) : outbox(std::move(opts)) {}

    struct part {
      std::size_t count = 0;
      std::uint64_t bytes = 0;
    };

    void enter(std::optional<shard_id> shard, std::uint64_t bytes);
    void leave(std::optional<shard_id> shard, std::uint64_t bytes);
    [[nodiscard]] part part_of(std::optional<shard_id> shard) const;

    client::enqueue_outbox outbox;
    /// The enqueues that have not ended.
    std::size_t open = 0;
    /// In a cluster, those of them that only one shard may have.
    std::map<shard_id, part> open_at{};
  };

  [[nodiscard]] std::size_t lane_of(const std::string& tenant);
  void connect(lane& to, const std::string& tenant);
  /// The shard of a task that no other may have; empty without a cluster.
  [[nodiscard]] std::optional<shard_id> owner_of(const task_spec& task) const;
  /// Whether a lane has a place for a task of the shard. Errors: `overloaded`.
  [[nodiscard]] result<void>
  check_place(const lane& at, const std::string& tenant, std::optional<shard_id> shard) const;

  options options_;
  std::map<std::string, std::size_t> by_tenant_;
  /// Indexed by the high bits of request numbers.
  std::vector<std::unique_ptr<lane>> lanes_;
};

} // namespace codeq::http
