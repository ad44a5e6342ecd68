// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fair_share.hpp"
#include "http/desk/record_walk.hpp"
#include "http/desk/shard_desk.hpp"
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

/// Drives the operations of all tenants: takes the steps that `operation_run` decides. Each
/// operation is stored as a task, its record, in a tenant of its own, so it continues after a
/// restart. The record is durable before a user is answered. In a cluster an operation belongs to
/// the coordinator that serves the shard of its record, and moves with it: only that one takes
/// steps. The gateway's actor owns the desk.
class operation_desk {
public:
  using done_function = std::function<void(result<void>)>;

  /// Reads the stored operations and continues them.
  void start(shard_desk& desk, find_callers callers_of);

  /// Takes no further step. The next start continues the operations.
  void stop() {
    stopped_ = true;
    walk_.stop();
  }

  /// Refuses an operation too many. Errors: `too_large`, `overloaded`; `not_owner` when this
  /// coordinator serves no shard.
  [[nodiscard]] result<void> check(const std::string& tenant) const;

  /// Begins an operation, and calls `done` when it is durable; returns its id. Errors: the errors
  /// of the enqueue of its record; then the operation does not exist.
  std::string begin(operation_request request, const operation_user& by, done_function done);

  enum class change : std::uint8_t { pause, resume, cancel };

  /// Changes an operation of the tenant, and calls `done` when that is durable. Errors: those of
  /// `find`; `duplicate` when its status does not allow that.
  void alter(
    const std::string& tenant,
    const std::string& id,
    change what,
    const operation_user& by,
    done_function done);

  /// The tenant's operation with that id. Errors: `unknown_task`; `not_owner`, with the coordinator
  /// that has it, if it exists; `overloaded` while the stored ones are being read.
  [[nodiscard]] result<const operation_run*>
  find(const std::string& tenant, const std::string& id) const;

  /// Returns the operations of the tenant, the latest first.
  [[nodiscard]] std::vector<const operation_run*> of_tenant(const std::string& tenant) const;

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
    /// The task that stores it; empty until it is stored.
    std::optional<task_id> record{};
    /// A step is under way.
    bool is_busy = false;
    /// Its shard has left. It goes when its step has ended, whose outcome does not count, and is
    /// read anew if its shard is here again.
    bool has_left = false;
    bool is_back = false;
    /// The latest store of the record.
    enqueue_ticket saving{};
    timer_list::id timer = 0;
    std::vector<waiter> waiters{};
  };

  void read_record(task_id record);
  void take_up(bulk_operation stored, task_id record);
  void add(entry fresh);
  void leave(shard_id shard);
  void remove_left(const std::string& id);

  /// Takes the next step of an operation, unless one is under way.
  void step(const std::string& id);
  void take(const std::string& id, const operation_run::idle& idle);
  void take(const std::string& id, const operation_run::wait& wait);
  void take(const std::string& id, const operation_run::save& save);
  void take(const std::string& id, const operation_run::list& list);
  void take(const std::string& id, const operation_run::change& change);
  void take(const std::string& id, const operation_run::look& look);

  void change_listed(const std::string& id, const operation_run::change& change);
  void change_singly(const std::string& id, const operation_run::change& change);
  void changed(const std::string& id, const result<std::uint64_t>& tasks);
  void stored(const std::string& id, std::uint64_t version, const result<enqueued_task>& added);

  /// Ends the step of an operation with `take` and goes on; does nothing when the desk has stopped.
  void finish(const std::string& id, const std::function<void(operation_run&)>& take);

  /// Pauses an operation whose user has lost the right to it.
  void check_rights(operation_run& run);
  [[nodiscard]] core::origin_ptr origin_of(const bulk_operation& o) const;
  void drop(const std::string& id);

  /// Drops ended operations that are too old or too many.
  void drop_old();

  shard_desk* desk_ = nullptr;
  find_callers callers_of_;
  std::map<std::string, entry> all_;
  /// The tenants' shares of the places for operations that are not over.
  base::fair_share places_{limits::operations_open_of_all_max};
  record_walk walk_;
  bool stopped_ = false;
};

} // namespace codeq::http
