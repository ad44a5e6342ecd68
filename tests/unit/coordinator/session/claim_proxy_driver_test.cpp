// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/claim_proxy_driver.hpp"
#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

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

constexpr claim_place place{7, 1, shard_id{3}};

/// A shard that commits nothing: tasks that it has granted never come.
shard_actor::behavior_type stalled_shard(shard_actor::pointer self, shared_lines log) {
  return {
    [](const peer_request&) {},
    [log](const shard_command& m) {
      if (const auto* claim = std::get_if<core::claim>(&m.what))
        log->push_back("claim " + std::to_string(claim->credits));
      if (std::holds_alternative<core::revoke_credits>(m.what))
        log->push_back("revoke");
    },
    [log](const attach_peer&) { log->push_back("attach"); },
    [self, log](const detach_peer& m) {
      log->push_back(m.ending ? "drop credits" : "detach");
      if (m.ending)
        self->send(m.ending, credits_dropped{});
    },
    [](ask_shard_stats) { return base::coordinator_counts{}; },
    [](stop_shard) { return true; },
  };
}

/// Stands for the session of the claim's gateway.
caf::behavior gateway_session(caf::event_based_actor*, shared_lines log) {
  return {
    [log](const claim_frame&) { log->push_back("news"); },
    [log](const claim_proxy_ended& m) {
      EXPECT_EQ(m.place, place);
      log->push_back("ended");
    },
  };
}

class ClaimProxyDriver : public testing::Test {
protected:
  ClaimProxyDriver() {
    claim_proxy_options options;
    options.place = place;
    options.peer = claim_peers_first;
    options.shard = system_.own(system_.get().spawn(stalled_shard, log_));
    options.session = caf::actor_cast<session_actor>(
      system_.own(system_.get().spawn(gateway_session, log_)));
    proxy_ = system_.own(system_.get().spawn(drive_claim_proxy, options));
    auto worker = std::make_shared<const worker_identity>(worker_identity{"http:t/w", 1});
    send(claim_step_taken{claim_attached{std::move(worker), {{"t", "q"}}}});
    EXPECT_EQ(take(), lines{"attach"});
  }

  template <class Message>
  void send(Message m) {
    caf::anon_send(proxy_, std::move(m));
    system_.run();
  }

  lines take() { return std::exchange(*log_, {}); }

  deterministic_system system_;
  shared_lines log_ = std::make_shared<lines>();
  claim_proxy_actor proxy_;
};

TEST_F(ClaimProxyDriver, EndsThoughItsShardDoesNotCommit) {
  send(claim_step_taken{core::claim{0, 2}});
  EXPECT_EQ(take(), lines{"claim 2"});

  send(claim_step_taken{claim_detached{}});

  EXPECT_EQ(take(), (lines{"drop credits", "detach", "ended"}));
}

TEST_F(ClaimProxyDriver, KeepsCreditsFromItsShardWhileItIsHeld) {
  send(hold_claim{true});
  send(claim_step_taken{core::claim{0, 2}});
  EXPECT_EQ(take(), (lines{"news", "news"}));

  send(hold_claim{false});

  EXPECT_EQ(take(), lines{"claim 2"});
}

TEST_F(ClaimProxyDriver, TellsItsClaimThatTheShardRefusesIt) {
  send(peer_misbehaved{{errc::protocol_error, "no such question"}});
  EXPECT_EQ(take(), lines{"news"});

  send(claim_step_taken{claim_detached{}});

  EXPECT_EQ(take(), (lines{"detach", "ended"}));
}

} // namespace
} // namespace codeq::test
