// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/actors/node_log.hpp"
#include "coordinator/actors/session_driver.hpp"
#include "coordinator/session/registrar.hpp"
#include "coordinator/shared/enqueue_shares.hpp"
#include "observe/limit_meter.hpp"
#include "security/authenticator.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace codeq::coordinator {

struct registrar_driver_options {
  registrar_options registrar;
  /// Indexed by shard number.
  std::vector<shard_actor> shards;
  process_gauges gauges;
  /// Source of shard time; used by the registrar only.
  std::shared_ptr<base::clock> clock;
  /// Null: single-user setup.
  std::shared_ptr<const security::authenticator> access{};
  /// Not null when there are tokens.
  std::shared_ptr<security::rate_limiter> limiter{};
  backup_control backups{};
  backup_list list_backups{};
  /// Bounds the enqueues of all connections together.
  std::shared_ptr<enqueue_shares> enqueues = std::make_shared<enqueue_shares>();
  /// Bounds what the peers of all connections together have not read.
  std::shared_ptr<unread_shares> unread = std::make_shared<unread_shares>();
  std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>();
  /// Shared by all sessions and the gateway.
  std::shared_ptr<drained_workers> drained = std::make_shared<drained_workers>();
  /// Not null when the actor runs on the thread of the sockets, with the shards.
  std::shared_ptr<turn_loop> loop{};
  /// Gets the messages of other coordinators; null when this one is alone.
  replicas_actor replicas{};
  /// See `session_driver_options`.
  std::shared_ptr<std::atomic<std::uint32_t>> claim_count =
    std::make_shared<std::atomic<std::uint32_t>>(0);
};

/// The actor of the registrar, which decides which nodes may connect; spawns the sessions of those
/// that may.
class registrar_driver : public registrar_port {
public:
  static constexpr const char* name = "registrar";

  void start(registrar_internal_actor::pointer self, const registrar_driver_options& options);

  [[nodiscard]] registrar& hosted() { return *registrar_; }

  void welcome(const actors::peer_hello& m);

  /// A session's actor, or the connection of another coordinator, has ended.
  void forget(const caf::actor_addr& gone);

  void open_session(std::uint64_t hello, session_opening opening) override;
  void open_stream(
    std::uint64_t hello,
    const protocol::node_introduction& node,
    const protocol::hello_ack& ack) override;
  void end_stream(std::uint64_t hello, const error& reason) override;
  void note_full(const std::string& tenant) override;
  void refuse(std::uint64_t hello, const error& reason) override;
  void probe(core::peer_id peer, std::uint64_t hello) override;
  void end_session(core::peer_id peer, const error& reason) override;
  [[nodiscard]] std::int64_t last_message(core::peer_id peer) const override;
  void detach(core::peer_id peer) override;
  void to_shards(core::command command) override;
  [[nodiscard]] std::shared_ptr<const security::principal>
  authenticate(const std::string& token) const override;
  [[nodiscard]] result<void> review(const security::principal& bearer) const override;
  void review_after(duration wait) override;

private:
  struct connected {
    session_actor session;
    actors::connection_actor connection;
    std::string node_name;
    schema::Role role = schema::Role::WORKER;
    /// See `session_driver_options`.
    std::shared_ptr<const std::atomic<std::int64_t>> last_message;
    /// Null for other nodes than workers.
    std::shared_ptr<const worker_identity> worker{};
  };

  /// The connection of another coordinator.
  struct stream {
    actors::connection_actor connection;
    std::string remote;
  };

  [[nodiscard]] timestamp now() { return options_.clock->now().shard; }

  [[nodiscard]] session_driver_options
  options_for(const session_opening& opening, const actors::peer_hello& from) const;

  void attach(const attach_peer& who);

  /// Sends a node the reason and closes its connection.
  void close(const actors::connection_actor& connection, const error& reason);
  void forget_stream(const caf::actor_addr& connection);

  /// Reaches each shard: by `call` where the loop has it, and otherwise by the message.
  template <class Call, class Message>
  void tell_shards(Call call, const Message& message) {
    for (std::size_t i = 0; i < options_.shards.size(); ++i)
      if (!options_.loop || !call(*options_.loop, static_cast<shard_id>(i)))
        self_->send(options_.shards[i], message);
  }

  /// Tells the session of a worker whether an operator has drained it, now and at every change.
  void follow_drain(const session_options& options, const session_actor& session);

  registrar_internal_actor::pointer self_ = nullptr;
  registrar_driver_options options_;
  std::optional<registrar> registrar_;
  /// Counts for all sessions.
  counts_actor counts_;
  node_log log_;
  std::uint64_t last_hello_ = 0;
  /// Hellos that are not decided yet.
  std::unordered_map<std::uint64_t, actors::peer_hello> hellos_;
  std::unordered_map<core::peer_id, connected> sessions_;
  std::unordered_map<caf::actor_addr, core::peer_id> peers_;
  /// By the numbers of their hellos.
  std::unordered_map<std::uint64_t, stream> streams_;
};

[[nodiscard]] registrar_internal_actor::behavior_type drive_registrar(
  registrar_internal_actor::stateful_pointer<registrar_driver> self,
  const registrar_driver_options& options);

} // namespace codeq::coordinator
