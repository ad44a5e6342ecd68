// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/auditor.hpp"
#include "replication/shard_replica.hpp"
#include "replication/timeline.hpp"
#include "sim/chance.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace codeq::replication::sim {

inline constexpr std::size_t nodes_count = 3;

/// How a run behaves, all from its seed.
struct scenario {
  explicit scenario(std::uint64_t seed);

  std::uint64_t seed;
  /// Whether writes are confirmed before they are synced, and power cuts lose the last second.
  bool is_os;
  bool has_power_cuts;
  std::uint64_t loss_permille;
  std::uint64_t late_permille;
  std::uint64_t double_permille;
  std::uint64_t unknown_permille;
  std::uint64_t stale_permille;
  /// Upper bound of the pause between two faults.
  std::int64_t fault_pause_ms;
};

/// A delta of the simulation.
class text_body final : public delta_body {
public:
  explicit text_body(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] std::size_t byte_size() const override { return text_.size(); }

private:
  std::string text_;
};

class node;

/// Three coordinators with one replica each, etcd, and the network between them.
class world {
public:
  explicit world(std::uint64_t seed);
  ~world();

  /// Runs load and faults, heals everything, and checks that the shard serves again. Returns the
  /// violation, or nothing.
  std::string run();

  [[nodiscard]] const auditor& audit() const { return audit_; }

  /// The last lines of what happened.
  [[nodiscard]] std::string story() const;

private:
  friend class node;

  void send(std::size_t from, replica_id to, envelope what);
  void compare_and_set(std::size_t from, membership old, membership next);
  void answer(std::size_t to, membership current, bool applied);
  void poll(std::size_t index);
  void make_load();
  void make_fault();
  void disturb(std::size_t index);
  void crash(std::size_t index, span length);
  void isolate(std::size_t index, span length);
  void heal();
  /// Others may see that the process has ended.
  void tell_end(std::size_t index);
  void check_answers();
  void note(const std::string& line);

  scenario scenario_;
  codeq::sim::chance random_;
  timeline time_;
  auditor audit_;
  std::array<std::unique_ptr<node>, nodes_count> nodes_;
  /// Whether messages from one node reach another.
  std::array<std::array<bool, nodes_count>, nodes_count> is_cut_{};
  std::array<bool, nodes_count> is_etcd_cut_{};
  std::vector<membership> values_;
  /// The data of copies that were offered.
  std::map<copy_id, std::vector<entry>> copies_;
  std::uint64_t deltas_ = 0;
  bool is_healed_ = false;
  std::vector<std::string> lines_;
};

/// A coordinator's process, its clock and its disk.
class node final : public replica_port {
public:
  node(world& world, std::size_t index, double rate, membership value);

  void start();
  void kill();
  void cut_power();
  void pause(span length);
  void hang_disk(span length) {
    disk_free_ = std::max(disk_free_, world_.time_.now() + length);
  }

  /// Runs something of this process when it runs; nothing when it was killed in between.
  void run(span delay, std::function<void(shard_replica&, monotonic_time)> what);

  [[nodiscard]] bool is_up() const { return process_ != nullptr; }

  [[nodiscard]] shard_replica& process() { return *process_; }

  [[nodiscard]] monotonic_time now() const;

  [[nodiscard]] const std::vector<entry>& log() const { return log_; }

  [[nodiscard]] replica_id id() const { return id_; }

  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }

  // Port.
  void send(replica_id to, const message& what) override;
  void save_promise(epoch_number epoch) override;
  void write(const entry& what) override;
  void clear_doubt() override;
  log_tail read_after(replica_id to, position after) override;
  void begin_copy(replica_id to, epoch_number epoch) override;
  void take_copy(replica_id from, const copy_offer& what) override;
  void compare_and_set(const membership& old, const membership& next) override;
  void acknowledge(position at) override;
  void recover(epoch_number epoch, timestamp shard_time) override;
  void drop_recovery() override;

  timestamp shard_time() override { return {}; }

  void serve(epoch_number epoch) override;
  void stop_serving() override;

private:
  /// When the next write is through.
  span next_write();
  void sync_log();
  void tick();
  void clear_log(const copy_id& copy);
  void fill_log(const copy_id& copy);

  world& world_;
  std::size_t index_;
  replica_id id_;
  double rate_;
  std::unique_ptr<shard_replica> process_;
  std::uint64_t incarnation_ = 0;
  span paused_until_{};
  span disk_free_{};
  // Disk and the writes that are under way.
  std::vector<entry> log_;
  std::size_t written_ = 0;
  std::size_t synced_ = 0;
  epoch_number promised_ = 1;
  bool is_doubtful_ = false;
  /// Whether the log is a part of a copy, now and as it was last synced.
  bool is_incomplete_ = false;
  bool is_incomplete_synced_ = false;
  membership value_;
  // The process.
  std::uint64_t copies_ = 0;
  copy_id taken_;
  std::uint64_t recoveries_ = 0;
  /// The last recovery: the epoch that it is for, and the last delta of its state.
  struct recovered_state {
    epoch_number epoch = 0;
    position last;
  };
  recovered_state recovered_;
  /// Deltas up to these numbers are kept neither in memory nor in the spool, or not in memory.
  std::size_t spool_begin_ = 0;
  std::size_t ring_begin_ = 0;
  std::set<std::pair<replica_id, position>> tails_read_;
};

} // namespace codeq::replication::sim
