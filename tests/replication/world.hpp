// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replication/node.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

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

/// Three coordinators with one replica each, etcd, and the network between them.
class world final : public surroundings {
public:
  explicit world(std::uint64_t seed);
  ~world() override;

  /// Runs load and faults, heals everything, and checks that the shard serves again. Returns the
  /// violation, or nothing.
  std::string run();

  [[nodiscard]] const auditor& audit() const { return audit_; }

  // Surroundings of the nodes.
  auditor& audit_of(const node&) override { return audit_; }

  [[nodiscard]] bool is_os() const override { return scenario_.is_os; }

  void send(const node& from, replica_id to, envelope what) override;
  void compare_and_set(
    const node& from, const membership& old, const membership& next) override;
  void ended(const node& gone) override;
  void served(const node&) override { check_answers(); }

  void acknowledged(const node&, position at) override {
    audit_.acknowledges(at.epoch, at);
  }

private:
  void answer(std::size_t to, membership current, bool applied);
  void poll(std::size_t index);
  void make_load();
  void make_fault();
  void disturb(std::size_t index);
  void crash(std::size_t index, span length);
  void isolate(std::size_t index, span length);
  void heal();
  void check_answers();

  scenario scenario_;
  auditor audit_;
  std::array<std::unique_ptr<node>, nodes_count> nodes_;
  /// Whether messages from one node reach another.
  std::array<std::array<bool, nodes_count>, nodes_count> is_cut_{};
  std::array<bool, nodes_count> is_etcd_cut_{};
  std::vector<membership> values_;
  std::uint64_t deltas_ = 0;
  bool is_healed_ = false;
};

} // namespace codeq::replication::sim
