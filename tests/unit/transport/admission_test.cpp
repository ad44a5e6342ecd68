// SPDX-License-Identifier: Apache-2.0
#include "transport/admission.hpp"

#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace codeq::transport {

namespace {

using namespace std::chrono_literals;

caf::behavior idle(caf::event_based_actor*) {
  return {[](int) {}};
}

class Admission : public ::testing::Test {
protected:
  std::shared_ptr<admission_ticket> admit() {
    auto place = places->admit("10.0.0.1");
    EXPECT_TRUE(place);
    return place->ticket;
  }

  caf::actor_addr spawn_connection() {
    return caf::actor_cast<caf::actor_addr>(system.own(system.get().spawn(idle)));
  }

  test::deterministic_system system;
  const admission::time_point now{1h};
  std::shared_ptr<admission> places = std::make_shared<admission>(8, 8);
};

} // namespace

TEST_F(Admission, AConnectionIsOverdueOnceAfterItsDeadline) {
  auto ticket = admit();
  EXPECT_TRUE(ticket->wait_until(spawn_connection(), now));

  EXPECT_TRUE(places->take_overdue(now - 1ms).empty());
  EXPECT_EQ(places->take_overdue(now).size(), 1u);
  EXPECT_TRUE(places->take_overdue(now).empty());
}

TEST_F(Admission, AStopReturnsTheConnectionsThatWait) {
  auto waiting = admit();
  EXPECT_TRUE(waiting->wait_until(spawn_connection(), now));
  auto accepted = admit();
  EXPECT_TRUE(accepted->wait_until(spawn_connection(), now));
  accepted->authenticated();

  EXPECT_EQ(places->stop().size(), 1u);
}

TEST_F(Admission, AConnectionThatBeginsAfterTheStopHasToClose) {
  auto late = admit();
  EXPECT_TRUE(places->stop().empty());

  EXPECT_FALSE(late->wait_until(spawn_connection(), now));
}

} // namespace codeq::transport
