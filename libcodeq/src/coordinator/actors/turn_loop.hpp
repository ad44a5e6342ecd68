// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/actors/coordinator_actors.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::coordinator {

class journal_driver;
class session_driver;
class shard_driver;

/// A message of a shard to a peer.
using peer_news =
  std::variant<shard_reply, task_delivery, credit_news, queues_added, peer_misbehaved>;

/// Carries requests through sessions, shards, journal and back by plain calls, all on the thread of
/// the sockets: parse, decide, seal, commit, effects, replies. Without it each of these steps is a
/// message. The actors of these classes remain, for messages from other threads and for timers.
///
/// While there is little to do, the turns that a read opened end with it. Under load they end after
/// all sockets that are ready were read, so that one commit has the turns of all of them. No class
/// is called back while it runs: its messages are kept until it returns.
class turn_loop {
public:
  /// There is little to do when the last work was done at least `quiet_time` ago.
  explicit turn_loop(std::chrono::microseconds quiet_time = std::chrono::microseconds(100))
    : quiet_time_(quiet_time) {}

  // The classes that take part; each leaves when its actor ends.

  void add(shard_id id, shard_driver& shard);
  void remove(shard_id id);
  void add(core::peer_id peer, session_driver& session) { sessions_[peer] = &session; }

  void remove(core::peer_id peer) { sessions_.erase(peer); }

  /// Set when the journal writes on this thread.
  void set_journal(journal_driver* journal) { journal_ = journal; }

  [[nodiscard]] bool has_journal() const noexcept { return journal_ != nullptr; }

  /// Null when the peer is not a session here.
  [[nodiscard]] session_driver* session(core::peer_id peer) const;

  // From sessions and the registrar to shards. False: there is no such shard here.

  bool ask(shard_id to, const peer_request& request);
  bool command(shard_id to, const core::command& command);
  bool attach(shard_id to, const attach_peer& peer);
  bool detach(shard_id from, core::peer_id peer);

  // From shards and the journal.

  /// A turn of the shard is open.
  void opened(shard_driver& shard);

  /// Passes a turn to the journal. @pre has_journal()
  void commit(const shard_internal_actor& shard, turn_commit turn);

  /// Sends a message to a session here.
  void tell(core::peer_id peer, peer_news news);

  /// The journal has a group to write.
  void group_opened();

  void committed(shard_id shard, std::uint64_t number);

  /// Sends what was written to the connection.
  void written(const std::shared_ptr<actors::outgoing_progress>& to);

  // When the work is done.

  /// A connection passes on what it read; `read_done` follows.
  void begin_read() { is_reading_ = true; }

  /// The connection has passed on everything that it read.
  void read_done();

  /// Does everything that there is to do.
  void settle();

private:
  using time_point = std::chrono::steady_clock::time_point;

  [[nodiscard]] shard_driver* find(shard_id id) const;
  /// Arranges that `settle` is called.
  void settle_later();
  [[nodiscard]] bool has_work() const;
  void deliver();
  void close_turns();
  void confirm();
  void flush();

  const std::chrono::microseconds quiet_time_;
  std::vector<shard_driver*> shards_;
  std::unordered_map<core::peer_id, session_driver*> sessions_;
  journal_driver* journal_ = nullptr;

  // Pending work, which `settle` does.
  std::vector<shard_driver*> open_;
  bool has_group_ = false;
  std::vector<std::pair<core::peer_id, peer_news>> news_;
  std::vector<std::pair<shard_id, std::uint64_t>> committed_;
  std::vector<std::shared_ptr<actors::outgoing_progress>> written_;

  bool is_reading_ = false;
  bool is_settling_ = false;
  /// A shard's actor is about to call `settle`.
  bool is_woken_ = false;
  time_point settled_{};
};

} // namespace codeq::coordinator
