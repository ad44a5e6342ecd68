// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.hpp"
#include "coordinator/shard/turn_runner.hpp"
#include "fault/client_ledger.hpp"
#include "fault/random_commands.hpp"
#include "storage/retention/retention_filter.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/closed_keys.hpp"
#include "support/fault_file_system.hpp"
#include "support/temporary_directory.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {

/// Shards on a disk with faults, driven as the coordinator drives them: many turns are decided
/// ahead of the disk, the journal commits them in groups, and only then are their answers sent.
/// After a crash the shards are recovered and compared with a follower that applied exactly the
/// turns in the store, and with the answers that clients received.
class shard_rig {
public:
  static constexpr std::uint16_t shard_count = 3;

  /// At each commit of a group, at least this many requests are decided and not answered.
  static constexpr std::size_t in_flight_least = 64;

  shard_rig(std::uint64_t seed, storage::durability mode);

  [[nodiscard]] fault_file_system& disk() noexcept { return disk_; }

  [[nodiscard]] std::filesystem::path directory() const { return directory_.path() / "store"; }

  /// Opens the store, recovers the shards and compares them; does nothing when they run already.
  /// Differences are returned by `recover`. Errors: of the store, also when it cannot be read.
  [[nodiscard]] result<void> start();

  /// Commits groups until one fails. In `os` mode it syncs the log from time to time.
  [[nodiscard]] result<void> commit_groups(std::size_t groups);

  /// Cuts the power at that point once a group with a snapshot is committed.
  void cut_power_at_snapshot(const fault_point& point, cut_policy policy);

  /// Ends the process in order, with turns that were never committed.
  void close();

  /// Ends the process, removes all faults and starts again. Describes losses and differences; empty
  /// when there are none.
  [[nodiscard]] std::optional<std::string> recover();

  /// Losses and differences found by the starts since the last call; empty when there are none.
  [[nodiscard]] std::string differences() { return std::exchange(wrong_, {}); }

  /// Number of requests that were decided and not answered when the store last failed or was
  /// closed.
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_at_end_; }

  /// Number of groups that were acknowledged and then lost by the latest recovery; only `os` mode
  /// may lose any.
  [[nodiscard]] std::uint64_t groups_lost() const noexcept { return lost_; }

  /// Messages of the store at its latest opening.
  [[nodiscard]] const std::string& said() const noexcept { return said_; }

  /// Number of errors reported by RocksDB's background threads since the latest opening.
  [[nodiscard]] std::size_t background_errors() const { return *background_errors_; }

  [[nodiscard]] std::uint64_t answers_checked() const;

private:
  /// A turn that was decided and is not acknowledged yet.
  struct decided_turn {
    std::size_t shard = 0;
    std::uint64_t number = 0;
    std::size_t requests = 0;
    std::vector<core::event> events;
    std::shared_ptr<const storage::write_set> writes;
    std::shared_ptr<const storage::shard_horizon> horizon;
  };

  struct shard_at_work {
    std::unique_ptr<core::shard_state> state;
    std::unique_ptr<coordinator::turn_runner> turns;
    /// Commands from other shards.
    std::deque<core::command> inbox;
    /// Has applied every turn that is certainly in the store.
    std::unique_ptr<core::shard_state> follower;
    /// Key records of closed tasks.
    test::closed_keys closed_keys;
    random_commands commands;
    client_ledger ledger;
  };

  [[nodiscard]] result<void> open();
  [[nodiscard]] result<void> recover_shards(std::uint32_t epoch, std::uint64_t found);
  [[nodiscard]] result<void> compare(std::size_t index, std::uint64_t found);
  [[nodiscard]] result<void> connect(shard_at_work& s);
  void decide_ahead();
  void run_turn(std::size_t index);
  void decide(shard_at_work& s, const core::command& c);
  [[nodiscard]] result<void> commit_group();
  void acknowledge(std::vector<decided_turn> group);
  void hand_out(std::size_t index, const core::effect& e);
  [[nodiscard]] result<void> sync_log();
  void publish_horizons();
  [[nodiscard]] std::size_t count_in_flight() const;
  void end();

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  temporary_directory directory_{temporary_directory::in_memory()};
  fault_file_system disk_;
  storage::durability mode_;
  std::mt19937_64 random_;
  base::manual_clock clock_;
  std::vector<shard_at_work> shards_;
  std::shared_ptr<storage::retention_horizons> horizons_;
  std::vector<std::shared_ptr<const storage::shard_horizon>> unsynced_horizons_;
  std::unique_ptr<storage::task_store> store_;
  /// Decided, but not committed.
  std::deque<decided_turn> ahead_;
  /// Turns by the group in which they were written, since the last recovery.
  std::vector<std::pair<std::uint64_t, std::vector<decided_turn>>> written_;
  std::uint64_t made_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t synced_ = 0;
  /// Number of the last group that the next recovery must find.
  std::uint64_t must_survive_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t in_flight_at_end_ = 0;
  std::optional<std::pair<fault_point, cut_policy>> at_snapshot_;
  std::shared_ptr<std::atomic<std::size_t>> background_errors_ =
    std::make_shared<std::atomic<std::size_t>>(0);
  std::string said_;
  std::string wrong_;
};

} // namespace codeq::test
