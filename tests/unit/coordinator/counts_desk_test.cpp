// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/counts_desk.hpp"
#include "coordinator/actors/gather_stats.hpp"
#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace codeq::test {
namespace {

using namespace coordinator;

/// The questions for counts that a pretended shard has not answered.
struct kept_questions {
  static constexpr const char* name = "pretended shard";

  std::vector<caf::typed_response_promise<base::coordinator_counts>> open;
};

/// Answers questions for its counts when it gets a command.
shard_actor::behavior_type
pretended_shard(shard_actor::stateful_pointer<kept_questions> self, int* asked) {
  return {
    [](const peer_request&) {},
    [self](const shard_command&) {
      base::coordinator_counts counts;
      counts.shards = 1;
      for (auto& promise : std::exchange(self->state.open, {}))
        promise.deliver(counts);
    },
    [](const attach_peer&) {},
    [](const detach_peer&) {},
    [self, asked](ask_shard_stats) -> caf::result<base::coordinator_counts> {
      ++*asked;
      auto promise = self->make_response_promise<base::coordinator_counts>();
      self->state.open.push_back(promise);
      return promise;
    },
    [](stop_shard) { return true; },
  };
}

/// Asks the desk once, and notes how many shards were counted; 0: the answer is an error; -1: there
/// is no answer.
caf::behavior asker(
  caf::event_based_actor* self,
  const counts_actor& desk,
  bool with_leases,
  std::vector<int>* told) {
  self->request(desk, caf::infinite, ask_counts{with_leases})
    .then(
      [told](const counts_told& m) {
        told->push_back(*m.counts ? static_cast<int>((*m.counts)->shards) : 0);
      },
      [told](const caf::error&) { told->push_back(-1); });
  return {};
}

/// A desk that counts for two shards.
class CountsDesk : public testing::Test {
protected:
  shard_actor shard() { return system_.own(system_.get().spawn(pretended_shard, &asked_)); }

  void ask(bool with_leases = false) {
    system_.own(system_.get().spawn(asker, desk_, with_leases, &told_));
    system_.run();
  }

  /// The shards answer what they were asked.
  void answer() {
    for (const auto& one : shards_)
      caf::anon_send(one, shard_command{core::tick{}});
    system_.run();
  }

  int asked_ = 0;
  std::vector<int> told_;
  deterministic_system system_;
  shard_actor owner_ = shard();
  std::vector<shard_actor> shards_{shard(), shard()};
  counts_actor desk_ = system_.own(system_.get().spawn(
    drive_counts_desk, caf::actor_cast<caf::strong_actor_ptr>(owner_), shards_));
};

TEST_F(CountsDesk, AsksTheShardsOnceAtATimeHoweverManyAskIt) {
  ask();
  ask();
  ask();
  EXPECT_EQ(asked_, 2);

  answer();
  EXPECT_EQ(told_, (std::vector<int>{2})) << "the counts may be older than the other questions";
  EXPECT_EQ(asked_, 4);
  answer();

  EXPECT_EQ(told_, (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(asked_, 4);
}

TEST_F(CountsDesk, AsksForLeasesBesideTheRest) {
  ask();
  ask(true);

  EXPECT_EQ(asked_, 4);
}

TEST_F(CountsDesk, TellsThatAShardDoesNotAnswer) {
  ask();
  ask();
  system_.advance(stats_timeout);

  EXPECT_EQ(told_, (std::vector<int>{0}));
  EXPECT_EQ(asked_, 4) << "the next question was asked";
}

TEST_F(CountsDesk, EndsWithItsOwner) {
  system_.run();
  caf::anon_send_exit(owner_, caf::exit_reason::user_shutdown);
  system_.run();

  ask();

  EXPECT_EQ(told_, (std::vector<int>{-1}));
}

} // namespace
} // namespace codeq::test
