// SPDX-License-Identifier: Apache-2.0
#include "http/desk/claim_peer.hpp"
#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::test {
namespace {

using namespace coordinator;
using lines = std::vector<std::string>;
using shared_lines = std::shared_ptr<lines>;

std::string text_of(const core::claim& step) {
  return "claim " + std::to_string(step.credits);
}

std::string text_of(const core::revoke_credits& step) {
  return "revoke " + std::to_string(step.credits);
}

std::string text_of(const claim_attached&) {
  return "attach";
}

std::string text_of(const claim_question& step) {
  return "ask " + std::to_string(step.number);
}

std::string text_of(const claim_received& step) {
  return "received " + std::to_string(step.messages);
}

std::string text_of(const claim_detached&) {
  return "detach";
}

/// Stands for a shard that is here, or for its host.
shard_actor::behavior_type
pretended_shard(shard_actor::pointer, std::string name, shared_lines log) {
  auto note = [name, log](const std::string& text) { log->push_back(name + " " + text); };
  return {
    [note](const peer_request&) { note("ask"); },
    [note](const shard_command& m) {
      if (const auto* claim = std::get_if<core::claim>(&m.what))
        note(text_of(*claim));
      if (const auto* revoke = std::get_if<core::revoke_credits>(&m.what))
        note(text_of(*revoke));
    },
    [note](const attach_peer& m) {
      note("attach");
      if (m.first_claim)
        note(text_of(*m.first_claim));
    },
    [note](const detach_peer&) { note("detach"); },
    [](ask_shard_stats) { return base::coordinator_counts{}; },
    [](stop_shard) { return true; },
  };
}

/// Stands for the connection to another coordinator.
caf::behavior pretended_connection(caf::event_based_actor*, shared_lines log) {
  return {[log](const protocol::wire_frame& frame) {
    auto read = read_claim_at(*protocol::claim_at::parse(frame.body), 2);
    auto step = std::visit([](const auto& one) { return text_of(one); }, read->second);
    log->push_back("far " + std::to_string(read->first.attachment) + " " + step);
  }};
}

/// Stands for the gateway.
caf::behavior pretended_gateway(caf::event_based_actor*, shared_lines log) {
  return {
    [log](const http::claim_ended& m) {
      log->push_back(
        "ended with " + std::to_string(m.tasks.size()) + (m.refusal ? " refused" : ""));
    },
    [log](const http::claim_waits&) { log->push_back("waits"); },
    [log](const http::leases_unread& m) {
      log->push_back("gives back " + std::to_string(m.leases.size()));
    },
  };
}

/// A claim of two shards: 0 is here, 1 is another coordinator's.
class FarClaim : public testing::Test {
protected:
  void start(std::uint32_t count, std::size_t first_shard, bool only_now) {
    http::claim_options options;
    options.claim = number;
    options.gateway = caf::actor_cast<http::gateway_actor>(gateway_);
    options.peer = 5;
    options.shards = {shard("here"), shard("host")};
    options.first_shard = first_shard;
    options.away = {shard_id{1}};
    options.far = {{}, connection_};
    options.worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
    options.queues = {{"t", "q"}};
    options.count = count;
    options.only_now = only_now;
    claim_ = system_.own(system_.get().spawn(http::claim, options));
    system_.run();
  }

  template <class Message>
  void send(Message m) {
    caf::anon_send(claim_, std::move(m));
    system_.run();
  }

  void send_far(std::uint32_t attachment, const claim_event& event) {
    send(http::claim_news_arrived{make_claim_news({number, attachment, shard_id{1}}, event)});
  }

  /// Tasks that a shard has granted.
  static task_delivery tasks_of(shard_id from, std::uint32_t count) {
    auto body = protocol::frame<schema::TaskBody>::build([](auto) {}).body();
    core::encoded_tasks bodies;
    std::string joined;
    for (std::uint32_t i = 0; i < count; ++i) {
      joined += body.view();
      bodies.sizes.push_back(static_cast<std::uint32_t>(body.size()));
    }
    bodies.body = bytes(std::move(joined));
    core::granted_run run;
    run.first = 1;
    run.count = count;
    run.first_token = fencing_token{1};
    run.queue = {"t", "q"};
    run.max_attempts = 3;
    run.lease = duration{1000};
    task_delivery tasks{from, {}, {std::move(bodies)}, false};
    tasks.granted.runs.push_back(std::move(run));
    return tasks;
  }

  void grant_far(std::uint32_t attachment, std::uint32_t count) {
    write_claim_tasks(
      {number, attachment, shard_id{1}}, tasks_of(shard_id{1}, count),
      [&](std::uint32_t, const protocol::wire_frame& frame) {
        send(http::claim_news_arrived{*protocol::claim_news::parse(frame.body)});
      });
  }

  void give_back_credit_here() {
    send(credit_news{shard_id{0}, credit_news::kind::returned, 1});
  }

  void answer_here(std::uint64_t question) {
    core::queue_answered answered;
    answered.number = question;
    send(shard_reply{shard_id{0}, answered});
  }

  lines take() { return std::exchange(*log_, {}); }

  static constexpr std::uint64_t number = 77;

  deterministic_system system_;
  shared_lines log_ = std::make_shared<lines>();
  caf::actor gateway_ = system_.own(system_.get().spawn(pretended_gateway, log_));
  actors::connection_actor connection_ = caf::actor_cast<actors::connection_actor>(
    system_.own(system_.get().spawn(pretended_connection, log_)));
  http::claim_actor claim_;

private:
  shard_actor shard(const std::string& name) {
    return system_.own(system_.get().spawn(pretended_shard, name, log_));
  }
};

TEST_F(FarClaim, ConfirmsTheTasksThatItTakes) {
  start(1, 1, false);
  EXPECT_EQ(take(), (lines{"far 1 attach", "far 1 claim 1"}));

  grant_far(1, 1);

  EXPECT_EQ(take(), (lines{"far 1 received 1", "far 1 detach", "ended with 1"}));
}

TEST_F(FarClaim, KeepsNoMoreThanItWasAskedFor) {
  start(1, 1, false);
  take();

  grant_far(1, 2);

  const auto told = take();
  EXPECT_EQ(std::count(told.begin(), told.end(), "gives back 1"), 1);
  EXPECT_EQ(std::count(told.begin(), told.end(), "ended with 1"), 1);
}

TEST_F(FarClaim, ThatMayNotWaitEndsWhenNoShardHasWork) {
  start(1, 1, true);
  EXPECT_EQ(take(), (lines{"far 1 attach", "far 1 claim 1"}));
  send_far(1, credit_news{shard_id{1}, credit_news::kind::drained});
  EXPECT_EQ(take(), (lines{"here attach", "here ask", "far 1 ask 1"}));
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer_here(round);
    send_far(1, claim_answer{round});
  }
  EXPECT_EQ(take(), (lines{"here ask", "far 1 ask 2", "far 1 revoke 1"}));

  send_far(1, credit_news{shard_id{1}, credit_news::kind::returned, 1});

  EXPECT_EQ(take(), (lines{"here detach", "far 1 detach", "ended with 0"}));
}

TEST_F(FarClaim, PlacesItsCreditsAnewWhenAConnectionIsLost) {
  start(1, 1, false);
  EXPECT_EQ(take(), (lines{"far 1 attach", "far 1 claim 1"}));

  send(http::far_shards_lost{connection_});
  EXPECT_EQ(take(), (lines{"far 1 detach", "here attach", "here claim 1"}));
  grant_far(1, 1);

  EXPECT_EQ(take(), (lines{"gives back 1"}));
}

TEST_F(FarClaim, AttachesAnewOverANewConnection) {
  start(1, 1, false);
  EXPECT_EQ(take(), (lines{"far 1 attach", "far 1 claim 1"}));
  send(http::far_shards_lost{connection_});
  take();

  send(http::far_shards_found{{{shard_id{1}, connection_}}});
  EXPECT_EQ(take(), lines{});
  send(shard_moved{shard_id{0}, false});

  EXPECT_EQ(take(), (lines{"far 2 attach", "far 2 claim 1"}));
}

TEST_F(FarClaim, LeavesAnotherCoordinatorThatDoesNotAnswer) {
  start(1, 1, false);
  take();
  send(http::end_claim{});
  EXPECT_EQ(take(), (lines{"far 1 revoke 1"}));

  send(http::end_claim{.at_once = true});

  EXPECT_EQ(take(), (lines{"far 1 detach", "ended with 0"}));
}

TEST_F(FarClaim, UsesCreditsElsewhereThatComeBackUnasked) {
  start(1, 1, false);
  take();

  send_far(1, credit_news{shard_id{1}, credit_news::kind::returned, 1});

  EXPECT_EQ(take(), (lines{"here attach", "here claim 1"}));
}

TEST_F(FarClaim, TellsWhyItIsRefused) {
  start(1, 1, false);
  take();

  send_far(1, claim_left{{errc::overloaded, "too many"}});

  EXPECT_EQ(take(), (lines{"far 1 revoke 1", "far 1 detach", "ended with 0 refused"}));
}

TEST_F(FarClaim, UsesAShardThatComesHere) {
  start(1, 1, false);
  take();

  send(http::shard_found{shard_id{1}, true});

  const auto told = take();
  EXPECT_EQ(told.front(), "far 1 detach");
  EXPECT_EQ(told.size(), 3u);
}

TEST_F(FarClaim, KeepsTheLateTasksOfAShardThatLeftAnotherCoordinator) {
  start(1, 1, false);
  take();
  send_far(1, claim_left{{errc::not_owner, "moved"}});
  EXPECT_EQ(take(), (lines{"here attach", "here claim 1"}));

  grant_far(1, 1);
  EXPECT_EQ(take(), (lines{"here revoke 1"}));
  give_back_credit_here();

  EXPECT_EQ(take(), (lines{"here detach", "ended with 1"}));
}

TEST_F(FarClaim, KeepsTheLateTasksOfAShardThatLeftThisCoordinator) {
  start(1, 0, false);
  EXPECT_EQ(take(), (lines{"here attach", "here claim 1"}));
  send(shard_moved{shard_id{0}, false});
  EXPECT_EQ(take(), (lines{"far 1 attach", "far 1 claim 1"}));

  send(tasks_of(shard_id{0}, 1));
  EXPECT_EQ(take(), (lines{"far 1 revoke 1"}));
  send_far(1, credit_news{shard_id{1}, credit_news::kind::returned, 1});

  EXPECT_EQ(take(), (lines{"here detach", "far 1 detach", "ended with 1"}));
}

TEST_F(FarClaim, GivesLateTasksBackAfterItHasEnded) {
  start(1, 1, false);
  send_far(1, claim_left{{errc::not_owner, "moved"}});
  send(http::end_claim{});
  give_back_credit_here();
  EXPECT_EQ(take().back(), "ended with 0");

  grant_far(1, 1);
  send(tasks_of(shard_id{0}, 1));
  EXPECT_EQ(take(), (lines{"gives back 1", "gives back 1"}));
  system_.advance(std::chrono::milliseconds(300));
  grant_far(1, 1);

  EXPECT_EQ(take(), lines{});
}

TEST_F(FarClaim, AsksNoMoreQuestionsOnceItHasToldThatItWaits) {
  start(1, 1, false);
  send_far(1, credit_news{shard_id{1}, credit_news::kind::drained});
  for (std::uint64_t round = 1; round <= 2; ++round) {
    answer_here(round);
    send_far(1, claim_answer{round});
  }
  EXPECT_EQ(take().back(), "waits");

  send(http::far_shards_found{{{shard_id{1}, connection_}}});

  const auto told = take();
  EXPECT_EQ(std::count(told.begin(), told.end(), "far 2 attach"), 1);
  EXPECT_EQ(
    std::count_if(
      told.begin(), told.end(),
      [](const auto& line) { return line.find("ask") != std::string::npos; }),
    0);
}

TEST_F(FarClaim, LeavesACoordinatorThatNamesAShardThatIsNone) {
  start(1, 1, false);
  take();

  credit_news news{shard_id{1}, credit_news::kind::outranked, 1};
  news.by = shard_id{2};
  send_far(1, news);

  EXPECT_EQ(take(), (lines{"far 1 detach", "here attach", "here claim 1"}));
}

} // namespace
} // namespace codeq::test
