// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/attempt.hpp"
#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "coordinator/session/claim_router.hpp"
#include "coordinator/session/claim_wire.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "http/claims/claim_ways.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codeq::http {

struct claim_run_options {
  /// The claim's name at the gateway.
  std::uint64_t claim = 0;
  /// The claim's own peer id.
  core::peer_id peer = 0;
  /// At least 1.
  std::size_t shard_count = 1;
  /// Number of the shard that is asked first; it likely has the first task of the queues.
  std::size_t first_shard = 0;
  /// The shards that are not served here.
  std::set<shard_id> away{};
  /// The shards of other coordinators to which there are connections.
  std::set<shard_id> reached{};
  std::shared_ptr<const worker_identity> worker;
  /// A claim names at least one queue or prefix.
  std::vector<queue_address> queues;
  /// See `core::attach_worker`. A claim from every queue has one.
  std::vector<queue_address> prefixes{};
  /// The largest number of tasks that the claim returns.
  std::uint32_t count = 1;
  /// The lease length that the worker asks for; zero uses the task's own.
  duration lease{0};
  /// The bytes of tasks that each shard may grant; its last task may exceed them.
  std::int64_t room = core::unbounded_bytes;
  /// The claim ends as soon as it is known that there is no work, instead of waiting for some.
  bool only_now = false;
};

/// How a claim ended.
struct claimed_tasks {
  std::vector<task> tasks{};
  /// There may be more tasks, for which there was no room.
  bool is_cut = false;
  /// Why another coordinator has refused the claim; or, without tasks, that a shard could not grant
  /// any: `unavailable`.
  std::optional<error> refusal{};
};

/// The tasks of a message that was written for a claim. Errors: `protocol_error`.
[[nodiscard]] result<std::vector<task>> read_claimed_tasks(const bytes& batch);

/// The claim's interface to its driver. Calls return before they call the claim back.
class claim_run_port {
public:
  virtual ~claim_run_port() = default;

  // To a shard of this coordinator.

  /// Joins the shard's claimers, with a first claim if there is one.
  virtual void attach(
    shard_id to,
    coordinator::peer_attached who,
    const std::optional<core::claim>& first_claim) = 0;
  virtual void detach(shard_id from) = 0;
  virtual void command(shard_id to, core::command command) = 0;
  virtual void ask(shard_id to, protocol::queue_request question) = 0;

  /// Sends a step over the connection to the coordinator that serves the shard.
  virtual void tell(const coordinator::claim_place& at, const coordinator::claim_step& step) = 0;

  // To the gateway.

  /// A claim that may wait has found no work so far. Called once or never.
  virtual void waits() = 0;

  /// The claim has ended, and nothing more will be granted to it. Called once.
  virtual void ended(claimed_tasks how) = 0;

  /// These are leased to the claim, which does not return them.
  virtual void give_back(const std::vector<task>& tasks) = 0;

  // Time.

  /// Requests a call of `look_again` after the messages that the claim has already been sent.
  virtual void look_again_soon() = 0;

  /// Requests a call of `end` after `wait`.
  virtual void end_after(duration wait) = 0;

  /// The last call: the claim needs no more messages.
  virtual void close() = 0;

  /// The last call: until then the claim gives back the tasks that still come.
  virtual void close_after(duration wait) = 0;

  // For the log.

  virtual void note_refused(const std::string& by, const error& reason) = 0;

  /// The claim cannot read what it was sent: `what`.
  virtual void note_unread(std::string_view what, const error& reason) = 0;

  /// The claim leaves the coordinator of the shard, since that violates the protocol.
  virtual void note_left(shard_id shard, const std::string& reason) = 0;
};

/// A claim of an HTTP worker, from its first credit to its end. It places its credits by a claim
/// router. It attaches to a shard with its first credit there, and to all of them when one has less
/// work than credits. The claim ends when it has its tasks, when `end` asks for it, or when there
/// is no work and it may not wait; one that waits reports once that there was no work. It keeps
/// running until every credit is spent or returned, so that no task is granted to a claim that has
/// gone. In a cluster it reaches the shards of other coordinators over the gateway's connections,
/// where proxies stand for it (`coordinator::claim_proxy`). It confirms the tasks that it takes
/// there; what it has not confirmed when it leaves such a shard is given back by the proxy. When a
/// shard moves, or the connection is lost, its credits there are void and placed anew. A shard that
/// moves may still deliver tasks, whose leases hold at its new place: the claim keeps those that it
/// wants. It gives the others back uncharged, and what comes over a connection that it has left. So
/// a claim that has ended waits some time for such tasks when a shard has left it. Uses no actor,
/// clock or socket: its driver calls it from one thread.
class claim_run {
public:
  /// @pre `port` outlives the claim
  claim_run(claim_run_options options, claim_run_port& port);

  /// Places the first credits.
  void start();

  // Messages of shards of this coordinator.

  void take(const coordinator::task_delivery& m);
  void take(const coordinator::credit_news& m);
  void take(const coordinator::shard_reply& m);
  void take_move(shard_id shard, bool is_here);

  /// A shard refuses the claim.
  void refuse(const error& reason);

  // Messages of the gateway.

  /// The gateway finds the shard here, or not here any more.
  void find(shard_id shard, bool is_here);

  /// There is a new connection to the coordinator of the shard. @pre the one before was lost
  void reach(shard_id shard);

  /// The connection to the coordinator of the shard is not used any more. What the claim says over
  /// it in this call is the last.
  void lose(shard_id shard);

  /// Attaches to all shards and asks them again, once for all that have changed.
  void look_again();

  /// Handles what a shard of another coordinator has sent.
  void take(const protocol::claim_news& news);

  /// Takes the unused credits back and then ends. `at_once`: without those that other coordinators
  /// still have; what they grant is given back.
  void end(bool at_once = false);

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
  bool attach(shard_id shard, std::optional<core::claim> first_claim = {});

  void attach_to_all();

  /// A shard has less work than credits: all shards tell of theirs from now on.
  void look_everywhere();

  /// Asks every shard that is reached one question. The shard's answer arrives after everything
  /// that it sent before.
  void ask_all();
  void ask(shard_id shard);

  /// A shard has answered a question.
  void take_answer(shard_id shard, const coordinator::claim_answer& answer);

  /// Handles news of a shard on the way by which the claim reaches it.
  void use(const coordinator::credit_news& m);

  void add(shard_id shard, arrival granted);

  /// Tells the shards that it is attached to when the claim reaches all shards, or not any more.
  void tell_reach();

  /// Keeps the tasks that the claim still wants, and gives the others back.
  void keep(std::vector<task> tasks);

  /// Takes tasks that a shard granted before it left.
  void add_late(std::vector<task> tasks);

  /// Takes the unused credits back.
  void begin_end();

  /// The way to the shard has changed: ends the attachment over a connection that it has left.
  void change_way(shard_id shard, const claim_ways::change& change);

  /// The way to the shard has changed, and what the claim had there has ended.
  void follow(shard_id shard, const claim_ways::change& change);

  // These handle messages of shards of other coordinators.

  void take_far(const coordinator::claim_place& place, const coordinator::claim_event& event);
  void take_far(shard_id shard, const coordinator::credit_news& news);
  void take_far(shard_id shard, const coordinator::claim_tasks& tasks);
  void take_far(shard_id shard, const coordinator::claim_answer& answer);
  void take_far(shard_id shard, const coordinator::claim_left& left);
  /// Tasks for an attachment that has ended.
  void take_late(const coordinator::claim_place& place, const coordinator::claim_tasks& tasks);

  /// The tasks of a message; empty when they cannot be read.
  [[nodiscard]] std::optional<std::vector<task>> read_batch(const bytes& batch);

  void give_back(const std::vector<task>& tasks);

  /// Asks them again when the tasks that the last round waits for are here.
  void ask_if_read();
  void finish_if_settled();

  /// There is no work at present.
  void found_no_work();

  /// There is work for which a shard asks another one.
  void end_later();

  [[nodiscard]] std::uint16_t shard_count() const {
    return static_cast<std::uint16_t>(options_.shard_count);
  }

  claim_run_options options_;
  claim_run_port& port_;
  coordinator::claim_router router_;
  claim_ways ways_;
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
  /// A shard without enough copies in sync, by the answers to the latest questions.
  std::optional<shard_id> lacking_;
  /// The gateway knows that there was no work.
  bool has_told_ = false;
  bool finished_ = false;
  /// See `core::claim`.
  bool reaches_all_ = false;
  /// The shard of another coordinator whose task came before one of another shard.
  std::optional<shard_id> named_;
  /// Number of times that the named shard had no task for the claim: the news of it was old, or it
  /// keeps its tasks from the claim. From `vain_max` on the claim waits no longer for better tasks
  /// of other coordinators.
  std::uint32_t vain_ = 0;
  static constexpr std::uint32_t vain_max = 3;
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

} // namespace codeq::http
