// SPDX-License-Identifier: Apache-2.0
#include "coordinator/hub/shard_host.hpp"
#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace codeq::test {
namespace {

using namespace coordinator;
using lines = std::shared_ptr<std::vector<std::string>>;

/// A peer that notes where shards are.
shard_peer_actor::behavior_type pretended_peer(shard_peer_actor::pointer, lines log) {
  return {
    [](const shard_reply&) {},
    [](const task_delivery&) {},
    [](const credit_news&) {},
    [](const queues_added&) {},
    [](const peer_misbehaved&) {},
    [log](const shard_moved& m) { log->push_back(m.is_here ? "came" : "left"); },
    [log](places_changed) { log->push_back("places"); },
  };
}

/// A shard that notes its messages behind its name.
shard_actor::behavior_type pretended_shard(shard_actor::pointer, std::string name, lines log) {
  auto note = [name, log](const std::string& text) { log->push_back(name + " " + text); };
  return {
    [note](const peer_request&) { note("request"); },
    [note](const shard_command& m) {
      note(std::holds_alternative<core::replace_worker>(m.what) ? "replace" : "command");
    },
    [note](const attach_peer& m) {
      note("attach " + std::to_string(m.who.queues.size()) + (m.first_claim ? " and claim" : ""));
    },
    [note](const detach_peer& m) { note(m.ending ? "end" : "detach"); },
    [](ask_shard_stats) { return base::coordinator_counts{}; },
    [](stop_shard) { return true; },
  };
}

class ShardHost : public testing::Test {
protected:
  shard_actor shard(const std::string& name) {
    return system_.own(system_.get().spawn(pretended_shard, name, log_));
  }

  template <class Message>
  void send(Message m) {
    caf::anon_send(host_, std::move(m));
    system_.run();
  }

  void attach(core::peer_id peer, std::shared_ptr<const worker_identity> worker = nullptr) {
    send(attach_peer{{peer, std::move(worker)}, peer_});
  }

  std::vector<std::string> take() { return std::exchange(*log_, {}); }

  deterministic_system system_;
  lines log_ = std::make_shared<std::vector<std::string>>();
  shard_peer_actor peer_ = system_.own(system_.get().spawn(pretended_peer, log_));
  shard_host_actor host_ = system_.own(system_.get().spawn(shard_host, shard_id{3}));
};

TEST_F(ShardHost, AttachesThePeersToAShardThatComes) {
  attach(1);
  EXPECT_EQ(take(), std::vector<std::string>{});

  send(host_shard{shard("a")});

  EXPECT_EQ(take(), (std::vector<std::string>{"a attach 0", "came"}));
}

TEST_F(ShardHost, TellsANewPeerThatTheShardIsHere) {
  send(host_shard{shard("a")});

  attach(1);

  EXPECT_EQ(take(), (std::vector<std::string>{"a attach 0", "came"}));
}

TEST_F(ShardHost, TellsAPeerThatAsksForItThatTheShardIsNotHere) {
  send(attach_peer{{1}, peer_, true});

  EXPECT_EQ(take(), std::vector<std::string>{"left"});
}

TEST_F(ShardHost, PassesTheFirstClaimOfAPeerOnOnce) {
  send(host_shard{shard("a")});
  send(attach_peer{{1}, peer_, true, core::claim{1, 2}});
  EXPECT_EQ(take(), (std::vector<std::string>{"a attach 0 and claim", "came"}));

  send(host_shard{shard("b")});

  EXPECT_EQ(take(), (std::vector<std::string>{"left", "came", "b attach 0"}));
}

TEST_F(ShardHost, DropsTheFirstClaimOfAPeerWithoutAShard) {
  send(attach_peer{{1}, peer_, true, core::claim{1, 2}});

  send(host_shard{shard("a")});

  EXPECT_EQ(take(), (std::vector<std::string>{"left", "a attach 0", "came"}));
}

TEST_F(ShardHost, EndsLeasesOfEarlierProcessesOfAWorkerAtAShardThatComes) {
  attach(1, std::make_shared<const worker_identity>(worker_identity{"w", 7}));

  send(host_shard{shard("a")});

  EXPECT_EQ(take(), (std::vector<std::string>{"a replace", "a attach 0", "came"}));
}

TEST_F(ShardHost, TellsPeersOfAShardThatLeavesAndDropsRequests) {
  attach(1);
  send(host_shard{shard("a")});
  take();

  send(host_shard{});
  send(shard_command{core::cancel{}});

  EXPECT_EQ(take(), std::vector<std::string>{"left"});
}

TEST_F(ShardHost, ShardOfALaterEpochGetsThePeersWithTheQueuesThatTheyHaveNow) {
  attach(1);
  send(host_shard{shard("a")});
  send(shard_command{core::change_queues{1, {{"default", "q"}, {"default", "r"}}}});
  take();

  send(host_shard{shard("b")});

  EXPECT_EQ(take(), (std::vector<std::string>{"left", "came", "b attach 2"}));
}

/// A claim's proxy that ends.
claim_proxy_actor::behavior_type ending_proxy(claim_proxy_actor::pointer) {
  return {
    [](const shard_reply&) {},
    [](const task_delivery&) {},
    [](const credit_news&) {},
    [](const queues_added&) {},
    [](const peer_misbehaved&) {},
    [](const shard_moved&) {},
    [](places_changed) {},
    [](const claim_step_taken&) {},
    [](const hold_claim&) {},
    [](const credits_dropped&) {},
  };
}

TEST_F(ShardHost, TellsAClaimThatEndsThatItsShardLeaves) {
  attach(1);
  send(host_shard{shard("a")});
  take();

  send(detach_peer{1, system_.own(system_.get().spawn(ending_proxy))});
  EXPECT_EQ(take(), std::vector<std::string>{"a end"});
  send(host_shard{});
  EXPECT_EQ(take(), std::vector<std::string>{"left"});
  send(detach_peer{1});
  send(host_shard{shard("b")});

  EXPECT_EQ(take(), std::vector<std::string>{});
}

TEST_F(ShardHost, PassesNewsOfTheMapOn) {
  attach(1);

  send(places_changed{});

  EXPECT_EQ(take(), std::vector<std::string>{"places"});
}

} // namespace
} // namespace codeq::test
