// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/operator_questions.hpp"
#include "client/schedule_questions.hpp"
#include "sim/audit/auditor.hpp"
#include "sim/peer_link.hpp"
#include "sim/world.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace codeq::sim {

/// An operator who changes tasks and queues. A request that is unanswered when the connection ends
/// is not repeated, so its outcome stays unknown.
class operator_process {
public:
  operator_process(world& all, network& net, auditor& audit);

  // Each sends one request; without a connection nothing is sent.

  void ask(const task_id& task, task_change what);
  void ask(const task_key& key, task_change what);

  using answer_function = std::function<void(const protocol::wire_frame&)>;

  /// @pre is_up()
  void ask(const std::string& what, const client::question& q, answer_function answered);

  [[nodiscard]] bool is_up() const { return link_.is_up(); }

  /// @pre is_up()
  [[nodiscard]] client::schedule_place place_of(const schedule_address& name) const {
    return client::place_of(name, shards_);
  }
  void force(const task_id& task, force_kind how);

  /// Requests the counts of all shards.
  void count();

  /// Sends a malformed request; the coordinator must end the session.
  void misbehave();

  /// Sent to every shard.
  void pause(const queue_address& queue, bool paused);
  void configure(const queue_address& queue, const queue_config& config);

  /// Lists all tasks of the default tenant on one shard, in parts; the auditor expects every one.
  void list();

  /// Purges the queue on every shard, in parts; an empty name means all queues of the tenant.
  void purge(const queue_address& queue);

private:
  /// Progress of a purge on one shard.
  struct walk {
    queue_address queue;
    client::walk_position at;
    virtual_time began_at{0};
  };

  /// Progress of a list of one shard.
  struct list_walk {
    client::walk_position at;
    virtual_time began_at{0};
    /// In the order listed.
    std::vector<sequence> seen{};
  };

  void expect_answer(std::uint64_t number, const std::string& what, const connection_ptr& link);
  void ask_change(const task_id& of, const client::task_address& task, task_change what);
  void purge_part(const walk& w);
  void list_part(const list_walk& w);
  void take(const protocol::wire_frame& frame);

  world& world_;
  auditor& auditor_;
  process process_;
  peer_link link_;
  std::uint16_t shards_ = 1;
  std::map<std::uint64_t, answer_function> asked_;
  std::uint64_t next_number_ = 1;
  std::uint64_t forced_ = 0;
};

} // namespace codeq::sim
