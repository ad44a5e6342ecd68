// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "protocol/messages.hpp"
#include "worker/node/lease_book.hpp"
#include "worker/node/outbox.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Between the worker's own types and messages; nothing else in the worker reads or builds them.
namespace codeq::worker {

/// What a task batch brought.
struct delivery {
  /// Leases that were granted before, and that this node did not know.
  bool redelivered = false;
  std::vector<task> tasks;
};

/// One line of a reply or notice: which lease of the link.
struct lease_ref {
  sequence seq = 0;
  lease_key key;
};

/// What a result reply says about one report.
struct report_answer {
  lease_key key;
  sequence seq = 0;
  errc code = errc::none;
  /// What is out of bounds, when that is the reason.
  std::string context{};
};

/// The tasks of a batch; their payloads share the message's buffer, or are copies where that would
/// hold much more memory than the payload has. Errors: `protocol_error` when runs, bodies and
/// attempts do not fit each other.
[[nodiscard]] result<delivery> read_task_batch(const protocol::task_batch& batch);

[[nodiscard]] result<std::vector<lease_ref>>
read_leases_lost(std::size_t link, const protocol::leases_lost& lost);

[[nodiscard]] result<lease_ref>
read_cancel_notice(std::size_t link, const protocol::cancel_notice& notice);

[[nodiscard]] result<std::vector<report_answer>>
read_result_reply(std::size_t link, const protocol::result_reply& reply);

/// Up to which number what an attempt saved is durable.
struct saved_line {
  lease_key key;
  std::uint32_t number = 0;
};

[[nodiscard]] result<std::vector<saved_line>>
read_checkpoints_saved(std::size_t link, const protocol::checkpoints_saved& saved);

[[nodiscard]] result<shard_id> read_resume_reply(const protocol::resume_reply& reply);

/// One heartbeat per shard that `beats` names. @pre all are of one link.
[[nodiscard]] std::vector<protocol::heartbeat_request> make_heartbeats(std::vector<beat> beats);

/// How far the handler of a lease is.
struct progress_of {
  beat lease;
  std::optional<progress_line> line;
  std::optional<checkpoint_line> checkpoint{};
};

/// As `make_heartbeats`, with what the handlers said. @pre all are of one link.
[[nodiscard]] std::vector<protocol::heartbeat_request> make_progress(std::vector<progress_of> said);

/// One resume request per shard, also for those without holdings: 0 to `shards` - 1.
[[nodiscard]] std::vector<protocol::resume_request>
make_resumes(const std::vector<beat>& held, std::size_t shards);

[[nodiscard]] protocol::result_request make_results(const outbox::batch& batch);

/// `batch_tasks`: tasks of one message at most; 0 leaves it to the coordinator.
[[nodiscard]] protocol::claim_request make_claim(std::size_t credits, std::size_t batch_tasks = 0);

/// From here on only tasks of these queues of the tenant are wanted; asks for none.
[[nodiscard]] protocol::claim_request
make_queue_change(const std::string& tenant, std::span<const std::string> queues);

/// The hello of a worker that handles `queues` of a tenant; an empty `token` is none.
[[nodiscard]] protocol::hello make_hello(
  const worker_identity& self,
  const std::string& tenant,
  std::span<const std::string> queues,
  const std::string& token = {});

} // namespace codeq::worker
