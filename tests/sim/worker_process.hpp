// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/auditor.hpp"
#include "sim/peer_link.hpp"
#include "sim/world.hpp"
#include "worker/claim_loop.hpp"
#include "worker/lease_book.hpp"
#include "worker/outbox.hpp"
#include "worker/wire.hpp"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::sim {

/// A worker node: the real books and loops, moved as the dispatcher moves them, with handlers that
/// do by chance all that handlers do.
class worker_process {
public:
  struct parts {
    worker_identity identity;
    std::vector<std::string> queues;
    auditor* audit = nullptr;
    /// The earliest shard time that a report made now can meet.
    std::function<timestamp(shard_id)> shard_now;
  };

  worker_process(world& all, network& net, parts made);

  /// Dies at once.
  void crash();

  /// Takes nothing more, gives back what waits, reports the rest, says goodbye and ends.
  void leave();

  void pause(virtual_time length) { process_.pause(length); }

  [[nodiscard]] bool is_alive() const { return process_.is_alive(); }

  [[nodiscard]] const worker_identity& identity() const { return parts_.identity; }

  /// Reports that nobody has answered, though the coordinator welcomed this process; one whose
  /// name another process keeps may wait for ever.
  [[nodiscard]] std::size_t unanswered() const { return link_.is_up() ? outbox_.size() : 0; }

  /// No bad habits from here on.
  void behave() { well_behaved_ = true; }

private:
  static constexpr std::size_t only_link = 0;

  struct waiting_task {
    worker::lease_key key;
    task attempt;
  };

  void link_up(std::size_t shards);
  void link_down();
  void take(const protocol::wire_frame& frame);
  void take_tasks(const protocol::task_batch& batch);
  void accept_task(task attempt, bool redelivered);
  void take_answers(const protocol::result_reply& reply);
  void take_losses(const protocol::leases_lost& lost);
  void take_resumed(const protocol::resume_reply& reply);
  void take_saved(const protocol::checkpoints_saved& saved);
  void take_cancel(const protocol::cancel_notice& notice);
  void check_resume(shard_id shard);
  void check_later(std::vector<lease_place> owed, const connection_ptr& link);
  void start_waiting();
  void run(const waiting_task& waiting);
  void end_attempt(const worker::lease_key& key, outcome answer);
  /// The handler saves something now and then, until it ends.
  void save_sometimes(const worker::lease_key& key);
  void send_checkpoint(const worker::lease_key& key, const worker::checkpoint_line& line);
  [[nodiscard]] outcome some_outcome(const waiting_task& waiting);
  [[nodiscard]] outcome some_completion(const task& attempt, const std::string& text);
  void lose(const worker::lease_ref& gone);
  void report_later(worker::report made);
  void flush();
  void schedule_flush();
  void send_beats(std::vector<worker::beat> beats);
  void look();
  void arm_look();
  void abandon_waiting();
  void advance_leave();
  void say_goodbye();
  [[nodiscard]] monotonic_time now() const;
  void after(duration wait, timeline::action what);

  world& world_;
  parts parts_;
  process process_;
  peer_link link_;
  worker::claim_loop claims_;
  worker::lease_book book_;
  worker::outbox outbox_;
  std::array<std::deque<waiting_task>, limits::priority_max + 1> waiting_;
  std::set<shard_id> resuming_;
  std::map<shard_id, std::vector<lease_place>> owed_;
  /// Held leases whose cancellation was not told since the latest resume, and has to be.
  std::set<worker::lease_key> cancels_owed_;
  std::size_t batch_tasks_;
  std::size_t slots_;
  std::size_t running_ = 0;
  /// Running handlers, also those without a lease. One key may run twice: a power cut takes back
  /// that a lease was lost, and the lease comes again under its token while the first handler runs
  /// on.
  std::multiset<worker::lease_key> handlers_;
  std::int64_t clock_permille_ = 1000;
  bool is_zombie_ = false;
  bool well_behaved_ = false;
  bool leaving_ = false;
  bool flush_scheduled_ = false;
  std::uint64_t look_number_ = 0;
  std::optional<monotonic_time> look_armed_;
  std::uint64_t outcomes_ = 0;
  /// What running handlers saved last, and whether they were told that it is durable.
  std::map<worker::lease_key, worker::checkpoint_line> saved_;
  std::set<worker::lease_key> told_saved_;
};

} // namespace codeq::sim
