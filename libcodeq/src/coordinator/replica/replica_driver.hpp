// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "coordinator/replica/copy_messages.hpp"
#include "coordinator/replica/delta_ring.hpp"
#include "coordinator/shard/shard_messages.hpp"
#include "replication/shard_replica.hpp"
#include "storage/replica/packed_writes.hpp"
#include "storage/replica/replica_store.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// The outside of a `replica_driver`. Calls return before they call the driver back.
class replica_host {
public:
  virtual ~replica_host() = default;

  /// To another replica of the shard; a message may be lost with its connection.
  virtual void send(replication::replica_id to, const replication::message& what) = 0;
  virtual void send(replication::replica_id to, const copy_message& what) = 0;

  /// Adds writes to the journal, in order; answered by `committed` with the number of the turn, and
  /// `settle`.
  virtual void gather(turn_commit turn) = 0;

  /// See `replication::replica_port`; answered by `etcd_answered`, or not at all.
  virtual void
  compare_and_set(const replication::membership& old, const replication::membership& next) = 0;

  /// Adds the delta to the spool.
  virtual void spool(const replication::entry& e) = 0;

  /// Reads the spool; answered by `spool_read`.
  virtual void read_spool(replication::replica_id to, replication::position after) = 0;

  /// See `storage::delta_spool::keep_from`.
  virtual void keep_spool(std::optional<std::uint64_t> from) = 0;

  /// Opens a view of the shard's data; answered by `copy_opened`.
  virtual void open_copy(const replication::copy_id& id) = 0;

  /// Reads the next part of an open copy; answered by `part_read`.
  virtual void read_part(const replication::copy_id& id) = 0;
  virtual void close_copy(const replication::copy_id& id) = 0;

  /// Reads the next removals of the shard's own data, which this copy replaces, as they were at the
  /// first call for it; answered by `removals_read`.
  virtual void read_removals(const replication::copy_id& id) = 0;

  /// Recovers the shard from the store; answered by `recovered` or `recovery_failed`. Replaces
  /// a recovery before it.
  virtual void recover(replication::epoch_number epoch, timestamp shard_time) = 0;
  virtual void drop_recovery() = 0;

  /// The recovered shard is served from now on, or is dropped with all that it has not committed.
  virtual void serve(replication::epoch_number epoch) = 0;
  virtual void stop_serving() = 0;

  /// All commits of the shard that is served, up to this number, are durable on all members.
  virtual void acknowledged(std::uint64_t number) = 0;

  /// The time of the shard that is served.
  [[nodiscard]] virtual timestamp shard_time() = 0;

  /// See `replication::replica_port`.
  [[nodiscard]] virtual bool reaches_etcd() const = 0;
};

struct replica_driver_options {
  shard_id shard{};
  /// As it is on disk.
  storage::stored_replica stored;
  /// The shard's value in etcd, as last known.
  replication::membership value;
  /// Counts the starts of this process.
  std::uint64_t incarnation = 0;
};

/// Connects a `shard_replica` with a store: turns deltas into writes of the journal, keeps the
/// latest ones for others, and sends and takes copies. One per shard and process, used by one
/// thread, which passes the time.
class replica_driver final : public replication::replica_port {
public:
  /// @pre `host` and `memory` outlive the driver
  replica_driver(
    replica_driver_options options, replica_host& host, ring_memory& memory, monotonic_time now);

  replica_driver(const replica_driver&) = delete;
  replica_driver& operator=(const replica_driver&) = delete;
  ~replica_driver() override = default;

  // From the shard that is served.

  /// Proposes a turn; `acknowledged` follows. Returns false, and drops it, when the shard is not
  /// served any more.
  bool propose(turn_commit turn, monotonic_time now);

  [[nodiscard]] bool accepts_writes() const { return replica_.accepts_writes(); }

  [[nodiscard]] bool may_answer(monotonic_time now) const { return replica_.may_answer(now); }

  // From the host.

  void receive(const replication::envelope& from, monotonic_time now);
  void receive(replication::replica_id from, const copy_message& what, monotonic_time now);

  /// The journal has committed everything up to this number. Several calls may come before one of
  /// `settle`, which reports them to the replicas at once.
  void committed(std::uint64_t number) { committed_ = number; }

  void settle(monotonic_time now);

  /// Called at least every 50 ms.
  void tick(monotonic_time now);
  void etcd_answered(const replication::membership& current, bool applied, monotonic_time now);
  void spool_read(
    replication::replica_id to,
    replication::position after,
    std::vector<replication::entry> entries,
    monotonic_time now);
  void copy_opened(const replication::copy_id& id, result<replication::epoch_index> log);
  void part_read(const replication::copy_id& id, result<std::string> packed);
  /// Without removals none are left.
  void removals_read(const replication::copy_id& id, result<storage::write_set> removals);
  void recovered(replication::epoch_number epoch, monotonic_time now);
  void recovery_failed(monotonic_time now);

  /// See `replication::shard_replica`.
  void note_gone(replication::replica_id replica, monotonic_time now);

  /// Gives up the epoch for good; `to` is asked to take over first.
  void hand_over(replication::replica_id to) { replica_.hand_over(to); }

  [[nodiscard]] const replication::shard_replica& replica() const { return replica_; }

  // Port.

  void send(replication::replica_id to, const replication::message& what) override;
  void save_promise(replication::epoch_number epoch) override;
  void write(const replication::entry& what) override;
  void clear_doubt() override;
  replication::log_tail
  read_after(replication::replica_id to, replication::position after) override;
  void begin_copy(replication::replica_id to, replication::epoch_number epoch) override;
  void take_copy(replication::replica_id from, const replication::copy_offer& what) override;
  void compare_and_set(
    const replication::membership& old, const replication::membership& next) override;
  void acknowledge(replication::position at) override;
  void recover(replication::epoch_number epoch, timestamp shard_time) override;
  void drop_recovery() override;
  timestamp shard_time() override;
  void serve(replication::epoch_number epoch) override;
  void stop_serving() override;

  [[nodiscard]] bool reaches_etcd() const override { return host_.reaches_etcd(); }

private:
  /// Writes that the journal has got.
  struct submitted {
    enum class kind : std::uint8_t { delta, promise, mark, copy_clear, copy_part, copy_end };

    std::uint64_t number = 0;
    kind what = kind::mark;
    /// Of a delta; of a promise its epoch.
    replication::position at{};
    /// Of a copy.
    replication::copy_id copy{};
    std::uint32_t part = 0;
  };

  /// A turn of the shard that is being written.
  struct written_turn {
    replication::position at;
    std::uint64_t number = 0;
  };

  struct outgoing_copy {
    replication::copy_id id;
    replication::epoch_number epoch = 0;
    std::uint32_t parts_read = 0;
    std::uint32_t parts_sent = 0;
    std::uint32_t parts_written = 0;
    /// Parts that were sent and may be lost; at most `bounds::copy_parts_ahead`.
    std::deque<copy_part> missing{};
    bool is_offered = false;
    bool has_ended = false;
    /// Whether the taker has removed its own data, and the number of its parts or steps.
    std::pair<bool, std::uint32_t> progress{};
    /// The time of the latest progress.
    monotonic_time heard{};
    /// When the latest question was sent.
    monotonic_time asked{};
  };

  struct incoming_copy {
    replication::copy_id id;
    replication::replica_id from{};
    replication::epoch_index log;
    std::uint32_t next_part = 1;
    std::uint32_t parts_written = 0;
    std::uint32_t clearing_steps = 0;
    /// The own data are removed.
    bool is_cleared = false;
  };

  /// The deltas after the state that a replica was sent as a copy: the spool keeps them until the
  /// replica has them or is silent.
  struct kept_tail {
    replication::position after;
    monotonic_time heard{};
  };

  struct spooled_tail {
    replication::position after;
    std::vector<replication::entry> entries;
    bool is_read = false;
  };

  /// The body of a turn, which tells the others the horizon if its bytes are paid for by now.
  [[nodiscard]] std::shared_ptr<const storage::packed_writes> body_of(turn_commit turn);
  void submit(submitted what, turn_commit turn);
  void submit_record(submitted what);
  void report(const submitted& what, monotonic_time now);
  void on_part(const copy_part& what);
  void on_question(replication::replica_id from, const copy_question& what);
  void on_answer(replication::replica_id from, const copy_answer& what);
  void note_arrived(replication::replica_id at, outgoing_copy& copy, const copy_answer& what);
  void read_parts(outgoing_copy& copy);
  /// Asks the takers that have not answered for a while, and gives up the copies that get on with
  /// nothing.
  void tend_copies();
  void end_copy(replication::replica_id to);
  void note_heard(replication::replica_id from);
  void drop_silent_tails();
  /// Tells the spool from where on it has to keep deltas, if that has changed.
  void keep_tails();
  [[nodiscard]] std::map<replication::replica_id, outgoing_copy>::iterator
  find_copy(const replication::copy_id& id);

  shard_id shard_;
  replica_host& host_;
  std::uint64_t incarnation_;
  storage::replica_record record_;
  /// The history as far as it was submitted to the journal.
  replication::epoch_index log_;
  delta_ring ring_;
  monotonic_time now_;
  std::uint64_t submitted_number_ = 0;
  std::uint64_t committed_ = 0;
  std::deque<submitted> submitted_;
  /// Turns of the shard that are proposed and not written.
  std::deque<std::uint64_t> proposed_;
  std::deque<written_turn> written_turns_;
  std::map<replication::replica_id, spooled_tail> tails_;
  std::map<replication::replica_id, kept_tail> kept_tails_;
  std::optional<std::uint64_t> kept_from_;
  /// From then on the others are told the next horizon.
  monotonic_time horizon_due_{};
  std::uint64_t copies_ = 0;
  std::map<replication::replica_id, outgoing_copy> outgoing_;
  std::optional<incoming_copy> incoming_;
  /// The latest copy that was taken and is whole.
  replication::copy_id whole_copy_;
  replication::shard_replica replica_;
};

} // namespace codeq::coordinator
