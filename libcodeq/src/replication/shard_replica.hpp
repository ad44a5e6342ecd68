// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"
#include "replication/disk_watch.hpp"
#include "replication/epoch_index.hpp"
#include "replication/leadership.hpp"
#include "replication/membership.hpp"
#include "replication/messages.hpp"
#include "replication/primary_watch.hpp"

#include <map>
#include <optional>
#include <set>

namespace codeq::replication {

/// The deltas of a replica's own history after one of them.
struct log_tail {
  enum class state : std::uint8_t {
    /// The next ones, as many as fit into a message; at least one.
    held,
    /// They are being read; `tail_read` follows.
    reading,
    /// Nobody keeps them any more.
    gone,
  };

  state how = state::gone;
  std::vector<entry> entries{};
};

/// The outside of a `shard_replica`. Calls return at once; the effect may fail to happen, and its
/// end is reported by the functions of `shard_replica` that are named here.
class replica_port {
public:
  virtual ~replica_port() = default;

  /// Sends a message; it may be lost.
  virtual void send(replica_id to, const message& what) = 0;

  /// Writes the promise, synced in both durability modes; then `promise_saved`.
  virtual void save_promise(epoch_number epoch) = 0;

  /// Appends to the log; then `written`, in order, when it is durable as the mode wants it.
  virtual void write(const entry& what) = 0;

  /// Notes on the disk, synced, that the replica is not doubtful any more.
  virtual void clear_doubt() = 0;

  /// The deltas of the log after `after`, for that replica. @pre the log has `after` and more
  virtual log_tail read_after(replica_id to, position after) = 0;

  /// Copies the data, as they are now, to a replica: sends it a `copy_offer` and then the data;
  /// then `copy_ended`, also when it failed.
  virtual void begin_copy(replica_id to, epoch_number epoch) = 0;

  /// Whether there is room for a copy. One that is offered otherwise is not taken; its sender
  /// offers another one after a while.
  [[nodiscard]] virtual bool takes_copies() const { return true; }

  /// Replaces the own data, log included, by the copy that comes from `from`, after it has noted on
  /// the disk, synced, that they are incomplete; then `rebuilt`. Replaces a copy that is under
  /// way.
  virtual void take_copy(replica_id from, const copy_offer& what) = 0;

  /// `txn(if value == old then put next else get)`; then `etcd_answered`, or nothing.
  virtual void compare_and_set(const membership& old, const membership& next) = 0;

  /// Whether etcd answers. While it does not, no other replica can take over.
  [[nodiscard]] virtual bool reaches_etcd() const = 0;

  /// All deltas of this epoch up to this one are on all members: their effects may leave.
  virtual void acknowledge(position at) = 0;

  /// Recovers the shard from the own store, to serve it in this epoch, with a shard time that is
  /// not earlier than this one; then `recovered` or `recovery_failed`. Replaces a recovery that is
  /// under way or was not served, of which no end is reported any more.
  virtual void recover(epoch_number epoch, timestamp shard_time) = 0;

  /// Drops the shard that was recovered, or is being recovered: it will not be served.
  virtual void drop_recovery() = 0;

  /// The shard time of a shard that is served.
  virtual timestamp shard_time() = 0;

  /// The shard is served from now on, or not any more.
  virtual void serve(epoch_number epoch) = 0;
  virtual void stop_serving() = 0;
};

/// The state that a replica finds on its disk when it starts.
struct replica_start {
  replica_id id{};
  epoch_number promised = 0;
  epoch_index log;
  /// Whether its last boot may have lost what was not synced.
  bool doubtful = false;
  /// Whether a copy was begun and not ended, or never begun: a replica that is new.
  bool incomplete = false;
  /// The shard's value as last known; an old one is corrected by the first compare-and-set.
  membership value;
};

/// One replica of one shard: follows a primary, takes part in elections, and is the primary. It is
/// told the time and what happens, and acts through its port. One per shard and process; a restart
/// makes a new one, which does not continue the epoch that it finds.
class shard_replica {
public:
  shard_replica(replica_start start, replica_port& port, monotonic_time now);

  void receive(const envelope& in, monotonic_time now);
  /// Called at least every 50 ms.
  void tick(monotonic_time now);
  void promise_saved(epoch_number epoch, monotonic_time now);
  void written(position at, monotonic_time now);
  /// The latest copy that was taken is complete, with this history.
  void rebuilt(const epoch_index& log);
  /// A copy to a replica has ended, well or not.
  void copy_ended(replica_id to);
  /// What `read_after` has to read for a replica is there.
  void tail_read(replica_id to, monotonic_time now);
  /// The shard is recovered.
  void recovered(epoch_number epoch, monotonic_time now);
  /// The own store is damaged: another replica has to serve the shard, and this one needs a copy.
  void recovery_failed();
  /// etcd's value after a compare-and-set, whether it was applied or not.
  void etcd_answered(const membership& current, bool applied, monotonic_time now);

  /// The process of another replica has ended: its connection was lost, and it takes no other. May
  /// be wrong; then the replica is heard again.
  void note_gone(replica_id replica, monotonic_time now);

  /// Starts a delta; false when this replica does not serve.
  bool propose(std::shared_ptr<const delta_body> body, monotonic_time now);
  /// Whether new writes may be taken: it serves, and enough members are in sync.
  [[nodiscard]] bool accepts_writes() const;
  /// Whether a heartbeat or a read may be answered.
  [[nodiscard]] bool may_answer(monotonic_time now) const;
  /// Whether it serves, and a hand-over to this replica can succeed: a doubtful one is not elected.
  [[nodiscard]] bool may_hand_over(replica_id to) const;
  /// The first other member of the set to which it may hand over; one that was heard lately and is
  /// not avoided where there is one, itself when there is none at all.
  [[nodiscard]] replica_id
  next_primary(monotonic_time now, const std::set<replica_id>& avoided = {}) const;
  /// Gives up the epoch for good; `to` is asked to take over first.
  void hand_over(replica_id to);

  [[nodiscard]] replica_id id() const { return id_; }

  [[nodiscard]] const membership& value() const { return value_; }

  [[nodiscard]] const epoch_index& log() const { return log_; }

  [[nodiscard]] bool is_serving() const;

  /// The highest epoch that it has promised, or is about to.
  [[nodiscard]] epoch_number promised() const { return promising_; }

  [[nodiscard]] bool is_doubtful() const { return doubtful_; }

  [[nodiscard]] bool is_incomplete() const { return is_incomplete_; }

  /// The last delta of the shard that this replica knows of.
  [[nodiscard]] position latest() const { return leads_ ? leads_->sent() : log_.last(); }

  /// The last delta that a replica is known to have: this one, or one that has confirmed it.
  [[nodiscard]] std::optional<position> position_of(replica_id replica) const {
    if (replica == id_)
      return log_.last();
    return leads_ ? leads_->written_by(replica) : std::nullopt;
  }

  /// How long a replica has lacked the oldest delta that it has not confirmed. None unless this one
  /// is the primary and the other one has confirmed something.
  [[nodiscard]] std::optional<duration> lag_of(replica_id replica, monotonic_time now) const {
    return leads_ ? leads_->lag_of(replica, now) : std::nullopt;
  }

  [[nodiscard]] const primary_watch& primaries() const { return primaries_; }

private:
  struct election {
    std::uint64_t number = 0;
    monotonic_time began{};
    std::map<replica_id, answer> answers;
    /// The value that was proposed, once the members had their time to answer.
    std::optional<membership> proposed;
    monotonic_time asked{};
  };

  /// A recovery that was begun at a release, before the epoch that it is for.
  struct preparation {
    epoch_number epoch = 0;
    /// The state that it recovers.
    position last;
    timestamp shard_time{};
    bool is_done = false;
  };

  // Follower.
  bool enter(epoch_number epoch, replica_id from, monotonic_time now);
  void promise(epoch_number epoch, monotonic_time now);
  void on_append(const envelope& in, const append& what, monotonic_time now);
  void take(const entry& what, monotonic_time now);
  void write(const entry& what, monotonic_time now);
  /// Whether a write of the log, or of a promise, has not ended.
  [[nodiscard]] bool is_writing() const;
  [[nodiscard]] bool does_disk_hang(monotonic_time now) const;
  /// Gives up the epoch, if another member may lead the next one.
  void release_if_disk_hangs(monotonic_time now);
  void confirm_to(replica_id primary, std::uint64_t beacon);
  void on_copy_offer(const envelope& in, const copy_offer& what, monotonic_time now);
  void on_trust(const trust& what);
  void on_collect(const envelope& in, const collect& what, monotonic_time now);
  void learn(const membership& current, monotonic_time now);

  // Election.
  void suspect(monotonic_time now);
  /// Whether it has handed its epoch over, and the other one still has time to take over.
  [[nodiscard]] bool gives_way(monotonic_time now);
  void on_release(const release& what, monotonic_time now);
  /// Recovers the shard while the election goes on. @pre the epoch was released
  void prepare();
  void drop_preparation();
  void answer_question(const envelope& in, const question& what, monotonic_time now);
  void on_answer(const envelope& in, const answer& what, monotonic_time now);
  void decide_election(monotonic_time now);
  [[nodiscard]] std::optional<membership> choose(monotonic_time now) const;
  void take_over_if_chosen(monotonic_time now);

  // Primary.
  void step_down();
  void on_confirm(const envelope& in, const confirm& what, monotonic_time now);
  void on_collected(const envelope& in, const collected& what, monotonic_time now);
  void begin_epoch(monotonic_time now);
  /// The start of the epoch is on all members.
  void recover_started();
  /// Whether no earlier primary can be entitled any more.
  [[nodiscard]] bool has_waited(monotonic_time now) const;
  void beat_to(replica_id other, monotonic_time now);
  void stream_to(replica_id other, monotonic_time now);
  std::vector<entry> next_entries(replica_id other);
  /// As the port's `read_after`, but only what is in the own log.
  log_tail read_own(replica_id to, position after);
  void give_up(replica_id other);
  void commit(monotonic_time now);
  void lead(monotonic_time now);

  replica_port& port_;
  const replica_id id_;
  epoch_number promised_;
  /// The promise that is being written; nothing older is answered.
  epoch_number promising_;
  epoch_index log_;
  position written_;
  bool doubtful_;
  bool is_incomplete_;
  /// The copy that is taken or was taken last.
  copy_id copy_;
  membership value_;
  monotonic_time heard_;
  /// The primary that sent the last append, in the promised epoch.
  struct source {
    replica_id primary{};
    epoch_number epoch = 0;
    std::uint64_t beacon = 0;
  };
  source follows_;
  /// The latest one that a primary sent.
  timestamp shard_time_{};
  /// A beacon may have been confirmed at this time, at the latest.
  monotonic_time confirmed_beacon_;
  primary_watch primaries_;
  monotonic_time beat_{};
  /// Its writes of the log and of promises.
  disk_watch disk_;
  std::uint64_t questions_ = 0;
  std::optional<election> election_;
  std::optional<leadership> leads_;
  /// The epoch whose primary said that it answers nothing more.
  epoch_number released_ = 0;
  /// The latest own epoch that was handed over, and since when the other one has time to take over.
  epoch_number handed_over_ = 0;
  std::optional<monotonic_time> gives_way_since_;
  /// The own epoch that follows a release with others between, and so needs no wait.
  epoch_number without_wait_ = 0;
  std::optional<preparation> preparation_;
  /// The last delta before the start of the own epoch.
  position started_after_;
  /// Asked while the promise was being written; answered when it is.
  std::optional<envelope> collecting_;
};

} // namespace codeq::replication
