// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"

#include "etcd/messages.hpp"
#include "replication/timeline.hpp"
#include "sim/chance.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace codeq::test {

/// How often etcd and the way to it misbehave, each of 1,000.
struct etcd_faults {
  /// A request is lost; a copy to another member is answered 300 ms later.
  std::uint64_t lost_requests = 0;
  /// An answer is lost; the copy finds that the request was applied.
  std::uint64_t lost_answers = 0;
  /// No copy is answered either: the outcome is unknown.
  std::uint64_t unknown = 0;
  /// A read tells an earlier state.
  std::uint64_t stale_reads = 0;
  /// A lease that has ended is said to be kept.
  std::uint64_t false_keep_alives = 0;
  /// A lease ends although it is kept.
  std::uint64_t early_ends = 0;
  /// A watch loses a change, tells it late, twice, or tells an earlier one again.
  std::uint64_t lost_changes = 0;
  std::uint64_t late_changes = 0;
  std::uint64_t doubled_changes = 0;
  std::uint64_t rewound_changes = 0;
};

/// etcd in virtual time, with the defects that the real one is known to have. Decisions are exact:
/// those are what it promises.
class fake_etcd {
public:
  using span = replication::sim::span;

  fake_etcd(replication::sim::timeline& time, std::uint64_t seed);

  void set_faults(const etcd_faults& faults) { faults_ = faults; }

  /// A client cannot reach etcd while it is cut. Numbers are chosen by the caller.
  void cut(std::size_t client, bool is_cut);

  // Questions of a client. Each is answered once, or never when the client was cut meanwhile.

  void decide(
    std::size_t client, etcd::swap what, std::function<void(const etcd::swap_answer&)> done);
  void read(
    std::size_t client,
    etcd::key_range what,
    std::function<void(const result<etcd::range_answer>&)> done);
  void grant(
    std::size_t client,
    duration length,
    std::function<void(const result<etcd::lease_answer>&)> done);
  void keep_alive(
    std::size_t client,
    std::uint64_t lease,
    std::function<void(const result<etcd::lease_answer>&)> done);
  void revoke(std::uint64_t lease) { end_lease(lease); }

  /// Tells all later changes of a range.
  void watch(
    std::size_t client,
    etcd::key_range what,
    std::function<void(const etcd::watch_line&)> changed);

  /// Tells all later changes at once and without faults: to whoever judges a run.
  void observe(std::function<void(const etcd::entry&)> changed) { observer_ = std::move(changed); }

  [[nodiscard]] bool is_cut(std::size_t client) const { return cut_.contains(client); }

  /// Without delay and faults.
  etcd::decision apply(const etcd::swap& what);
  [[nodiscard]] etcd::range_answer list(const etcd::key_range& what) const;

  [[nodiscard]] std::uint64_t revision() const { return changes_.size() + 1; }

  struct counts {
    /// Decisions that changed a value, and that did not.
    std::uint64_t writes = 0;
    std::uint64_t refused = 0;
    std::uint64_t reads = 0;
    std::uint64_t leases = 0;
    std::uint64_t keep_alives = 0;
  };

  [[nodiscard]] const counts& counted() const { return counts_; }

private:
  struct key_state {
    std::string value;
    std::uint64_t modified = 0;
    std::uint64_t lease = 0;
  };

  struct lease_state {
    duration length{};
    span ends{};
    std::set<std::string> keys;
  };

  struct watcher {
    std::size_t client;
    etcd::key_range what;
    std::function<void(const etcd::watch_line&)> changed;
  };

  void change(const std::string& key, std::optional<std::string> value, std::uint64_t lease);
  void tell(const etcd::entry& changed);
  void tell_one(const watcher& to, const etcd::entry& changed);
  void end_lease(std::uint64_t lease);
  void check_lease(std::uint64_t lease);
  /// Runs something unless the client is cut.
  void after(std::size_t client, span delay, std::function<void()> run);
  [[nodiscard]] span delay();

  replication::sim::timeline& time_;
  sim::chance random_;
  etcd_faults faults_;
  counts counts_;
  std::map<std::string, key_state> keys_;
  std::map<std::uint64_t, lease_state> leases_;
  /// All changes, oldest first; the revision of the first one is 2.
  std::vector<etcd::entry> changes_;
  std::vector<watcher> watchers_;
  std::function<void(const etcd::entry&)> observer_;
  std::set<std::size_t> cut_;
  std::uint64_t next_lease_ = 1;
};

} // namespace codeq::test
