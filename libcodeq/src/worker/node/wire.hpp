// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "protocol/messages.hpp"
#include "replication/membership.hpp"
#include "worker/node/lease_book.hpp"
#include "worker/node/outbox.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Conversions between the worker's types and messages; no other file of the worker parses or
/// builds messages.
namespace codeq::worker {

/// Content of a task batch.
struct delivery {
  /// Leases that were granted before, without this node's knowledge.
  bool redelivered = false;
  std::vector<task> tasks;
};

/// A lease of a store, as named in a reply or notice.
struct lease_ref {
  sequence seq = 0;
  lease_key key;
};

/// The coordinator's answer to one report.
struct report_answer {
  lease_key key;
  sequence seq = 0;
  errc code = errc::none;
  /// Names what is out of bounds, when that is the reason.
  std::string context{};
};

/// The tasks of a batch. Their payloads share the message's buffer, or are copied where the buffer
/// is much larger than the payload. Errors: `protocol_error` when runs, bodies and attempts do not
/// fit together.
[[nodiscard]] result<delivery> read_task_batch(const protocol::task_batch& batch);

[[nodiscard]] result<std::vector<lease_ref>>
read_leases_lost(std::size_t store, const protocol::leases_lost& lost);

[[nodiscard]] result<lease_ref>
read_cancel_notice(std::size_t store, const protocol::cancel_notice& notice);

[[nodiscard]] result<std::vector<report_answer>>
read_result_reply(std::size_t store, const protocol::result_reply& reply);

/// All checkpoints of the lease's attempt up to `number` are durable.
struct saved_line {
  lease_key key;
  std::uint32_t number = 0;
};

[[nodiscard]] result<std::vector<saved_line>>
read_checkpoints_saved(std::size_t store, const protocol::checkpoints_saved& saved);

/// The checkpoints that have to be sent again later, of which the coordinator kept nothing.
[[nodiscard]] result<std::vector<saved_line>>
read_checkpoints_postponed(std::size_t store, const protocol::checkpoints_saved& saved);

[[nodiscard]] result<shard_id> read_resume_reply(const protocol::resume_reply& reply);

/// The leases that a coordinator extended, and the number of the request.
struct extended_leases {
  std::uint64_t number = 0;
  std::vector<lease_key> leases;
};

[[nodiscard]] result<extended_leases>
read_heartbeat_reply(std::size_t store, const protocol::heartbeat_reply& reply);

/// One heartbeat per shard of `beats`, each with that number. @pre all belong to one store
[[nodiscard]] std::vector<protocol::heartbeat_request>
make_heartbeats(std::vector<beat> beats, std::uint64_t number = 0);

/// News of a lease's handler.
struct progress_of {
  beat lease;
  std::optional<progress_line> line;
  std::optional<checkpoint_line> checkpoint{};
};

/// As `make_heartbeats`, with the handlers' news. @pre all belong to one store
[[nodiscard]] std::vector<protocol::heartbeat_request>
make_progress(std::vector<progress_of> said, std::uint64_t number = 0);

/// One resume request for each shard 0 .. `shards` - 1, including shards without held leases.
[[nodiscard]] std::vector<protocol::resume_request>
make_resumes(const std::vector<beat>& held, std::size_t shards);

/// The resume request for one shard. `epoch`: that of its place; 0: the coordinator is alone. @pre
/// all of `held` are of that shard
[[nodiscard]] protocol::resume_request make_resume(
  shard_id shard, const std::vector<const beat*>& held, replication::epoch_number epoch = 0);

[[nodiscard]] protocol::result_request make_results(const outbox::batch& batch);

/// `batch_tasks`: maximum number of tasks in one message; 0: the coordinator's limit.
[[nodiscard]] protocol::claim_request make_claim(std::size_t credits, std::size_t batch_tasks = 0);

/// Asks a coordinator of a cluster for unused credits.
[[nodiscard]] protocol::claim_request make_take_back(std::size_t credits);

/// Whether this node is connected to the coordinators of all shards.
[[nodiscard]] protocol::claim_request make_reach(bool reaches_all);

/// Restricts claims to these queues and patterns of the tenant from now on, without those in
/// `without`, which they name or match: these are served, but take no tasks for now. Contains no
/// credits.
[[nodiscard]] protocol::claim_request
make_queue_change(
  const std::string& tenant,
  std::span<const std::string> queues,
  std::span<const std::string> without = {});

/// The hello of a worker that handles `queues`, names and patterns, of a tenant. An empty `token`:
/// none.
[[nodiscard]] protocol::hello make_hello(
  const worker_identity& self,
  const std::string& tenant,
  std::span<const std::string> queues,
  const std::string& token = {});

} // namespace codeq::worker
