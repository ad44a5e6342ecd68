// SPDX-License-Identifier: Apache-2.0
#include "base/tuning.hpp"
#include "integration/coordinator_fixture.hpp"
#include "protocol/task_convert.hpp"

#include <gmock/gmock.h>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

using principal_ptr = std::shared_ptr<const security::principal>;

principal_ptr worker_of(const std::string& tenant, const std::string& queue) {
  security::principal who;
  who.subject = "w";
  who.tenant = tenant;
  who.role = security::role::worker;
  who.queues = {queue};
  return std::make_shared<const security::principal>(who);
}

principal_ptr admin_of(const std::string& tenant) {
  security::principal who;
  who.subject = "boss";
  who.tenant = tenant;
  who.role = security::role::admin;
  return std::make_shared<const security::principal>(who);
}

sequence real(std::uint64_t number) {
  return core::first_of_epoch(1) + number - 1;
}

protocol::heartbeat_request beat_of(std::uint64_t seq, std::uint64_t token) {
  return protocol::heartbeat_request::build([&](auto r) {
    auto beat = r.initLeases(1)[0];
    beat.setSeq(real(seq));
    beat.setToken(real(token));
  });
}

protocol::result_request completion_of(std::uint64_t seq, std::uint64_t token) {
  return protocol::result_request::build([&](auto r) {
    auto report = r.initReports(1)[0];
    report.setSeq(real(seq));
    report.setToken(real(token));
    r.initTexts().initEnds(1);
  });
}

/// The same with a follow-up for that tenant.
protocol::result_request
completion_of(std::uint64_t seq, std::uint64_t token, const std::string& tenant) {
  task_spec next;
  next.tenant = tenant;
  next.queue = "q";
  auto encoded = protocol::encoded_tasks::encode({&next, 1});
  return protocol::result_request::build([&](auto r) {
    auto report = r.initReports(1)[0];
    report.setSeq(real(seq));
    report.setToken(real(token));
    encoded->write_follow_ups(report.initFollowUps());
    r.initTexts().initEnds(1);
  });
}

protocol::await_request await_of(std::uint64_t seq) {
  return protocol::await_request::build([&](auto r) { r.initSeqs(1).set(0, real(seq)); });
}

protocol::change_request change_of(std::uint64_t seq, schema::TaskChange change) {
  return protocol::change_request::build([&](auto r) {
    r.setNumber(7);
    r.initTask().setSeq(real(seq));
    r.setChange(change);
  });
}

/// Task 1 of queue `q` of tenant `default` is leased to `w` under token 1 for 10 s.
class CoordinatorAccess : public coordinator_fixture {
protected:
  void SetUp() override {
    start();
    auto producer = attach("");
    worker_ = attach("w", 1, ours_);
    add_credits(worker_, 1);
    enqueue(producer, 1, 1, 10s);
    ASSERT_THAT(take(worker_), ElementsAre("drained", "tasks 1/t1"));
  }

  core::peer_id worker_ = 0;
  principal_ptr ours_ = worker_of("default", "q");
  std::vector<principal_ptr> foreign_{worker_of("other", "*"), worker_of("default", "p")};
};

TEST_F(CoordinatorAccess, BeatOfAForeignWorkerIsStaleAndExtendsNothing) {
  for (const auto& bearer : foreign_) {
    auto stranger = attach("s", 1, bearer);
    advance(4s);
    send(stranger, beat_of(1, 1), bearer);
    EXPECT_THAT(take(stranger), ElementsAre("lost 1"));
  }

  advance(3s);

  EXPECT_THAT(take(worker_), ElementsAre("lost 1", "has work"));
}

TEST_F(CoordinatorAccess, OwnWorkerMayBeat) {
  for (int i = 0; i < 4; ++i) {
    advance(4s);
    send(worker_, beat_of(1, 1), ours_);
  }

  EXPECT_THAT(take(worker_), IsEmpty());
}

TEST_F(CoordinatorAccess, ReportOfAForeignWorkerIsOfAnUnknownTask) {
  for (const auto& bearer : foreign_) {
    auto stranger = attach("s", 1, bearer);
    send(stranger, completion_of(1, 1), bearer);
    EXPECT_THAT(take(stranger), ElementsAre("answer 1 unknown_task"));
  }

  send(worker_, completion_of(1, 1), ours_);

  EXPECT_THAT(take(worker_), ElementsAre("answer 1 none"));
}

TEST_F(CoordinatorAccess, RepeatedReportOfAForeignWorkerIsOfAnUnknownTaskForEver) {
  send(worker_, completion_of(1, 1), ours_);
  take(worker_);
  advance(2 * tuning::snapshot_interval);

  for (const auto& bearer : foreign_) {
    auto stranger = attach("s", 1, bearer);
    send(stranger, completion_of(1, 1), bearer);
    EXPECT_THAT(take(stranger), ElementsAre("answer 1 unknown_task"));
  }
  send(worker_, completion_of(1, 1), ours_);

  EXPECT_THAT(take(worker_), ElementsAre("answer 1 already"));
}

TEST_F(CoordinatorAccess, FollowUpForAnotherTenantIsRefusedAndTheLeaseStays) {
  send(worker_, completion_of(1, 1, "other"), ours_);
  EXPECT_THAT(take(worker_), ElementsAre("answer 1 invalid_argument"));

  send(worker_, completion_of(1, 1, "default"), ours_);

  EXPECT_THAT(take(worker_), ElementsAre("answer 1 none", "has work"));
}

TEST_F(CoordinatorAccess, AwaitedTaskOfAnotherTenantIsUnknownAtOnce) {
  auto bearer = admin_of("other");
  auto stranger = attach("", 1, bearer);
  send(stranger, await_of(1), bearer);
  EXPECT_THAT(take(stranger), ElementsAre("ended 1 unknown_task"));

  send(worker_, completion_of(1, 1), ours_);

  EXPECT_THAT(take(stranger), IsEmpty());
}

TEST_F(CoordinatorAccess, ChangesOfAnotherTenantsTaskAreOfAnUnknownTask) {
  auto bearer = admin_of("other");
  auto stranger = attach("", 1, bearer);
  for (auto change :
       {schema::TaskChange::CANCEL,
        schema::TaskChange::PROMOTE,
        schema::TaskChange::REDRIVE,
        schema::TaskChange::PURGE}) {
    send(stranger, change_of(1, change), bearer);
    EXPECT_THAT(
      take(stranger),
      ElementsAre("refusal 7 unknown_task: no such task, or it is past its retention"));
  }

  EXPECT_THAT(take(worker_), IsEmpty());
}

TEST_F(CoordinatorAccess, AdminOfTheTenantAndOfAllMayChange) {
  for (const auto& bearer : {admin_of("default"), admin_of("*")}) {
    auto boss = attach("", 1, bearer);
    send(boss, change_of(1, schema::TaskChange::CANCEL), bearer);
    EXPECT_THAT(take(boss), ElementsAre("changed 7"));
  }
}

} // namespace
} // namespace codeq::test
