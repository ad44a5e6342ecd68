// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/claim_router.hpp"
#include "http/desk/gateway_actors.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace codeq::http {

struct claim_options {
  /// Names it to the gateway.
  std::uint64_t claim = 0;
  gateway_actor gateway;
  /// Of its own.
  core::peer_id peer = 0;
  /// By number.
  std::vector<coordinator::shard_actor> shards;
  std::shared_ptr<const worker_identity> worker;
  /// At least one of a claim that may not wait.
  std::vector<queue_address> queues;
  /// Tasks at most.
  std::uint32_t count = 1;
  /// The claim's wish; zero leaves it to the task.
  duration lease{0};
  /// Ends once it is known that there is no work, instead of waiting for some.
  bool only_now = false;
};

/// The state of a claim: attaches to every shard, places its credits by a claim router, and ends
/// when it has its tasks, is told to, or may not wait. It ends only when no credit is left
/// anywhere, so that no task is ever granted to nobody.
class claim_state {
public:
  static constexpr const char* name = "claim";

  void start(claim_actor::pointer self, const claim_options& options);
  void take(const coordinator::task_delivery& m);
  void take(const coordinator::credit_news& m);
  void take(const coordinator::shard_reply& m);
  void add(const std::vector<queue_address>& queues);
  void end();

private:
  void carry_out(const coordinator::claim_router::moves& moves);

  /// Asks every shard for a word, which comes behind everything that it said before.
  void ask_all();
  void finish_if_settled();

  claim_actor::pointer self_ = nullptr;
  claim_options options_;
  std::optional<coordinator::claim_router> router_;
  std::vector<task> tasks_;
  bool ending_ = false;
  bool finished_ = false;

  // How it is found out that there is no work: a round of questions without news in between.
  std::uint64_t round_ = 0;
  std::size_t unanswered_ = 0;
  bool any_news_ = true;
};

[[nodiscard]] claim_actor::behavior_type
claim(claim_actor::stateful_pointer<claim_state> self, const claim_options& options);

} // namespace codeq::http
