// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/actors/turn_loop.hpp"
#include "coordinator/session/session.hpp"
#include "coordinator/shared/drained_workers.hpp"
#include "coordinator/shared/unread_shares.hpp"
#include "observe/limit_meter.hpp"
#include "security/rate_limiter.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::coordinator {

/// Returns the metrics of the whole process, by name; called on any thread.
using process_gauges = std::function<std::map<std::string, std::int64_t>()>;

/// Does what is wished and returns the status of the latest backup; called on any thread.
using backup_control = std::function<result<backup_status>(const backup_wish& wish)>;

/// Returns the backups that exist; called on any thread.
using backup_list = std::function<result<std::vector<backup_info>>()>;

struct session_driver_options {
  session_options session;
  actors::connection_actor connection;
  std::shared_ptr<actors::outgoing_progress> outgoing;
  /// Indexed by shard number.
  std::vector<shard_actor> shards;
  counts_actor counts{};
  /// Name and address of the peer, for logs.
  std::string node_name;
  std::string remote;
  process_gauges gauges;
  /// Null only where no operator connects.
  std::shared_ptr<base::clock> clock{};
  /// Not null when there is a bearer.
  std::shared_ptr<security::rate_limiter> limiter{};
  /// Empty when there is no store to back up.
  backup_control backups{};
  backup_list list_backups{};
  std::shared_ptr<unread_shares> unread = std::make_shared<unread_shares>();
  std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>();
  std::shared_ptr<drained_workers> drained = std::make_shared<drained_workers>();
  /// When the peer sent its latest message, on a monotonic clock; 0 before the first one. Pings do
  /// not count.
  std::shared_ptr<std::atomic<std::int64_t>> last_message =
    std::make_shared<std::atomic<std::int64_t>>(0);
  /// Not null when the actor runs on the thread of the sockets, with the shards.
  std::shared_ptr<turn_loop> loop{};
  /// Null when this coordinator is alone.
  replicas_actor replicas{};
  /// Counts the proxies of claims of all sessions.
  std::shared_ptr<std::atomic<std::uint32_t>> claim_count =
    std::make_shared<std::atomic<std::uint32_t>>(0);
};

/// The actor of one connected node: passes its session's messages to shards and connection.
class session_driver : public session_port {
public:
  static constexpr const char* name = "session";

  session_driver() = default;
  session_driver(const session_driver&) = delete;
  session_driver& operator=(const session_driver&) = delete;
  ~session_driver() override;

  void start(session_actor::pointer self, const session_driver_options& options);

  [[nodiscard]] session& hosted() { return *session_; }

  // Messages of the peer.

  void take(const protocol::session_request& m) { used().take(m); }

  void take(const stored_request& m) { used().take(m.request, m.share); }

  void take(const request_without_share& m) { used().take(m); }

  // Messages of shards.

  void take(const shard_reply& m) { session_->take(m); }

  void take(const task_delivery& m) { session_->take(m); }

  void take(const credit_news& m) { session_->take(m); }

  void take(const queues_added&) {}

  void take(const peer_misbehaved& m) { session_->refuse(m.reason); }

  void take(const claim_frame& m) { send(m.frame); }

  void take(const claim_proxy_ended& m);

  void take(const shard_moved& m) {
    if (m.is_here)
      session_->shard_came(m.shard);
    else
      session_->shard_left(m.shard);
  }

  void ask_shard(shard_id to, peer_request request) override;
  void command_shard(shard_id to, core::command command) override;
  void send(const protocol::wire_frame& frame) override;
  void close(const error& reason) override;
  void gather_stats(bool with_leases) override;
  void ask_cluster(
    std::uint64_t number, const cluster_change& change, const core::origin_ptr& by) override;
  void wake_after(duration wait, session_wake what) override;
  [[nodiscard]] outgoing_bytes outgoing() const override;
  [[nodiscard]] result<void> keep_unread(std::uint64_t bytes) override;
  [[nodiscard]] duration take_rate(
    const security::principal& bearer, security::rate_scope scope, std::uint64_t cost) override;
  [[nodiscard]] std::map<std::string, std::int64_t> gauges() const override;
  [[nodiscard]] result<backup_status> back_up(const backup_wish& wish) override;
  [[nodiscard]] result<std::string> set_log_level(const std::string& level) override;
  [[nodiscard]] result<drain_outcome>
  drain_worker(const std::string& name, bool is_drained) override;
  void mark_drained(std::vector<base::worker_counts>& workers) const override;
  [[nodiscard]] result<std::vector<backup_info>> list_backups() const override;
  void pass_claim(const claim_place& place, const claim_step& step) override;
  void hold_claim(const claim_place& place, bool is_held) override;
  [[nodiscard]] timestamp now() override;
  void note_limit(std::string_view name, std::uint64_t max) override;
  void note_goodbye() override;
  void note_refused(const error& reason) override;

private:
  /// The session, which handles a message of the peer next.
  [[nodiscard]] session& used();

  session_actor::pointer self_ = nullptr;
  session_driver_options options_;
  std::optional<session> session_;
  /// Bytes of the frames that were sent to the connection.
  std::uint64_t sent_ = 0;
  std::optional<unread_part> unread_;
  /// The proxies of the claims of a gateway.
  std::map<claim_place, claim_proxy_actor> proxies_;
  /// See `claim_proxy_options`.
  std::shared_ptr<std::atomic<bool>> is_claim_noted_ = std::make_shared<std::atomic<bool>>(false);
};

[[nodiscard]] session_actor::behavior_type drive_session(
  session_actor::stateful_pointer<session_driver> self, const session_driver_options& options);

} // namespace codeq::coordinator
