// SPDX-License-Identifier: Apache-2.0
#include "coordinator/session/claim_proxy.hpp"
#include "support/task_builder.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace codeq::coordinator {
namespace {

constexpr shard_id shard{3};
constexpr core::peer_id peer = 9;
constexpr claim_place place{7, 1, shard};

/// Writes down what the proxy does.
class noting_port : public claim_proxy_port {
public:
  void attach(peer_attached who) override {
    note("attach " + who.worker->name + " " + std::to_string(who.peer));
  }

  void detach() override { note("detach"); }

  void drop_credits() override { note("drop credits"); }

  void command(core::command command) override {
    if (const auto* claim = std::get_if<core::claim>(&command))
      note("claim " + std::to_string(claim->credits) + " of " + std::to_string(claim->peer));
    if (const auto* revoke = std::get_if<core::revoke_credits>(&command))
      note("revoke " + std::to_string(revoke->credits));
    if (const auto* report = std::get_if<core::report>(&command))
      for (const auto& one : report->reports)
        note(
          std::string(one.how == disposition::abandon ? "give back " : "report ")
          + std::to_string(one.seq) + "@" + std::to_string(value(one.token)));
  }

  void ask(protocol::queue_request) override { note("ask"); }

  void send(const protocol::wire_frame& frame) override {
    auto news = protocol::claim_news::parse(frame.body);
    auto read = read_claim_news(*news);
    EXPECT_EQ(read->first, place);
    if (const auto* credits = std::get_if<credit_news>(&read->second))
      note(text_of(*credits));
    if (std::holds_alternative<claim_tasks>(read->second))
      note("tasks");
    if (const auto* answer = std::get_if<claim_answer>(&read->second))
      note("answer " + std::to_string(answer->number));
    if (const auto* left = std::get_if<claim_left>(&read->second))
      note("left " + std::string(left->reason.code == errc::not_owner ? "shard" : "refused"));
  }

  void ended() override { note("ended"); }

  [[nodiscard]] std::vector<std::string> take() { return std::exchange(lines_, {}); }

private:
  static std::string text_of(const credit_news& news) {
    const auto read = news.being_read == 0 ? "" : " read " + std::to_string(news.being_read);
    switch (news.what) {
    case credit_news::kind::drained:
      return "drained" + read;
    case credit_news::kind::has_work:
      return "has work" + read;
    case credit_news::kind::returned:
      return "credits " + std::to_string(news.credits) + read;
    case credit_news::kind::outranked:
      return "outranked " + std::to_string(news.credits) + read;
    }
    return {};
  }

  void note(std::string line) { lines_.push_back(std::move(line)); }

  std::vector<std::string> lines_;
};

using lines = std::vector<std::string>;

class ClaimProxy : public testing::Test {
protected:
  void SetUp() override {
    auto worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
    proxy_.take(claim_attached{std::move(worker), {{"t", "q"}}});
    EXPECT_EQ(port_.take(), (lines{"attach http:t/w 9"}));
  }

  void claim(std::uint32_t credits) {
    proxy_.take(core::claim{0, credits});
    EXPECT_EQ(port_.take(), (lines{"claim " + std::to_string(credits) + " of 9"}));
  }

  /// The shard grants the tasks from `first` on, under the tokens from 10 * `first` on. Without
  /// `more` they were read from the store.
  void grant(sequence first, std::uint32_t count, std::optional<bool> more = true) {
    task_delivery tasks{shard, {}, {}, more};
    core::granted_run run;
    run.first = first;
    run.count = count;
    run.first_token = static_cast<fencing_token>(10 * first);
    run.queue = {"t", "q"};
    tasks.granted.peer = peer;
    tasks.granted.runs.push_back(std::move(run));
    tasks.bodies.push_back(test::encode_bodies(count, 8));
    proxy_.take(tasks);
  }

  void give_credits_back(std::uint32_t credits) {
    proxy_.take(credit_news{shard, credit_news::kind::returned, credits});
  }

  noting_port port_;
  claim_proxy proxy_{place, peer, port_};
};

TEST_F(ClaimProxy, EndsAtOnceWithoutCredits) {
  proxy_.take(claim_detached{});

  EXPECT_EQ(port_.take(), (lines{"detach", "ended"}));
}

TEST_F(ClaimProxy, KeepsWhatTheClaimHasConfirmed) {
  claim(2);
  grant(1, 2);
  proxy_.take(claim_received{1});

  proxy_.take(claim_detached{});

  EXPECT_EQ(port_.take(), (lines{"tasks", "detach", "ended"}));
}

TEST_F(ClaimProxy, GivesBackWhatTheClaimHasNotConfirmed) {
  claim(3);
  grant(1, 1);
  grant(4, 2);
  proxy_.take(claim_received{1});
  EXPECT_EQ(port_.take(), (lines{"tasks", "tasks"}));

  proxy_.end();

  EXPECT_EQ(port_.take(), (lines{"give back 4@40", "give back 5@41", "detach", "ended"}));
}

TEST_F(ClaimProxy, EndsAsSoonAsTheShardHasDroppedItsCredits) {
  claim(3);

  proxy_.end();
  EXPECT_EQ(port_.take(), (lines{"drop credits"}));
  proxy_.end();
  EXPECT_EQ(port_.take(), lines{});
  proxy_.credits_dropped(0);

  EXPECT_EQ(port_.take(), (lines{"detach", "ended"}));
}

TEST_F(ClaimProxy, GivesBackTasksThatAreBeingCommittedWhenItEnds) {
  claim(4);
  proxy_.take(core::revoke_credits{0, 3});
  proxy_.end();
  EXPECT_EQ(port_.take(), (lines{"revoke 3", "drop credits"}));

  proxy_.credits_dropped(1);
  give_credits_back(3);
  EXPECT_EQ(port_.take(), lines{});
  grant(8, 1);

  EXPECT_EQ(port_.take(), (lines{"give back 8@80", "detach", "ended"}));
}

TEST_F(ClaimProxy, GivesBackTasksThatAreBeingReadWhenItEnds) {
  claim(3);
  credit_news granted{shard, credit_news::kind::drained};
  granted.being_read = 2;
  proxy_.take(granted);
  proxy_.end();
  EXPECT_EQ(port_.take(), (lines{"drained read 2", "drop credits"}));

  proxy_.credits_dropped(0);
  EXPECT_EQ(port_.take(), lines{});
  grant(8, 2, std::nullopt);

  EXPECT_EQ(port_.take(), (lines{"give back 8@80", "give back 9@81", "detach", "ended"}));
}

TEST_F(ClaimProxy, ReturnsTheCreditOfATaskThatWentBeforeItWasRead) {
  claim(2);
  credit_news granted{shard, credit_news::kind::drained};
  granted.being_read = 1;
  proxy_.take(granted);
  proxy_.take(core::revoke_credits{0, 1});
  EXPECT_EQ(port_.take(), (lines{"drained read 1", "revoke 1"}));

  credit_news gone{shard, credit_news::kind::returned, 1};
  gone.being_read = -1;
  proxy_.take(gone);
  give_credits_back(1);

  EXPECT_EQ(port_.take(), (lines{"credits 1 read -1", "credits 1"}));
}

TEST_F(ClaimProxy, EndsWhenTheTaskThatItWaitsForIsGone) {
  claim(1);
  credit_news granted{shard, credit_news::kind::drained};
  granted.being_read = 1;
  proxy_.take(granted);
  proxy_.end();
  proxy_.credits_dropped(0);
  EXPECT_EQ(port_.take(), (lines{"drained read 1", "drop credits"}));

  credit_news gone{shard, credit_news::kind::returned, 1};
  gone.being_read = -1;
  proxy_.take(gone);

  EXPECT_EQ(port_.take(), (lines{"detach", "ended"}));
}

TEST_F(ClaimProxy, EndsBeforeTheAnswerWhenAllItsCreditsHaveComeBack) {
  claim(3);
  proxy_.take(core::revoke_credits{0, 3});
  proxy_.end();
  EXPECT_EQ(port_.take(), (lines{"revoke 3", "drop credits"}));

  give_credits_back(2);
  grant(8, 1);
  proxy_.credits_dropped(0);

  EXPECT_EQ(port_.take(), (lines{"give back 8@80", "detach", "ended"}));
}

TEST_F(ClaimProxy, TellsTheClaimWhatTheShardSays) {
  claim(2);
  proxy_.take(claim_question{5});
  EXPECT_EQ(port_.take(), (lines{"ask"}));

  proxy_.take(core::revoke_credits{0, 1});
  give_credits_back(1);
  core::queue_answered answered;
  answered.number = 5;
  proxy_.take(shard_reply{shard, answered});

  EXPECT_EQ(port_.take(), (lines{"revoke 1", "credits 1", "answer 5"}));
}

TEST_F(ClaimProxy, PassesOnTheLateTasksOfAShardThatLeft) {
  claim(2);
  grant(1, 1);
  EXPECT_EQ(port_.take(), (lines{"tasks"}));

  proxy_.shard_left();
  proxy_.shard_left();
  EXPECT_EQ(port_.take(), (lines{"left shard"}));
  grant(4, 1);

  EXPECT_EQ(port_.take(), (lines{"tasks", "detach", "ended"}));
}

TEST_F(ClaimProxy, EndsWithItsShardWhenItHasNoCreditsThere) {
  claim(1);
  grant(1, 1);
  EXPECT_EQ(port_.take(), (lines{"tasks"}));

  proxy_.shard_left();

  EXPECT_EQ(port_.take(), (lines{"left shard", "detach", "ended"}));
}

TEST_F(ClaimProxy, DoesNotWaitForEverForLateTasks) {
  claim(2);
  proxy_.shard_left();
  EXPECT_EQ(port_.take(), (lines{"left shard"}));

  proxy_.take(claim_detached{});

  EXPECT_EQ(port_.take(), (lines{"detach", "ended"}));
}

TEST_F(ClaimProxy, PassesOnTheLateTasksOfAClaimThatHasGone) {
  claim(1);
  proxy_.take(claim_detached{});
  EXPECT_EQ(port_.take(), (lines{"drop credits"}));

  proxy_.shard_left();
  grant(4, 1);

  EXPECT_EQ(port_.take(), (lines{"tasks", "detach", "ended"}));
}

TEST_F(ClaimProxy, RefusesTheClaimOnceAndWaitsUntilItDetaches) {
  claim(1);

  proxy_.refuse({errc::overloaded, "too much"});
  proxy_.refuse({errc::overloaded, "too much"});
  EXPECT_EQ(port_.take(), (lines{"left refused", "revoke 1"}));
  give_credits_back(1);
  EXPECT_EQ(port_.take(), lines{});
  proxy_.take(claim_detached{});

  EXPECT_EQ(port_.take(), (lines{"detach", "ended"}));
}

TEST_F(ClaimProxy, GivesBackOnlyWhatARefusedClaimDoesNotConfirm) {
  claim(3);
  grant(1, 1);
  grant(4, 1);
  EXPECT_EQ(port_.take(), (lines{"tasks", "tasks"}));
  proxy_.refuse({errc::overloaded, "too much"});
  grant(8, 1);
  EXPECT_EQ(port_.take(), (lines{"left refused", "revoke 1", "give back 8@80"}));

  proxy_.take(claim_received{1});
  proxy_.take(claim_detached{});

  EXPECT_EQ(port_.take(), (lines{"give back 4@40", "detach", "ended"}));
}

TEST_F(ClaimProxy, GivesBackWhatARefusedClaimHasNotConfirmedWhenTheSessionEnds) {
  claim(1);
  grant(1, 1);
  proxy_.refuse({errc::overloaded, "too much"});
  EXPECT_EQ(port_.take(), (lines{"tasks", "left refused"}));

  proxy_.end();

  EXPECT_EQ(port_.take(), (lines{"give back 1@10", "detach", "ended"}));
}

TEST_F(ClaimProxy, KeepsItsCreditsFromTheShardWhileItIsHeld) {
  claim(2);

  proxy_.hold(true);
  EXPECT_EQ(port_.take(), (lines{"revoke 2", "drained"}));
  give_credits_back(2);
  EXPECT_EQ(port_.take(), lines{});
  proxy_.take(core::claim{0, 3});
  EXPECT_EQ(port_.take(), (lines{"drained"}));

  proxy_.hold(false);
  EXPECT_EQ(port_.take(), (lines{"claim 5 of 9"}));
}

TEST_F(ClaimProxy, PlacesCreditsThatComeBackAfterItWasHeld) {
  claim(2);
  proxy_.hold(true);
  proxy_.hold(false);
  EXPECT_EQ(port_.take(), (lines{"revoke 2", "drained"}));

  give_credits_back(2);

  EXPECT_EQ(port_.take(), (lines{"claim 2 of 9"}));
}

TEST_F(ClaimProxy, TellsAfterItWasHeldThatTheShardHasWork) {
  proxy_.hold(true);
  EXPECT_EQ(port_.take(), (lines{"drained"}));
  proxy_.take(credit_news{shard, credit_news::kind::has_work});
  EXPECT_EQ(port_.take(), lines{});

  proxy_.hold(false);

  EXPECT_EQ(port_.take(), (lines{"has work"}));
}

TEST_F(ClaimProxy, ReturnsAtOnceTheCreditsThatItKeeps) {
  proxy_.hold(true);
  proxy_.take(core::claim{0, 3});
  EXPECT_EQ(port_.take(), (lines{"drained", "drained"}));

  proxy_.take(core::revoke_credits{0, 3});

  EXPECT_EQ(port_.take(), (lines{"credits 3"}));
}

TEST_F(ClaimProxy, ReturnsCreditsOnceThatItAndTheClaimHaveAskedFor) {
  claim(2);
  proxy_.hold(true);
  proxy_.take(core::revoke_credits{0, 2});
  EXPECT_EQ(port_.take(), (lines{"revoke 2", "drained", "revoke 2"}));

  give_credits_back(2);
  give_credits_back(0);

  EXPECT_EQ(port_.take(), (lines{"credits 2"}));
}

TEST_F(ClaimProxy, PlacesNothingWhileTheClaimWaitsForItsCredits) {
  claim(1);
  proxy_.hold(true);
  proxy_.take(core::claim{0, 2});
  proxy_.take(core::revoke_credits{0, 3});
  proxy_.hold(false);
  EXPECT_EQ(port_.take(), (lines{"revoke 1", "drained", "drained", "revoke 3"}));

  give_credits_back(1);

  EXPECT_EQ(port_.take(), (lines{"credits 3"}));
}

TEST_F(ClaimProxy, GivesBackTasksThatComeWhileItIsHeld) {
  claim(3);
  proxy_.hold(true);
  EXPECT_EQ(port_.take(), (lines{"revoke 3", "drained"}));

  grant(4, 1);
  grant(5, 2, std::nullopt);

  EXPECT_EQ(
    port_.take(),
    (lines{
      "give back 4@40", "credits 1", "give back 5@50", "give back 6@51", "credits 2 read -2"}));
  proxy_.hold(false);
  EXPECT_EQ(port_.take(), (lines{"has work"}));
}

TEST_F(ClaimProxy, KeepsOutrankedCreditsWhileItIsHeld) {
  claim(2);
  proxy_.hold(true);
  EXPECT_EQ(port_.take(), (lines{"revoke 2", "drained"}));

  proxy_.take(credit_news{shard, credit_news::kind::outranked, 2});
  give_credits_back(0);
  EXPECT_EQ(port_.take(), lines{});
  proxy_.hold(false);

  EXPECT_EQ(port_.take(), (lines{"claim 2 of 9"}));
}

TEST_F(ClaimProxy, HeldClaimWithoutCreditsAtTheShardEndsAtOnce) {
  proxy_.hold(true);
  proxy_.take(core::claim{0, 3});
  EXPECT_EQ(port_.take(), (lines{"drained", "drained"}));

  proxy_.take(claim_detached{});

  EXPECT_EQ(port_.take(), (lines{"detach", "ended"}));
}

TEST_F(ClaimProxy, TellsTheShardWhenTheClaimReachesAllShardsOrNotAnyMore) {
  claim(1);

  proxy_.take(core::claim{0, 0, {}, 0, 0, true});
  EXPECT_EQ(port_.take(), (lines{"claim 0 of 9"}));
  proxy_.take(core::claim{0, 0, {}, 0, 0, true});
  EXPECT_EQ(port_.take(), lines{});
  proxy_.take(core::claim{0, 0, {}, 0, 0, false});
  EXPECT_EQ(port_.take(), (lines{"claim 0 of 9"}));
}

} // namespace
} // namespace codeq::coordinator
