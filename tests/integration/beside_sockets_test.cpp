// SPDX-License-Identifier: Apache-2.0
#include "support/channel.hpp"
#include "transport/configure.hpp"
#include "transport/spawn_beside_sockets.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace codeq::test {
namespace {

constexpr std::size_t threads = 2;

struct sender_state {
  std::vector<caf::actor> receivers;
};

struct system_config : caf::actor_system_config {
  system_config() { transport::configure(*this, threads); }
};

class BesideSockets : public testing::Test {
protected:
  ~BesideSockets() override {
    for (auto& actor : actors_)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    actors_.clear();
    transport::finish(system_);
  }

  /// An actor of the scheduler that calls `work` for each number and then reports the number.
  caf::actor make_receiver(std::function<void(int)> work) {
    auto behavior = [said = said, work = std::move(work)](caf::event_based_actor*) {
      return caf::behavior{[said, work](int number) {
        work(number);
        said->push(number);
      }};
    };
    actors_.push_back(system_.spawn(behavior));
    return actors_.back();
  }

  /// Sends each receiver its number, all from one turn of an actor beside the sockets.
  void send_together(std::vector<caf::actor> receivers) {
    auto behavior = [](caf::stateful_actor<sender_state>* self, std::vector<caf::actor> to) {
      self->state.receivers = std::move(to);
      return caf::behavior{[self](caf::ok_atom) {
        int number = 0;
        for (const auto& receiver : self->state.receivers)
          self->send(receiver, number++);
      }};
    };
    actors_.push_back(transport::spawn_beside_sockets(system_, behavior, std::move(receivers)));
    caf::anon_send(actors_.back(), caf::ok_atom::value);
  }

  std::set<int> hear(std::size_t count) {
    std::set<int> heard;
    while (heard.size() < count)
      heard.insert(said->pop().value());
    return heard;
  }

  std::shared_ptr<channel<int>> said = std::make_shared<channel<int>>();

  system_config config_;
  caf::actor_system system_{config_};
  std::vector<caf::actor> actors_;
};

TEST_F(BesideSockets, RunsAllThatWereWokenTogether) {
  std::vector<caf::actor> receivers;
  for (int i = 0; i < 200; ++i)
    receivers.push_back(make_receiver([](int) {}));
  send_together(std::move(receivers));
  EXPECT_EQ(hear(200).size(), 200u);
}

TEST_F(BesideSockets, LetsOneThatTakesLongHoldUpNoOther) {
  auto opened = std::make_shared<std::latch>(1);
  std::vector<caf::actor> receivers;
  for (int i = 0; i < 50; ++i)
    receivers.push_back(make_receiver([opened](int number) {
      if (number == 0)
        opened->wait();
    }));
  send_together(receivers);
  EXPECT_FALSE(hear(49).contains(0));
  // A free thread remains for receivers that are woken later, one by one or together.
  send_together({make_receiver([](int) {})});
  EXPECT_EQ(hear(1), std::set<int>{0});
  opened->count_down();
  EXPECT_EQ(hear(1), std::set<int>{0});
}

TEST_F(BesideSockets, RunsOnTheThreadOfTheSocketsOnly) {
  auto behavior = [](caf::event_based_actor*, std::shared_ptr<channel<std::thread::id>> seen) {
    return caf::behavior{[seen](int) { seen->push(std::this_thread::get_id()); }};
  };
  auto seen = std::make_shared<channel<std::thread::id>>();
  std::vector<caf::actor> both;
  for (int i = 0; i < 2; ++i)
    both.push_back(transport::spawn_beside_sockets(system_, behavior, seen));
  std::set<std::thread::id> threads_seen;
  for (int i = 0; i < 100; ++i) {
    caf::anon_send(both[static_cast<std::size_t>(i) % 2], i);
    threads_seen.insert(seen->pop().value());
  }
  EXPECT_EQ(threads_seen.size(), 1u);
  EXPECT_FALSE(threads_seen.contains(std::this_thread::get_id()));
  for (auto& actor : both)
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

} // namespace
} // namespace codeq::test
