// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "http/desk/shard_desk.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace codeq::http {

/// In a cluster: how coordinators change records that a part of the gateway keeps as tasks on the
/// shards of others. A wish is a task on the shard of the record, in a tenant of its own. The
/// coordinator that serves the shard looks for wishes, carries them out, perhaps twice, and ends
/// the task with the answer, for which the other one waits. The gateway's actor owns this.
class record_wishes {
public:
  /// Carries a wish out, and calls `done` with what to tell the one who wished it.
  using grant_function =
    std::function<void(const std::string& wish, shard_desk::then<std::string> done)>;

  /// `tenant`: of the wishes. `what` names a record for people.
  void start(shard_desk& desk, std::string tenant, std::string what, grant_function grant);

  /// Carries out nothing more.
  void stop() { stopped_ = true; }

  /// Has the coordinator of the shard carry out a wish; see `wish_task` for its text. `by`: the
  /// tenant whose wish it is. `id`: of the record, which needs not exist. Errors: those of the
  /// change, and of the enqueue, which the ticket names; `timeout`: it may take effect later.
  enqueue_ticket send(
    const std::string& by,
    std::string_view id,
    std::string text,
    shard_id shard,
    shard_desk::then<std::string> done);

private:
  void await(task_id wish, shard_desk::then<std::string> done);
  void look_later();
  void look();
  void read(task_id wish);
  void grant(task_id wish, const std::string& text);

  shard_desk* desk_ = nullptr;
  std::string tenant_;
  std::string what_;
  grant_function grant_;
  /// The wishes of others that are being read or carried out.
  std::set<task_id> open_;
  bool stopped_ = false;
};

} // namespace codeq::http
