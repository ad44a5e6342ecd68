// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/session.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace codeq::sim {

class sim_shard;

/// Drives a session between a connection and the shards.
class sim_session final : public coordinator::session_port {
public:
  struct parts {
    coordinator::session_options session;
    schema::Role role = schema::Role::PRODUCER;
    connection_ptr link;
    std::vector<sim_shard*> shards;
    /// Called once when the session has ended.
    std::function<void()> on_end;
  };

  sim_session(world& all, process& home, parts made);

  /// Handles a frame that arrived.
  void take(const protocol::wire_frame& frame);

  /// Sends the session a message from a shard or the reader.
  template <class Message>
  void tell(Message message) {
    later([this, message = std::move(message)] { session_.take(message); });
  }

  void end_later(const error& reason);

  /// Handles the loss of the connection.
  void connection_lost();

  [[nodiscard]] const connection_ptr& link() const { return parts_.link; }

  void ask_shard(shard_id to, coordinator::peer_request request) override;
  void command_shard(shard_id to, core::command command) override;
  void send(const protocol::wire_frame& frame) override;
  void close(const error& reason) override;
  void gather_stats(bool with_leases) override;

  void ask_cluster(
    std::uint64_t, const cluster_change&, const core::origin_ptr&) override {}

  void wake_after(duration wait, coordinator::session_wake what) override;
  [[nodiscard]] coordinator::outgoing_bytes outgoing() const override;

  [[nodiscard]] result<void> keep_unread(std::uint64_t) override { return {}; }

  [[nodiscard]] duration
  take_rate(const security::principal&, security::rate_scope, std::uint64_t) override {
    return duration{0};
  }

  [[nodiscard]] timestamp now() override { return timestamp{}; }

  [[nodiscard]] std::map<std::string, std::int64_t> gauges() const override { return {}; }

  [[nodiscard]] result<backup_status> back_up(const backup_wish& wish) override;
  [[nodiscard]] result<std::string> set_log_level(const std::string& level) override;

  [[nodiscard]] result<coordinator::drain_outcome>
  drain_worker(const std::string&, bool) override {
    return coordinator::drain_outcome::unknown;
  }

  void mark_drained(std::vector<base::worker_counts>&) const override {}

  [[nodiscard]] result<std::vector<backup_info>> list_backups() const override {
    return std::vector<backup_info>{};
  }

  void note_limit(std::string_view, std::uint64_t) override {}

  void note_goodbye() override { ++noted_goodbyes_; }

  /// Only shards have a reason to end the session of a simulated peer.
  void note_refused(const error& reason) override;

private:
  void later(timeline::action what);
  void read(const protocol::wire_frame& frame);

  world& world_;
  process& home_;
  parts parts_;
  mailbox box_;
  coordinator::session session_;
  bool over_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t goodbyes_ = 0;
  std::uint64_t noted_goodbyes_ = 0;
};

} // namespace codeq::sim
