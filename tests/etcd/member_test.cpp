// SPDX-License-Identifier: Apache-2.0
// Members of a cluster and a real etcd.
#include "cluster/founding.hpp"
#include "cluster/member_driver.hpp"
#include "support/channel.hpp"
#include "support/etcd_cluster.hpp"

#include <gtest/gtest.h>

#include <future>
#include <mutex>

namespace codeq::cluster {
namespace {

using namespace std::chrono_literals;
using replication::replica_id;

constexpr std::uint16_t shards = 4;

/// The host of one node's driver. Instead of replicas that catch up and elect each other, primaries
/// serve, add learners and are replaced at once.
class node {
public:
  node(test::etcd_cluster& etcd, const std::string& name, std::uint64_t incarnation = 1)
    : name_(name) {
    member_options options;
    options.cluster = "c";
    options.node = name;
    options.self.incarnation = incarnation;
    options.self.address = name + ":1";
    options.self.free_bytes = 1ull << 40;
    member_events events;
    events.shard_told = [this](shard_id shard, const shard_record& record, bool) {
      std::lock_guard guard(mutex_);
      records_[shard] = record;
      act_as_primary(shard, record);
      news_.push(0);
    };
    events.build_replica = [this](shard_id shard) { build(shard); };
    events.drop_replica = [](shard_id, replica_id) {};
    events.hand_over = [this](shard_id shard, replica_id to) {
      std::lock_guard guard(mutex_);
      const auto& value = records_.at(shard).value;
      driver_->compare_and_set(
        shard, value, replication::elect(value, to, value.in_sync, value.epoch + 1));
    };
    events.map_changed = [this](const cluster_map& map) {
      std::lock_guard guard(mutex_);
      map_ = map;
      news_.push(0);
    };
    events.must_end = [this](const std::string& words) { ends.push(words); };
    events.needs_repair = [](const std::string& words) { ADD_FAILURE() << words; };
    events.noted = [](const std::string&) {};
    std::lock_guard guard(mutex_);
    driver_.emplace(
      etcd::client::options{etcd::parse_member_urls(etcd.urls()).value()},
      std::move(options),
      std::move(events));
  }

  /// Waits until something holds; it is looked at after each piece of news.
  template <class Condition>
  [[nodiscard]] bool wait_until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + 15s;
    while (std::chrono::steady_clock::now() < end) {
      {
        std::lock_guard guard(mutex_);
        if (holds(records_, map_))
          return true;
        // A change is not made while another one of the same shard is under way.
        for (const auto& [shard, record] : records_)
          act_as_primary(shard, record);
      }
      (void)news_.pop(1s);
    }
    return false;
  }

  /// Looks at the member until something holds.
  [[nodiscard]] bool wait_for(std::function<bool(const member&)> holds) {
    const auto end = std::chrono::steady_clock::now() + 15s;
    while (std::chrono::steady_clock::now() < end) {
      std::promise<bool> seen;
      driver_->look([&](const member& self) { seen.set_value(holds(self)); });
      if (seen.get_future().get())
        return true;
      (void)news_.pop(20ms);
    }
    return false;
  }

  void end() {
    std::promise<void> ended;
    driver_->end([&] { ended.set_value(); });
    ended.get_future().get();
  }

  member_driver& driver() { return *driver_; }

  test::channel<std::string> ends;

private:
  void build(shard_id shard) {
    // Its place in the shard tells the replica of one node from those of others.
    const auto id = (codeq::value(shard) + 1) * 100u + static_cast<unsigned char>(name_[0]);
    std::lock_guard guard(mutex_);
    if (driver_)
      driver_->replica_built(shard, replica_id{id});
  }

  /// @pre the mutex is held
  void act_as_primary(shard_id shard, const shard_record& record) {
    if (!driver_ || node_of(record, record.value.primary) != name_)
      return;
    // Only then does the member remove copies that are not wanted any more.
    driver_->serves(shard, record.value.epoch);
    const auto missing = learners(record);
    if (!missing.empty())
      driver_->compare_and_set(
        shard, record.value, replication::add_member(record.value, missing.front()));
  }

  std::string name_;
  std::mutex mutex_;
  std::map<shard_id, shard_record> records_;
  cluster_map map_;
  test::channel<int> news_;
  // Ends first: its thread calls this node.
  std::optional<member_driver> driver_;
};

/// A new cluster, whose shards are all on node `a`.
class MemberWithEtcd : public testing::Test {
protected:
  void SetUp() override {
    const catalogue_keys keys("c");
    ASSERT_EQ(found(founding_swap(keys, cluster_)), etcd::swap_end::applied)
      << "etcd cannot be started:\n"
      << etcd_.log();
    for (std::uint16_t i = 0; i < shards; ++i) {
      auto record = first_record(cluster_, {replica_id{i + 1u}, "a"});
      ASSERT_EQ(found(founding_swap(keys, shard_id{i}, record)), etcd::swap_end::applied);
    }
  }

  etcd::swap_end found(const etcd::swap& what) {
    auto end = etcd::swap_end::unknown;
    for (int i = 0; i < 10 && end != etcd::swap_end::applied; ++i)
      end = decide(what).end;
    return end;
  }

  etcd::swap_answer decide(const etcd::swap& what) {
    std::promise<etcd::swap_answer> answer;
    client_.decide(what, [&](const etcd::swap_answer& made) { answer.set_value(made); });
    return answer.get_future().get();
  }

  const cluster_record cluster_{1, 5, shards, 2, 1, 1, 1, {}, {}};
  test::etcd_cluster etcd_{1};
  etcd::client client_{{etcd::parse_member_urls(etcd_.urls()).value()}};
};

bool has_two_copies_each(
  const std::map<shard_id, shard_record>& records, const cluster_map& map) {
  if (records.size() != shards || map.whole().items.size() != shards)
    return false;
  return std::all_of(records.begin(), records.end(), [](const auto& one) {
    return one.second.value.in_sync.size() == 2 && one.second.wanted.size() == 2;
  });
}

TEST_F(MemberWithEtcd, NodesFindEachOtherAndCopiesAreSpread) {
  node a(etcd_, "a");
  for (std::uint16_t i = 0; i < shards; ++i)
    a.driver().holds(shard_id{i}, replica_id{i + 1u});
  node b(etcd_, "b");
  node c(etcd_, "c");

  EXPECT_TRUE(a.wait_until(has_two_copies_each));
  EXPECT_TRUE(b.wait_until(has_two_copies_each));
  EXPECT_TRUE(c.wait_until(has_two_copies_each));

  int controllers = 0;
  for (auto* one : {&a, &b, &c})
    controllers += one->wait_for([](const member& self) { return self.is_registered(); })
                   && one->wait_for([](const member& self) {
                        return self.known().controller().has_value();
                      });
  EXPECT_EQ(controllers, 3);
  c.end();
  const auto has_gone = [](const member& self) { return !self.known().nodes().contains("c"); };
  EXPECT_TRUE(a.wait_for(has_gone)) << "its lease was given up";
}

TEST_F(MemberWithEtcd, CopiesMoveToNodeThatJoinsLater) {
  node a(etcd_, "a");
  for (std::uint16_t i = 0; i < shards; ++i)
    a.driver().holds(shard_id{i}, replica_id{i + 1u});
  node b(etcd_, "b");
  ASSERT_TRUE(a.wait_until(has_two_copies_each));

  node c(etcd_, "c");
  const auto c_has_copies = [](const auto& records, const cluster_map& map) {
    return has_two_copies_each(records, map)
           && std::any_of(records.begin(), records.end(), [](const auto& one) {
                return one.second.wanted.back() == "c";
              });
  };

  EXPECT_TRUE(a.wait_until(c_has_copies));
  EXPECT_TRUE(b.wait_until(c_has_copies));
  EXPECT_TRUE(c.wait_until(c_has_copies));
}

TEST_F(MemberWithEtcd, GoOnAfterEtcdWasAway) {
  node a(etcd_, "a");
  node b(etcd_, "b");
  const auto knows_both = [](const member& self) { return self.known().nodes().size() == 2; };
  ASSERT_TRUE(a.wait_for(knows_both));

  etcd_.kill(0);
  etcd_.start(0);

  const auto key = catalogue_keys("c").shard(shard_id{0});
  std::promise<shard_record> promise;
  a.driver().look([&](const member& self) {
    promise.set_value(self.known().shards().at(shard_id{0}).record);
  });
  const auto record = promise.get_future().get();
  const auto next = replication::elect(record.value, record.value.primary, record.value.in_sync, 7);
  const auto is_in_epoch_7 = [&](const auto& records, const cluster_map& map) {
    const auto found = records.find(shard_id{0});
    const auto is_known = found != records.end() && found->second.value.epoch == 7;
    if (!is_known)
      a.driver().compare_and_set(shard_id{0}, record.value, next);
    return is_known && map.of(shard_id{0}) && map.of(shard_id{0})->epoch == 7;
  };
  EXPECT_TRUE(a.wait_until(is_in_epoch_7));
  EXPECT_TRUE(b.wait_until([](const auto& records, const cluster_map& map) {
    return map.of(shard_id{0}) && map.of(shard_id{0})->epoch == 7;
  }));
  EXPECT_TRUE(a.wait_for([](const member& self) { return self.is_registered(); }));
}

TEST_F(MemberWithEtcd, LaterProcessOfANameSupersedesTheEarlierOne) {
  node first(etcd_, "a", 1);
  ASSERT_TRUE(first.wait_for([](const member& self) { return self.is_registered(); }));

  node second(etcd_, "a", 2);

  const auto words = first.ends.pop();
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, "another process has registered as node a at a:1");
  EXPECT_TRUE(second.wait_for([](const member& self) { return self.is_registered(); }));
}

} // namespace
} // namespace codeq::cluster
