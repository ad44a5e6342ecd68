// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/auditor.hpp"
#include "replication/shard_replica.hpp"
#include "replication/timeline.hpp"
#include "sim/chance.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::replication::sim {

/// A delta of the simulation.
class text_body final : public delta_body {
public:
  explicit text_body(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] std::size_t byte_size() const override { return text_.size(); }

private:
  std::string text_;
};

class node;

/// The time, chance and network that all nodes of a simulation use.
class surroundings {
public:
  explicit surroundings(std::uint64_t seed) : random_(seed) {}

  virtual ~surroundings() = default;
  surroundings(const surroundings&) = delete;
  surroundings& operator=(const surroundings&) = delete;

  [[nodiscard]] timeline& time() { return time_; }

  [[nodiscard]] codeq::sim::chance& random() { return random_; }

  /// The data of copies that were offered.
  [[nodiscard]] std::map<copy_id, std::vector<entry>>& copies() { return copies_; }

  void note(const std::string& line) {
    lines_.push_back(std::to_string(time_.now().count() / 1000) + " ms: " + line);
  }

  /// The last lines of what happened.
  [[nodiscard]] std::string story() const;

  /// Who judges what a node does.
  virtual auditor& audit_of(const node& whose) = 0;
  /// Whether writes are confirmed before they are synced.
  [[nodiscard]] virtual bool is_os() const = 0;
  virtual void send(const node& from, replica_id to, envelope what) = 0;
  virtual void
  compare_and_set(const node& from, const membership& old, const membership& next) = 0;
  /// The node's process has ended, which others may see.
  virtual void ended(const node& gone) = 0;
  /// The node has begun to serve.
  virtual void served(const node& by) = 0;
  virtual void acknowledged(const node& by, position at) = 0;

protected:
  timeline time_;
  codeq::sim::chance random_;

private:
  std::map<copy_id, std::vector<entry>> copies_;
  std::vector<std::string> lines_;
};

/// The options of a new node.
struct node_start {
  replica_id id{};
  /// In the lines of the story.
  std::string name;
  /// How fast its clock runs.
  double rate = 1;
  /// The shard's value, as last known.
  membership value;
  /// It has no data yet.
  bool is_new = false;
  /// A copy is synced before it counts as complete, as the driver of a replica does; else it may be
  /// lost for a while after that.
  bool syncs_copies = false;
};

/// One replica of a coordinator: its process, its clock and its disk.
class node final : public replica_port {
public:
  node(surroundings& world, node_start from);

  void start();
  void kill();
  void cut_power();
  /// The replica is given up: its process ends, which nobody sees.
  void drop();
  /// The shard's value as etcd tells it before a start. @pre it is not up
  void learn(const membership& value) { value_ = value; }
  void pause(span length);
  void hang_disk(span length) {
    disk_free_ = std::max(disk_free_, world_.time().now() + length);
  }

  /// Runs something of this process when it runs; nothing when it was killed in between.
  void run(span delay, std::function<void(shard_replica&, monotonic_time)> what);

  [[nodiscard]] bool is_up() const { return process_ != nullptr; }

  [[nodiscard]] shard_replica& process() { return *process_; }

  [[nodiscard]] monotonic_time now() const;

  [[nodiscard]] const std::vector<entry>& log() const { return log_; }

  /// Whether a delta is on the disk.
  [[nodiscard]] bool holds(position at) const {
    return at.number <= written_ && log_[at.number - 1].at == at;
  }

  [[nodiscard]] replica_id id() const { return id_; }

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] epoch_number promised() const { return promised_; }

  [[nodiscard]] bool is_doubtful() const { return is_doubtful_; }

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

  [[nodiscard]] bool reaches_etcd() const override { return true; }

  void serve(epoch_number epoch) override;
  void stop_serving() override;

private:
  /// When the next write is through.
  span next_write();
  void sync_log();
  void tick();
  void clear_log(const copy_id& copy);
  void fill_log(const copy_id& copy);

  surroundings& world_;
  replica_id id_;
  std::string name_;
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
  bool syncs_copies_;
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
