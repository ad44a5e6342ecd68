// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/claim_router.hpp"
#include "coordinator/session/claim_wire.hpp"
#include "http/desk/claim_ways.hpp"
#include "http/desk/gateway_actors.hpp"
#include "observe/line_pace.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
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
  /// The shards that are not served here.
  std::set<shard_id> away{};
  /// Indexed by shard number: the connections to other coordinators of the cluster that serve
  /// shards; null without one. Empty when this coordinator is alone.
  std::vector<actors::connection_actor> far{};
  std::shared_ptr<const worker_identity> worker;
  /// A claim with `only_now` names at least one, or a prefix.
  std::vector<queue_address> queues;
  /// See `core::attach_worker`. In a cluster a claim from every queue has one, since queues of
  /// other coordinators are not known here.
  std::vector<queue_address> prefixes{};
  /// The largest number of tasks that the claim returns.
  std::uint32_t count = 1;
  /// The lease length that the worker asks for; zero uses the task's own.
  duration lease{0};
  /// The bytes of tasks that each shard may grant; its last task may exceed them.
  std::int64_t room = core::unbounded_bytes;
  /// The claim ends as soon as it is known that there is no work, instead of waiting for some.
  bool only_now = false;
  /// Bounds the log lines about refused claims of a worker; the claims of a gateway share it.
  std::shared_ptr<observe::line_pace> refusal_lines = std::make_shared<observe::line_pace>(1);
};

/// The state of a claim: it places its credits by a claim router. It attaches to a shard with its
/// first credit there, and to all of them when one has less work than credits. The claim ends when
/// it has its tasks, when `end_claim` asks for it, or when there is no work and it may not wait;
/// one that waits reports once that there was no work. It keeps running until every credit is spent
/// or returned, so that no task is granted to a claim that has gone. In a cluster it reaches the
/// shards of other coordinators over the gateway's connections, where proxies stand for it
/// (`coordinator::claim_proxy`). It confirms the tasks that it takes from there; what it has not
/// confirmed when it leaves such a shard is given back by the proxy. When a shard moves, or the
/// connection is lost, its credits there are void and placed anew. A shard that moves may still
/// deliver tasks, whose leases hold at its new place: the claim keeps those that it wants. It gives
/// the others back uncharged, and what comes over a connection that it has left. So a claim that
/// has ended waits some time for such tasks when a shard has left it.
class claim_state {
public:
  static constexpr const char* name = "claim";

  void start(claim_actor::pointer self, const claim_options& options);
  void take(const coordinator::task_delivery& m);
  void take(const coordinator::credit_news& m);
  void take(const coordinator::shard_reply& m);
  void take(const coordinator::shard_moved& m);
  void take(const shard_found& m);
  void take(const far_shards_found& m);
  void take(const far_shards_lost& m);
  void take(const claim_news_arrived& m);
  void add(const std::vector<queue_address>& queues);
  void take(const end_claim& m);
  void take(const coordinator::peer_misbehaved& m);

  /// Takes the unused credits back and then ends.
  void end();

  /// Attaches to all shards and asks them again, once for all that have changed.
  void look_again();

  /// The tasks of a message of another coordinator; empty when they cannot be read.
  [[nodiscard]] static std::optional<std::vector<task>> read_batch(const bytes& batch);

private:
  using way = claim_ways::way;

  /// Tasks that a shard has granted.
  struct arrival {
    std::vector<task> tasks;
    /// Their number when they were granted.
    std::uint32_t count = 0;
    /// The room that they have used.
    std::uint64_t room = 0;
    std::optional<bool> more{};
    /// They were read from the store.
    bool was_read = false;
    /// That of the last one.
    int priority = 0;
  };

  void carry_out(const coordinator::claim_router::moves& moves);

  /// Sends a command to the shard, wherever it is.
  template <class Command>
  void command(shard_id shard, Command what);

  /// Sends a step to a shard of another coordinator.
  void tell(shard_id shard, std::uint32_t attachment, const coordinator::claim_step& step);

  /// Joins the shard's claimers, once on each way to it. A shard that is here gets the claim with
  /// that, which spares a message and a turn; false when it is yet to be sent.
  bool attach(std::size_t shard, std::optional<core::claim> first_claim = {});

  void attach_to_all();

  /// A shard has less work than credits: all shards tell of theirs from now on.
  void look_everywhere();

  /// The claim names no queue, not even by a prefix.
  [[nodiscard]] bool names_nothing() const {
    return options_.queues.empty() && options_.prefixes.empty();
  }

  /// Asks every shard that is reached one question. The shard's answer arrives after everything
  /// that it sent before.
  void ask_all();
  void ask(shard_id shard);

  /// A shard has answered the question with that number. `awaits_slots`: it has asked another shard
  /// for leases.
  void take_answer(std::uint64_t number, bool awaits_slots);

  /// Handles news of a shard on the way by which the claim reaches it.
  void use(const coordinator::credit_news& m);

  void add(shard_id shard, arrival granted);

  /// Keeps the tasks that the claim still wants, and gives the others back.
  void keep(std::vector<task> tasks);

  /// Takes tasks that a shard granted before it left.
  void add_late(std::vector<task> tasks);

  /// Ends the attachment over a connection that a change of the way to the shard has left.
  void detach(shard_id shard, const claim_ways::change& change);

  /// The way to the shard has changed.
  void follow(shard_id shard, const claim_ways::change& change);

  /// The connection to the coordinator of the shard is another one, or there is none.
  void set_far(shard_id shard, const actors::connection_actor& to);

  // These handle messages of shards of other coordinators.

  void take_far(const coordinator::claim_place& place, const coordinator::claim_event& event);
  void take_far(shard_id shard, const coordinator::credit_news& news);
  void take_far(shard_id shard, const coordinator::claim_tasks& tasks);
  void take_far(shard_id shard, const coordinator::claim_answer& answer);
  void take_far(shard_id shard, const coordinator::claim_left& left);
  /// Tasks for an attachment that has ended.
  void take_late(const coordinator::claim_place& place, const coordinator::claim_tasks& tasks);

  void give_back(const std::vector<task>& tasks);

  /// Logs that the claim is refused, unless there were such lines about its worker a moment ago.
  void note_refused(const std::string& by, const error& reason);

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
  std::optional<claim_ways> ways_;
  /// Indexed by shard number: the connections to other coordinators.
  std::vector<actors::connection_actor> far_;
  /// Indexed by shard number: the messages with tasks that this attachment over a connection has
  /// brought.
  std::vector<std::uint32_t> received_;
  /// Indexed by shard number: the latest attachment that ended because the shard had left its
  /// coordinator; 0: none.
  std::vector<std::uint32_t> left_;
  std::vector<task> tasks_;
  std::optional<error> refusal_;
  bool ending_ = false;
  /// A shard has tasks for which it may get slots soon, and so the claim ends a little later.
  bool awaits_slots_ = false;
  bool is_ending_later_ = false;
  /// The gateway knows that there was no work.
  bool has_told_ = false;
  bool finished_ = false;
  /// A shard has left, and may have granted tasks before.
  bool may_get_late_tasks_ = false;
  bool will_look_again_ = false;

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
