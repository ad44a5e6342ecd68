// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/result.hpp"
#include "codeq/time.hpp"

#include "coordinator/replica/copy_messages.hpp"
#include "coordinator/replica/copy_sender.hpp"
#include "coordinator/replica/delta_ring.hpp"
#include "coordinator/replica/replica_host.hpp"
#include "coordinator/replica/spool_keeper.hpp"
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

  void receive(const replication::envelope& in, monotonic_time now);
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
  [[nodiscard]] bool takes_copies() const override { return host_.takes_copies(); }

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

  shard_id shard_;
  replica_host& host_;
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
  spool_keeper kept_;
  /// From then on the others are told the next horizon.
  monotonic_time horizon_due_{};
  copy_sender copies_;
  std::optional<incoming_copy> incoming_;
  /// The latest copy that was taken and is whole.
  replication::copy_id whole_copy_;
  replication::shard_replica replica_;
};

} // namespace codeq::coordinator
