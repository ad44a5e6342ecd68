// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/claim_router.hpp"
#include "http/desk/gateway_actors.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace codeq::http {

struct claim_options {
  /// The claim's name at the gateway.
  std::uint64_t claim = 0;
  gateway_actor gateway;
  /// The claim's own peer id.
  core::peer_id peer = 0;
  /// Indexed by shard number.
  std::vector<coordinator::shard_actor> shards;
  /// Number of the shard that is asked first; it likely has the first task of the queues.
  std::size_t first_shard = 0;
  /// The shards that other coordinators of the cluster serve.
  std::set<shard_id> away{};
  std::shared_ptr<const worker_identity> worker;
  /// A claim with `only_now` names at least one.
  std::vector<queue_address> queues;
  /// The largest number of tasks that the claim returns.
  std::uint32_t count = 1;
  /// The lease length that the worker asks for; zero uses the task's own.
  duration lease{0};
  /// The bytes of tasks that each shard may grant; its last task may exceed them.
  std::int64_t room = core::unbounded_bytes;
  /// The claim ends as soon as it is known that there is no work, instead of waiting for some.
  bool only_now = false;
};

/// The state of a claim: it places its credits by a claim router. It attaches to a shard with its
/// first credit there, and to all of them when one has less work than credits. The claim ends when
/// it has its tasks, when `end_claim` asks for it, or when there is no work and it may not wait;
/// one that waits reports once that there was no work. It keeps running until every credit is spent
/// or returned, so that no task is granted to a claim that has gone. In a cluster it has the tasks
/// of the shards that are here.
class claim_state {
public:
  static constexpr const char* name = "claim";

  void start(claim_actor::pointer self, const claim_options& options);
  void take(const coordinator::task_delivery& m);
  void take(const coordinator::credit_news& m);
  void take(const coordinator::shard_reply& m);
  void take(const coordinator::shard_moved& m);
  void add(const std::vector<queue_address>& queues);
  void end();

private:
  void carry_out(const coordinator::claim_router::moves& moves);

  /// Joins the shard's claimers, once.
  void attach(std::size_t shard);

  void attach_to_all();

  /// A shard has less work than credits: all shards tell of theirs from now on.
  void look_everywhere();

  /// Asks every shard that is here one question. The shard's answer arrives after everything that
  /// it sent before.
  void ask_all();

  /// Asks them again when the tasks that the last round waits for are here.
  void ask_if_read();
  void finish_if_settled();

  /// There is no work at present.
  void found_no_work();

  /// There is work for which a shard asks another one.
  void end_later();

  claim_actor::pointer self_ = nullptr;
  claim_options options_;
  std::optional<coordinator::claim_router> router_;
  /// Indexed by shard number.
  std::vector<bool> attached_;
  std::vector<task> tasks_;
  bool ending_ = false;
  /// A shard has tasks for which it may get slots soon, and so the claim ends a little later.
  bool awaits_slots_ = false;
  bool is_ending_later_ = false;
  /// The gateway knows that there was no work.
  bool has_told_ = false;
  bool finished_ = false;

  // The claim knows that there is no work after some rounds of questions without news in between.
  std::uint64_t round_ = 0;
  std::uint64_t quiet_rounds_ = 0;
  std::size_t unanswered_ = 0;
  bool any_news_ = true;
  /// Granted tasks that are read from the store and come after the shards' answers.
  std::int64_t being_read_ = 0;
  /// The next round begins when they are here: their credits may be moved then.
  bool is_round_due_ = false;

  /// The bytes that each shard may still be told to grant, and may still grant.
  std::vector<std::int64_t> untold_room_;
  std::vector<std::int64_t> room_;
  /// A shard has used up its room.
  bool is_cut_ = false;
};

[[nodiscard]] claim_actor::behavior_type
claim(claim_actor::stateful_pointer<claim_state> self, const claim_options& options);

} // namespace codeq::http
