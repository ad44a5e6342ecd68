// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/audit/auditor.hpp"
#include "sim/peer_link.hpp"
#include "sim/sim_handlers.hpp"
#include "sim/world.hpp"
#include "worker/node/dispatcher.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace codeq::sim {

/// A worker node: drives a dispatcher between one link and random handlers. Its clock may drift,
/// and it may lose batches or ignore lost leases. Reports all its traffic to the auditor.
class worker_process final : public worker::dispatcher_port {
public:
  struct parts {
    worker_identity identity;
    std::vector<std::string> queues;
    auditor* audit = nullptr;
    /// The earliest shard time at which a report sent now can arrive.
    std::function<timestamp(shard_id)> shard_now;
  };

  worker_process(world& all, network& net, parts made);

  /// Crashes at once.
  void crash();

  /// Drains and leaves; sometimes it ends its session at once without a drain.
  void leave();

  void pause(virtual_time length) { process_.pause(length); }

  [[nodiscard]] bool is_alive() const { return process_.is_alive(); }

  [[nodiscard]] const worker_identity& identity() const { return parts_.identity; }

  /// Number of unanswered reports, counted only while connected: a process whose name is held by
  /// another process may wait for ever.
  [[nodiscard]] std::size_t unanswered() const { return link_.is_up() ? unanswered_.size() : 0; }

  /// Stops dropping batches and ignoring lost leases.
  void behave() { well_behaved_ = true; }

  void to_link(std::size_t link, const protocol::wire_frame& frame) override;
  void break_link(std::size_t link, const error& reason) override;
  /// The simulated coordinator is alone.
  void open_link(std::size_t, const std::string&) override {}

  void close_link(std::size_t link, const error& reason) override;

  worker::handler_number
  start_handler(const std::string& handler, const std::string& group) override;

  void run(worker::handler_number handler, task&& attempt) override;
  void run_batch(worker::handler_number handler, std::vector<task> attempts) override;

  void stop_handler(worker::handler_number handler) override { living_.erase(handler); }

  void flush_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;
  void ended(result<void> how) override;

  void note_connected(std::size_t, std::size_t) override {}

  void note_no_patterns(std::size_t) override {}

  void note_settings(std::size_t, std::size_t, std::size_t) override {}

  void note_unhandled(const task&) override {}

  void note_handler_end(fencing_token, const std::string&) override {}

  void note_failed(const worker::failed_attempt&) override {}

  void note_lost(const task_id& task, fencing_token token) override;

  void note_refused(const worker::report_answer&) override {}

  void note_over(const task_id&, fencing_token) override {}

  void note_drain(std::size_t, duration) override {}

  void note_abandoned(const task_id&, fencing_token) override {}

  void note_awaits_answers(std::size_t, duration) override {}

  void note_unanswered(std::size_t) override {}

private:
  static constexpr std::size_t only_link = 0;

  [[nodiscard]] sim_handlers::parts parts_of_handlers();
  [[nodiscard]] worker::dispatcher_options some_options();
  void reconfigure();
  void link_up(const connection_ptr& made, std::size_t shards);
  void receive(const protocol::wire_frame& frame);

  // Report received messages to the auditor. False when the dispatcher does not get the message.
  bool see(const protocol::task_batch& batch);
  bool see(const protocol::result_reply& reply);
  bool see(const protocol::leases_lost& lost);
  bool see(const protocol::cancel_notice& notice);
  bool see(const protocol::resume_reply& reply);
  bool see(const protocol::checkpoints_saved& saved);

  // Report sent messages to the auditor.
  void show(const protocol::result_request& request);
  void show(const protocol::resume_request& request);
  /// Repeats an old frame sometimes: frames of an older connection may arrive late.
  void send_late(const protocol::wire_frame& frame);

  void check_later(std::vector<lease_place> owed, const connection_ptr& link);
  void say_goodbye();
  /// Checks that the handler lives and was started for this task.
  void check_handler(worker::handler_number handler, const task& attempt) const;
  /// Checks that this process starts a lease once.
  void check_start(const task& attempt);
  [[nodiscard]] monotonic_time now() const;
  void after(duration wait, timeline::action what);

  world& world_;
  parts parts_;
  process process_;
  mailbox box_;
  peer_link link_;
  sim_handlers handlers_;

  /// The queue and the group that a handler was started for.
  struct handler_view {
    std::string queue;
    std::string group;
  };

  std::map<worker::handler_number, handler_view> living_;
  /// The number of power cuts before the latest start of each lease.
  std::map<std::pair<shard_id, fencing_token>, std::uint64_t> starts_;
  std::vector<worker::served_queue> served_;
  worker::dispatcher dispatcher_;
  /// The connection that the dispatcher knows.
  connection_ptr connection_;
  std::map<shard_id, std::vector<lease_place>> owed_;
  /// Held leases whose cancel notice is due after the latest resume and has not come.
  std::set<lease_place> cancels_owed_;
  /// Reports that were sent and not answered.
  std::set<lease_place> unanswered_;
  /// Greatest checkpoint number of each lease that the coordinator has confirmed as durable.
  std::map<lease_place, std::uint32_t> saved_;
  std::optional<protocol::wire_frame> last_saved_;
  std::int64_t clock_permille_ = 1000;
  bool is_zombie_ = false;
  bool well_behaved_ = false;
  bool leaving_ = false;
  bool has_closed_link_ = false;
};

} // namespace codeq::sim
