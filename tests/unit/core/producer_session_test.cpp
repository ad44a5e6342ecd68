// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/state/producer_sessions.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

class ProducerSession : public shard_fixture {
protected:
  /// A session of `p`, created `ahead` after the clock of the shard.
  producer_id create(duration ahead = {}) { return make_producer_id(now() + ahead, 7, ++created_); }

  const core::snapshot_taken& snapshot() { return std::get<core::snapshot_taken>(events().back()); }

private:
  std::uint64_t created_ = 0;
};

TEST_F(ProducerSession, IsKnownUntilItHasBeenIdleForADay) {
  auto session = create();
  enqueue("q", 1, {.request = 1, .session = session});
  advance(24h - 1ms);
  EXPECT_EQ(enqueue("q", 1, {.request = 1, .session = session}), "p: enqueued 1");
  EXPECT_EQ(enqueue("q", 1, {.request = 2, .session = session}), "p: enqueued 2");
  advance(24h - 1ms);
  EXPECT_EQ(enqueue("q", 1, {.request = 2, .session = session}), "p: enqueued 2");

  advance(1ms);

  EXPECT_EQ(enqueue("q", 1, {.request = 2, .session = session}), "p: refused session_expired");
}

TEST_F(ProducerSession, ThatWasForgottenIsNeverTakenForANewOne) {
  // The producer's clock was ahead: the session is younger than a day when it has been idle for
  // one.
  auto session = create(30min);
  enqueue("q", 1, {.request = 1, .session = session});
  for (int hours = 0; hours < 50; ++hours) {
    advance(30min);
    take_snapshot();
    auto said = enqueue("q", 1, {.request = 1, .session = session});
    EXPECT_TRUE(said == "p: enqueued 1" || said == "p: refused session_expired") << said;
  }
  EXPECT_EQ(state().producers.count(session), 0u);
}

TEST_F(ProducerSession, OfAnotherDayThatIsUnknownHereIsRefused) {
  auto session = create();
  advance(24h);

  EXPECT_EQ(enqueue("q", 1, {.session = session}), "p: refused session_expired");
}

TEST_F(ProducerSession, ThatItsProducerEndedIsForgottenByTheNextSnapshot) {
  auto session = create();
  auto other = create();
  enqueue("q", 1, {.request = 1, .session = session});
  enqueue("q", 1, {.request = 1, .session = other});
  end_session(session);
  EXPECT_EQ(enqueue("q", 1, {.request = 1, .session = session}), "p: enqueued 1");

  take_snapshot();

  EXPECT_EQ(state().producers.count(session), 0u);
  EXPECT_EQ(state().producers.count(other), 1u);
  EXPECT_EQ(state().sessions_forgotten, 0u);
  ASSERT_EQ(snapshot().producers.size(), 1u) << "the ended one was never written";
  EXPECT_EQ(snapshot().producers[0].producer, other);
}

TEST_F(ProducerSession, ThatIsUsedAgainAfterItsEndIsKept) {
  auto session = create();
  enqueue("q", 1, {.request = 1, .session = session});
  take_snapshot();
  EXPECT_EQ(state().records_since_snapshot, 0u);
  end_session(session);
  EXPECT_GT(state().records_since_snapshot, 0u);
  enqueue("q", 1, {.request = 2, .session = session});

  take_snapshot();

  EXPECT_EQ(enqueue("q", 1, {.request = 2, .session = session}), "p: enqueued 2");
}

TEST_F(ProducerSession, FromTheFarFutureIsRefused) {
  EXPECT_EQ(enqueue("q", 1, {.session = create(1h)}), "p: enqueued 1");
  EXPECT_EQ(enqueue("q", 1, {.session = create(1h + 1ms)}), "p: refused invalid_argument");
}

TEST_F(ProducerSession, OfTheCoordinatorItselfNeverExpires) {
  producer_id internal{0, 9};
  enqueue("q", 1, {.request = 1, .session = internal});
  advance(1000h);
  take_snapshot();

  EXPECT_EQ(enqueue("q", 1, {.request = 1, .session = internal}), "p: enqueued 1");
}

TEST_F(ProducerSession, IsWrittenBySnapshotsInWhichItChanged) {
  auto first = create();
  auto second = create();
  enqueue("q", 1, {.session = first});
  enqueue("q", 1, {.session = second});
  take_snapshot();
  EXPECT_EQ(snapshot().producers.size(), 2u);
  enqueue("q", 1, {.session = second});

  take_snapshot();

  ASSERT_EQ(snapshot().producers.size(), 1u);
  EXPECT_EQ(snapshot().producers[0].producer, second);
  EXPECT_EQ(snapshot().producers[0].answers.size(), 2u);
}

TEST_F(ProducerSession, IsForgottenByASnapshot) {
  auto session = create();
  enqueue("q", 1, {.session = session});
  take_snapshot();
  EXPECT_TRUE(snapshot().ended_producers.empty());
  advance(24h);

  take_snapshot();

  EXPECT_EQ(snapshot().ended_producers, std::vector<producer_id>{session});
  EXPECT_TRUE(snapshot().producers.empty());
  EXPECT_TRUE(state().producers.empty());
  EXPECT_TRUE(state().producer_ends.empty());
}

/// One tenant has as many sessions as a shard allows, and another tenant has one.
class ManyProducerSessions : public ProducerSession {
protected:
  ManyProducerSessions() {
    enqueue("q", 1, {.request = 1, .tenant = "small", .session = small_});
    advance(1ms);
    for (std::size_t i = 0; i < limits::producer_sessions_per_shard_max; ++i)
      core::restore_session(state(), {i == 0 ? first_ : create(), 1, now(), {}, "large"});
    advance(1ms);
  }

  std::string enqueue_of(const std::string& tenant, producer_id session) {
    return enqueue("q", 1, {.request = 1, .tenant = tenant, .session = session});
  }

  const producer_id small_ = create();
  /// Least recently used session of the tenant with the most sessions.
  const producer_id first_ = create();
};

TEST_F(ManyProducerSessions, TenantThatHasMostLosesItsOldest) {
  EXPECT_EQ(enqueue_of("large", create()), "p: enqueued 2");
  advance(1ms);

  take_snapshot();

  EXPECT_EQ(state().producer_ends.size(), limits::producer_sessions_per_shard_max);
  EXPECT_EQ(enqueue_of("large", first_), "p: refused session_expired");
  EXPECT_EQ(enqueue_of("small", small_), "p: enqueued 1");
  EXPECT_EQ(enqueue_of("large", create()), "p: enqueued 3");
  EXPECT_EQ(enqueue_of("small", create()), "p: enqueued 4");
}

TEST_F(ManyProducerSessions, ThoseThatEndAnywayMakeRoomFirst) {
  std::vector<producer_id> ended;
  for (int i = 0; i < 10; ++i) {
    ended.push_back(create());
    enqueue_of("large", ended.back());
  }
  for (const auto& session : ended)
    end_session(session);

  take_snapshot();

  // The small tenant has one session, so the large one is still one beyond its share.
  EXPECT_EQ(state().sessions_forgotten, 1u);
  EXPECT_EQ(state().producer_ends.size(), limits::producer_sessions_per_shard_max);
  EXPECT_EQ(state().producers.count(first_), 0u);
  for (const auto& session : ended)
    EXPECT_EQ(state().producers.count(session), 0u);
}

TEST_F(ManyProducerSessions, ForgottenSessionIsNotTakenUpByAnotherTenant) {
  enqueue_of("large", create());
  take_snapshot();

  EXPECT_EQ(enqueue("q", 1, {.request = 2, .tenant = "small", .session = first_}), "p: enqueued 3");
  EXPECT_EQ(enqueue_of("large", first_), "p: refused session_expired");
}

TEST_F(ManyProducerSessions, ForgottenSessionIsRefusedHoweverLongAnotherTenantUsesIt) {
  enqueue_of("large", create());
  take_snapshot();
  enqueue("q", 1, {.request = 2, .tenant = "small", .session = first_});
  advance(13h);
  enqueue("q", 1, {.request = 3, .tenant = "small", .session = first_});
  advance(13h);
  take_snapshot();

  EXPECT_EQ(enqueue_of("large", first_), "p: refused session_expired");
}

TEST_F(ManyProducerSessions, SessionOfSeveralTenantsIsRefusedToEachOnceItIsForgotten) {
  EXPECT_EQ(enqueue("q", 1, {.request = 2, .tenant = "small", .session = first_}), "p: enqueued 2");
  for (std::size_t i = 0; i < limits::producer_sessions_per_shard_max; ++i)
    core::restore_session(state(), {create(), 1, now() + 1ms, {}, ""});

  take_snapshot();

  EXPECT_EQ(enqueue_of("large", first_), "p: refused session_expired");
  EXPECT_EQ(enqueue_of("small", first_), "p: refused session_expired");
  EXPECT_EQ(enqueue_of("third", first_), "p: refused session_expired");
}

TEST_F(ManyProducerSessions, SnapshotTellsWhatIsRefusedAfterARestart) {
  enqueue_of("large", create());
  take_snapshot();
  core::shard_state restarted(shard_id{}, 2);

  core::restore_forgotten(restarted, snapshot().forgotten);

  auto code_of = [&](const std::string& tenant) {
    return core::check_new_session(restarted, first_, tenant, now()).error().code;
  };
  EXPECT_EQ(code_of("large"), errc::session_expired);
  EXPECT_EQ(code_of("small"), errc::none);
}

} // namespace
} // namespace codeq::test
