// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster/cluster_timing.hpp"
#include "cluster/member.hpp"
#include "cluster/record_json.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::cluster {

using namespace std::chrono_literals;
using replication::replica_id;

/// Keeps what a member asks for.
struct recorded_port : member_port {
  struct decision {
    std::uint64_t number;
    etcd::swap what;
  };

  void decide(std::uint64_t number, const etcd::swap& what) override {
    decisions.push_back({number, what});
  }

  void read(const etcd::key_range& what) override { reads.push_back(what); }

  void grant(duration) override { ++grants; }

  void keep_alive(std::uint64_t lease) override { kept.push_back(lease); }

  void revoke(std::uint64_t lease) override { revoked = lease; }

  void note_poll(std::uint64_t) override {}

  void shard_told(shard_id, const shard_record& record, bool is_applied) override {
    told.emplace_back(record.value.version, is_applied);
  }

  void build_replica(shard_id shard) override { built.push_back(shard); }

  void drop_replica(shard_id, replica_id replica) override { dropped.push_back(replica); }

  void hand_over(shard_id, replica_id to) override { handed_to.push_back(to); }

  void map_changed() override { ++map_changes; }

  void store_format_told(std::uint32_t format) override { store_format = format; }

  void must_end(const std::string& words) override { end = words; }

  void needs_repair(const std::string& words) override { repair = words; }

  void note_record(const std::string& words) override { notes.push_back(words); }

  std::deque<decision> decisions;
  std::vector<etcd::key_range> reads;
  int grants = 0;
  std::vector<std::uint64_t> kept;
  std::uint64_t revoked = 0;
  std::vector<std::pair<std::uint64_t, bool>> told;
  std::uint32_t store_format = 0;
  std::vector<shard_id> built;
  std::vector<replica_id> dropped;
  std::vector<replica_id> handed_to;
  int map_changes = 0;
  std::string end;
  std::string repair;
  std::vector<std::string> notes;
};

inline constexpr shard_id s0{0};

/// Node `a` of a cluster with one shard, whose etcd is this fixture.
class MemberTest : public testing::Test {
protected:
  explicit MemberTest(member_options made = options())
    : member_(std::move(made), port_, now_) {
  }

  static member_options options() {
    member_options made;
    made.cluster = "c";
    made.node = "a";
    made.self.incarnation = 1;
    made.self.address = "a:1";
    made.self.free_bytes = 1ull << 40;
    return made;
  }

  static shard_record shard_of(std::uint64_t version) {
    shard_record shard;
    shard.value.version = version;
    shard.value.epoch = 1;
    shard.value.primary = replica_id{1};
    shard.value.in_sync = shard.value.replicas = {replica_id{1}, replica_id{2}};
    shard.nodes = {{replica_id{1}, "a"}, {replica_id{2}, "b"}};
    shard.wanted = {"a", "b"};
    return shard;
  }

  void advance(duration by) {
    for (auto end = now_ + by; now_ < end;) {
      now_ += 50ms;
      member_.tick(now_);
    }
  }

  void put(const std::string& key, const std::string& value) {
    etcd_[key] = {value, ++revision_};
  }

  /// Answers the last read.
  void answer_poll() {
    etcd::range_answer all;
    all.at = {7, revision_};
    const auto since = port_.reads.back().modified_since;
    for (const auto& [key, value] : etcd_) {
      ++all.count;
      if (value.second >= since)
        all.found.push_back({key, value.first, value.second});
    }
    member_.polled(all, now_);
  }

  /// Decides the oldest swap as etcd would.
  void decide() {
    ASSERT_FALSE(port_.decisions.empty());
    const auto one = port_.decisions.front();
    port_.decisions.pop_front();
    const auto found = etcd_.find(one.what.key);
    auto current = found == etcd_.end() ? std::nullopt : std::optional(found->second.first);
    etcd::swap_answer how{etcd::swap_end::not_applied, current, revision_, ""};
    if (current == one.what.expected) {
      put(one.what.key, *one.what.next);
      how = {etcd::swap_end::applied, one.what.next, revision_, ""};
    }
    member_.decided(one.number, how, now_);
  }

  /// Decides the oldest swap of the shard's record, and all before it.
  void decide_shard() {
    while (!port_.decisions.empty() && port_.decisions.front().what.key != keys_.shard(s0))
      decide();
    decide();
  }

  /// Asks for an operator's change; what is told is returned once it is there.
  std::shared_ptr<std::optional<change_end>>
  ask(const cluster_change& change, const std::optional<own_copy>& own = std::nullopt) {
    auto told = std::make_shared<std::optional<change_end>>();
    member_.change(change, own, [told](const change_end& end) { *told = end; }, now_);
    return told;
  }

  /// Ends the oldest swap as etcd does that does not answer, or cannot be reached; `is_stored`: it
  /// has stored it all the same.
  void leave_open(etcd::swap_end end, bool is_stored = false) {
    const auto one = port_.decisions.front();
    port_.decisions.pop_front();
    if (is_stored)
      put(one.what.key, *one.what.next);
    member_.decided(one.number, {end, std::nullopt, revision_, "no answer"}, now_);
  }

  /// Has another one change a shard's record first.
  template <class Change>
  void interfere(Change change) {
    auto shard = decode<shard_record>(etcd_.at(keys_.shard(s0)).first).value();
    ++shard.value.version;
    change(shard);
    put(keys_.shard(s0), encode(shard));
  }

  [[nodiscard]] shard_record stored_shard() const {
    return decode<shard_record>(etcd_.at(keys_.shard(s0)).first).value();
  }

  void join() {
    put(keys_.cluster(), encode(cluster_record{1, 5, 1, 2, 1, 1, 1, {}, {}}));
    put(keys_.shard(s0), encode(shard_of(1)));
    member_.holds(s0, replica_id{1});
    advance(50ms);
    answer_poll();
    member_.granted(etcd::lease_answer{{7, revision_}, 33, 5s}, now_);
    decide();
    ASSERT_TRUE(member_.is_registered());
    port_.decisions.clear();
  }

  /// The same with node `b`, which is there, too.
  void join_with_b() {
    put(
      keys_.node("b"), encode(node_record{1, 9, "b:1", "b:2", "", 0, 0, 1, false, false, {}}));
    join();
  }

  recorded_port port_;
  monotonic_time now_{duration{1'000'000}};
  member member_;
  catalogue_keys keys_{"c"};
  std::map<std::string, std::pair<std::string, std::uint64_t>> etcd_;
  std::uint64_t revision_ = 1;
};

} // namespace codeq::cluster
