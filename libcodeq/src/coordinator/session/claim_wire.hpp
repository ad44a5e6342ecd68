// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"

#include "coordinator/shard/shard_messages.hpp"
#include "protocol/peer_messages.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

/// The messages between a claim of a gateway and a shard of another coordinator, and their bytes.
namespace codeq::coordinator {

/// An attachment of a claim to a shard. Both sides of a connection name it so.
struct claim_place {
  /// The claim's number at its gateway.
  std::uint64_t claim = 0;
  /// Counts the claim's attachments.
  std::uint32_t attachment = 0;
  shard_id shard{};

  friend auto operator<=>(const claim_place&, const claim_place&) = default;
};

// From the claim. Commands have no peer; the other side has one for each attachment.

/// The first step of an attachment.
struct claim_attached {
  std::shared_ptr<const worker_identity> worker;
  std::vector<queue_address> queues;
  /// See `core::attach_worker`.
  std::vector<queue_address> prefixes{};
};

/// Answered behind everything that was sent before.
struct claim_question {
  std::uint64_t number = 0;
};

/// The claim has taken the tasks of this many messages, in total.
struct claim_received {
  std::uint32_t messages = 0;
};

/// The last step. Tasks that were not received are given back.
struct claim_detached {};

using claim_step = std::variant<
  claim_attached,
  core::claim,
  core::revoke_credits,
  claim_question,
  claim_received,
  claim_detached>;

// To the claim; also `credit_news`.

/// Tasks of a grant, or a part of them.
struct claim_tasks {
  /// The body of a task batch.
  bytes batch;
  /// The room that they have used.
  std::uint64_t room = 0;
  /// As in `task_delivery`.
  std::optional<bool> more{};
  /// They were counted by `credit_news::being_read`.
  bool was_read = false;
};

struct claim_answer {
  /// See `claim_question`.
  std::uint64_t number = 0;
  /// The shard has tasks, and has asked another one for leases of their queue.
  bool awaits_slots = false;
  /// Too few copies of the shard are in sync, so that it grants no leases.
  bool lacks_copies = false;
};

/// The attachment has ended.
struct claim_left {
  /// `not_owner` when the shard is not there; otherwise the claim is refused.
  error reason;
};

using claim_event = std::variant<credit_news, claim_tasks, claim_answer, claim_left>;

[[nodiscard]] protocol::claim_at make_claim_at(const claim_place& at, const claim_step& step);

/// Errors: `protocol_error`; `invalid_argument` and `too_large` for names and counts.
[[nodiscard]] result<std::pair<claim_place, claim_step>>
read_claim_at(const protocol::claim_at& message, std::size_t shard_count);

[[nodiscard]] protocol::claim_news make_claim_news(const claim_place& to, const claim_event& what);

/// Called with each message and the number of its tasks.
using claim_tasks_writer = std::function<void(std::uint32_t tasks, const protocol::wire_frame&)>;

/// Writes granted tasks as messages, as many as their size needs.
void write_claim_tasks(
  const claim_place& to, const task_delivery& tasks, const claim_tasks_writer& write);

/// Errors: `protocol_error`.
[[nodiscard]] result<std::pair<claim_place, claim_event>>
read_claim_news(const protocol::claim_news& message);

/// The leases of granted tasks, in order.
[[nodiscard]] std::vector<core::task_lease> granted_leases(const core::tasks_granted& granted);

} // namespace codeq::coordinator
