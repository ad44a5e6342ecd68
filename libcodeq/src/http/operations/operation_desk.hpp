// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fair_share.hpp"
#include "http/desk/record_walk.hpp"
#include "http/desk/record_wishes.hpp"
#include "http/desk/shard_desk.hpp"
#include "http/operations/far_operations.hpp"
#include "http/operations/operation_records.hpp"
#include "http/operations/operation_run.hpp"
#include "http/server/caller.hpp"
#include "http/server/gateway_limits.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::http {

/// An operation as a user is shown it.
struct shown_operation {
  bulk_operation operation{};
  /// Why it waits at present; unknown, and empty, when another coordinator runs it.
  std::string problem{};
  /// In a cluster: the coordinator that runs it, as far as it is known; else empty.
  std::string coordinator{};
};

/// Drives the operations of all tenants: takes the steps that `operation_run` decides. Each
/// operation is stored as a task, its record, in a tenant of its own, so it continues after a
/// restart. The record is durable before a user is answered. In a cluster the coordinator that
/// serves the shard of the record drives the operation, on all shards of the cluster; the others
/// read its record, and pass changes on to that one. The gateway's actor owns the desk.
class operation_desk {
public:
  using done_function = std::function<void(result<void>)>;

  using redriven_function = std::function<void(const std::string& tenant, task_id task)>;

  /// Reads the stored operations and continues them; in a cluster once their shards are here. Calls
  /// `redriven` for each dead task that an operation redrove.
  void start(shard_desk& desk, find_callers callers_of, redriven_function redriven);

  /// Takes no further step. The next start continues the operations.
  void stop() {
    stopped_ = true;
    walk_.stop();
    wishes_.stop();
  }

  /// Refuses an operation too many, and all when no shard is here. Errors: `too_large`,
  /// `overloaded`; `disconnected`.
  [[nodiscard]] result<void> check(const std::string& tenant) const;

  /// Begins an operation, and calls `done` when it is durable; returns its id. Errors: the errors
  /// of the enqueue of its record; then the operation does not exist.
  std::string begin(operation_request request, const operation_user& by, done_function done);

  /// Changes an operation, and calls `done` when that is durable. Errors: `unknown_task`;
  /// `duplicate` when its status does not allow that; `overloaded` while the stored ones are being
  /// read; `timeout` when the coordinator that runs it does not answer.
  void alter(operation_wish wish, done_function done);

  /// Reads an operation of the tenant. Errors: `unknown_task`; `overloaded` while the stored ones
  /// are being read; those of a read.
  void
  find(const std::string& tenant, const std::string& id, shard_desk::then<shown_operation> done);

  /// Reads the operations of the tenant, the latest first. Errors: `overloaded` while the stored
  /// ones are being read; those of a read.
  void list(const std::string& tenant, shard_desk::then<std::vector<shown_operation>> done);

  /// Errors: `overloaded` while the stored operations are being read.
  [[nodiscard]] result<void> check_ready() const;

  /// The user behind a call.
  [[nodiscard]] operation_user user_of(const exchange& call) const;

private:
  struct waiter {
    std::uint64_t version = 0;
    done_function done;
  };

  struct entry {
    operation_run run;
    /// Never used twice: an operation may leave and come back while a step of it is under way.
    std::uint64_t round = 0;
    /// The task that stores it; empty until it is stored.
    std::optional<task_id> record{};
    /// The latest store of the record.
    enqueue_ticket saving{};
    /// A step is under way.
    bool is_busy = false;
    timer_list::id timer = 0;
    std::vector<waiter> waiters{};
  };

  /// An operation as one driver of it knows it.
  struct place {
    std::string id;
    std::uint64_t round = 0;
  };

  [[nodiscard]] place place_of(const std::string& id) const { return {id, all_.at(id).round}; }

  /// Null when the operation is not driven here any more.
  [[nodiscard]] entry* find_entry(const place& of);
  [[nodiscard]] const entry* find_entry(const std::string& tenant, const std::string& id) const;
  /// Why an operation that would be here is not found.
  [[nodiscard]] error not_found(const std::string& tenant, const std::string& id) const;
  [[nodiscard]] bool is_own(const std::string& tenant, const std::string& id) const;
  [[nodiscard]] std::string new_id(const std::string& tenant) const;
  [[nodiscard]] shown_operation show(const operation_run& run) const;

  void read_record(task_id record);
  void take_up(bulk_operation stored, task_id record);
  void add(entry fresh);

  /// Takes the next step of an operation, unless one is under way.
  void step(const std::string& id);
  void take(const std::string& id, const operation_run::idle& idle);
  void take(const std::string& id, const operation_run::wait& wait);
  void take(const std::string& id, const operation_run::save& save);
  void take(const std::string& id, const operation_run::list& list);
  void take(const std::string& id, const operation_run::change& change);
  void take(const std::string& id, const operation_run::look& look);

  /// Renews the webhooks of tasks that a redrive has changed.
  void renew_webhooks(const operation_request& of, const std::vector<task_id>& changed) const;
  void change_listed(const std::string& id, const operation_run::change& change);
  void change_singly(const std::string& id, const operation_run::change& change);
  void changed(const place& of, const result<std::uint64_t>& tasks);
  void stored(const place& name, std::uint64_t version, const result<enqueued_task>& added);

  /// Ends the step of an operation with `take` and goes on; does nothing when the desk has stopped
  /// or the operation is not driven here any more.
  void finish(const place& of, const std::function<void(operation_run&)>& take);

  /// Lets another coordinator drive the operations of a shard.
  void leave(std::uint16_t shard);

  void alter_own(const operation_wish& wish, done_function done);
  /// Carries out the wish of another coordinator.
  void grant(const std::string& text, shard_desk::then<std::string> done);

  /// Pauses an operation whose user has lost the right to it.
  void check_rights(operation_run& run);
  [[nodiscard]] core::origin_ptr origin_of(const bulk_operation& o) const;
  void drop(const std::string& id);

  /// Drops ended operations that are too old or too many.
  void drop_old();

  shard_desk* desk_ = nullptr;
  find_callers callers_of_;
  redriven_function redriven_;
  std::map<std::string, entry> all_;
  /// The tenants' shares of the places for operations that are not over.
  base::fair_share places_{limits::operations_open_of_all_max};
  record_walk walk_;
  std::uint64_t last_round_ = 0;
  far_operations far_;
  record_wishes wishes_;
  bool stopped_ = false;
};

} // namespace codeq::http
