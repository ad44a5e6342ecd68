// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/actors/coordinator_actors.hpp"
#include "coordinator/actors/disk_reserve.hpp"
#include "coordinator/actors/free_space.hpp"
#include "coordinator/actors/lease_timer.hpp"
#include "coordinator/actors/shard_log.hpp"
#include "coordinator/actors/turn_loop.hpp"
#include "coordinator/shard/shard.hpp"
#include "observe/limit_meter.hpp"
#include "storage/task_store.hpp"

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// Whether a shard of a cluster may act, as its replica knows. Used by the shard's actor.
class shard_authority {
public:
  virtual ~shard_authority() = default;

  /// See `shard_port`.
  [[nodiscard]] virtual bool accepts_writes() const = 0;
  [[nodiscard]] virtual bool may_answer() const = 0;
};

struct shard_driver_options {
  shard_options shard;
  /// Used by this shard's actor only.
  std::shared_ptr<base::clock> clock;
  shard_journal_actor journal;
  reader_actor reader;
  /// Answers from memory which keys it cannot contain.
  std::shared_ptr<const storage::task_store> store;
  /// Decides when tasks may be added; used by this shard's actor only; null: always.
  std::shared_ptr<free_space> space{};
  /// Told of purges; null: nothing is.
  std::shared_ptr<disk_reserve> reserve{};
  std::shared_ptr<observe::limit_meter> meter = std::make_shared<observe::limit_meter>();
  /// Not null when the actor runs on the thread of the sockets, with the sessions.
  std::shared_ptr<turn_loop> loop{};
  /// Null when the coordinator is alone.
  std::shared_ptr<const shard_authority> authority{};
  /// In a cluster carries what the shard says to others, of this epoch; null: they are met.
  neighbours_actor neighbours{};
  std::uint32_t epoch = 0;
};

/// The actor of one shard: passes it the time, and its messages to other actors.
class shard_driver : public shard_port {
public:
  static constexpr const char* name = "shard";

  shard_driver() = default;
  shard_driver(const shard_driver&) = delete;
  shard_driver& operator=(const shard_driver&) = delete;
  ~shard_driver() override;

  void start(shard_internal_actor::pointer self, const shard_driver_options& options);

  [[nodiscard]] shard& hosted() { return *shard_; }

  [[nodiscard]] instant now() { return options_.clock->now(); }

  [[nodiscard]] base::coordinator_counts stats(const ask_shard_stats& question);

  void attach(const attach_peer& m);
  void detach(const detach_peer& m);
  void meet(const meet_shards& m);

  /// Checks the free space and the rules of time zones periodically. Without `space` there is
  /// neither.
  void look_around();

  /// Closes the turn, and with a loop does everything else that there is to do.
  void close_turn();

  /// Has the actor call the loop's `settle`, behind what is already waiting for the thread.
  void settle_later();
  [[nodiscard]] caf::result<bool> stop();

  void note_purge() override;
  void commit(turn_commit turn, const std::vector<core::event>&) override;
  void raise_epoch() override;
  void reply(core::peer_id peer, protocol::peer_reply reply) override;
  void deliver(core::peer_id peer, task_delivery tasks) override;
  void tell_credits(core::peer_id peer, const credit_news& news) override;
  void tell_queues(core::peer_id peer, queues_added news) override;
  void end_peer(core::peer_id peer, const error& reason) override;
  void fetch_bodies(core::peer_id peer, bodies_wanted wanted) override;
  void answer_inquiry(core::peer_id peer, stored_inquiry inquiry) override;
  void list_stored(core::peer_id peer, stored_list list) override;
  void find_keys(keys_wanted wanted) override;
  void read_survivors(survivors_wanted wanted) override;
  [[nodiscard]] bool may_hold_key(const task_key& name) override;
  void to_shard(shard_id to, core::command command) override;
  bool make_timer(sequence seq, fencing_token token) override;
  void fire_timer(fencing_token token) override;
  bool drop_timer(fencing_token token) override;
  void close_turn_soon() override;
  void wake_after(duration wait, std::uint64_t number) override;
  void note_limit(
    std::string_view name,
    std::uint64_t max,
    std::string_view owner,
    std::string_view queue) override;
  void note_expired(const core::leases_expired& expired) override;
  void note_breaker(const core::breaker_tripped& tripped) override;
  void note_occurrence(const core::occurrence_noted& noted, timestamp shard_now) override;
  void note_grants(grant_pause why) override;
  [[nodiscard]] bool accepts_writes() const override {
    return !options_.authority || options_.authority->accepts_writes();
  }

  [[nodiscard]] bool may_answer() const override {
    return !options_.authority || options_.authority->may_answer();
  }

  void settled() override;
  [[nodiscard]] const result<void>& check_disk(monotonic_time now) override;
  [[nodiscard]] bool is_disk_tight(monotonic_time now, std::size_t bytes) override;

private:
  [[nodiscard]] shard_internal_actor me() const;

  template <class Message>
  void send_to(core::peer_id peer, Message&& message) {
    if (options_.loop && options_.loop->session(peer) != nullptr)
      return options_.loop->tell(peer, std::forward<Message>(message));
    if (auto at = peers_.find(peer); at != peers_.end())
      self_->send(at->second, std::forward<Message>(message));
  }

  /// Asks the reader, which answers the peer.
  template <class Message, class Wanted>
  void read_for(core::peer_id peer, Wanted wanted) {
    if (auto at = peers_.find(peer); at != peers_.end())
      self_->send(options_.reader, Message{at->second, std::move(wanted)});
  }

  shard_internal_actor::pointer self_ = nullptr;
  shard_driver_options options_;
  std::optional<shard> shard_;
  std::optional<shard_log> log_;
  std::unordered_map<core::peer_id, shard_peer_actor> peers_;
  std::vector<shard_actor> shards_;
  /// Commands for the other shards, until their handles are known.
  std::vector<std::pair<shard_id, core::command>> undelivered_;
  lease_timers timers_;
  /// Why the shard hands no tasks out.
  grant_pause grants_ = grant_pause::none;
  std::optional<caf::typed_response_promise<bool>> stopping_;
};

[[nodiscard]] shard_internal_actor::behavior_type drive_shard(
  shard_internal_actor::stateful_pointer<shard_driver> self, const shard_driver_options& options);

} // namespace codeq::coordinator
