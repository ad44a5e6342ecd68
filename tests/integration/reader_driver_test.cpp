// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/reader_driver.hpp"
#include "storage/memory/memory_store.hpp"
#include "support/deterministic_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace codeq::test {
namespace {

using namespace coordinator;

constexpr std::size_t hostile_look_ups = 5000;

struct pretended_peers {
  static constexpr const char* name = "pretended peers";
};

/// The reader's actor on an empty store. All replies go to one actor, so that their order can be
/// checked.
class ReaderDriver : public testing::Test {
protected:
  ReaderDriver() {
    reader_driver_options options;
    options.reader.store = std::make_shared<storage::memory_store>();
    options.lookups_max = hostile_look_ups;
    options.meter = meter_;
    reader_ = system_.own(system_.get().spawn(drive_reader, options));
    peers_ = system_.own(system_.get().spawn(
      [log = log_](
        shard_peer_actor::stateful_pointer<pretended_peers>) -> shard_peer_actor::behavior_type {
        return {
          [=](const shard_reply& m) {
            const auto& told = std::get<protocol::tasks_told>(m.reply);
            const auto& task = told.tasks.front();
            auto line = "task " + std::to_string(task.seq);
            log->push_back(task.code == errc::overloaded ? line + " put off" : line);
          },
          [=](const task_delivery&) { log->push_back("delivery"); },
          [=](const credit_news&) { log->push_back("delivery"); },
          [](const queues_added&) {},
          [](const peer_misbehaved&) {},
        };
      }));
  }

  void look_up(core::peer_id peer, sequence seq, bool is_bounded = true) {
    stored_inquiry asked;
    asked.is_bounded = is_bounded;
    asked.why = {core::inquiry::kind::ending, peer};
    asked.seq = seq;
    caf::anon_send(reader_, answer_inquiry{peers_, std::move(asked)});
  }

  /// Asks for a body that does not exist; the credit is then returned.
  void deliver(core::peer_id peer) {
    bodies_wanted wanted;
    wanted.granted.peer = peer;
    wanted.granted.runs.resize(1);
    wanted.granted.runs.front().count = 1;
    wanted.bodies.resize(1);
    caf::anon_send(reader_, fetch_bodies{peers_, std::move(wanted)});
  }

  [[nodiscard]] std::size_t place_of(const std::string& line) const {
    auto at = std::find(log_->begin(), log_->end(), line);
    return static_cast<std::size_t>(at - log_->begin());
  }

  deterministic_system system_;
  std::shared_ptr<std::vector<std::string>> log_ = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<observe::limit_meter> meter_ = std::make_shared<observe::limit_meter>();
  reader_actor reader_;
  shard_peer_actor peers_;
};

TEST_F(ReaderDriver, DeliversBeforeItLooksUp) {
  for (sequence seq = 1; seq <= hostile_look_ups; ++seq)
    look_up(1, seq);
  deliver(2);
  system_.run();

  EXPECT_EQ(log_->size(), hostile_look_ups + 1);
  EXPECT_EQ(place_of("delivery"), 0u);
}

TEST_F(ReaderDriver, LookUpsOfOnePeerDoNotDelayThoseOfAnother) {
  for (sequence seq = 1; seq <= hostile_look_ups; ++seq)
    look_up(1, seq);
  look_up(2, hostile_look_ups + 1);
  system_.run();

  EXPECT_EQ(log_->size(), hostile_look_ups + 1);
  EXPECT_LE(
    place_of("task " + std::to_string(hostile_look_ups + 1)),
    lookup_queue<stored_inquiry>::turn_max);
}

TEST_F(ReaderDriver, PutsTheLookUpsOfAConnectionOffBeyondItsPlaces) {
  for (sequence seq = 1; seq <= hostile_look_ups + 2; ++seq)
    look_up(1, seq);
  look_up(2, 7'000);
  for (sequence seq = 0; seq <= hostile_look_ups; ++seq)
    look_up(3, 10'000 + seq, false);
  system_.run();

  EXPECT_EQ(
    std::count_if(
      log_->begin(),
      log_->end(),
      [](const std::string& line) { return line.ends_with("put off"); }),
    2)
    << "other connections and the gateway have their own places";
  EXPECT_LT(place_of("task 5002 put off"), place_of("task 1")) << "at once";
  EXPECT_LT(place_of("task 7000"), log_->size());
  EXPECT_EQ(meter_->counts().at("lookups_waiting_max"), 2u);
}

TEST_F(ReaderDriver, LooksUpWhileAPeerAsksForMoreThanItRefuses) {
  constexpr sequence refused = 2000;
  for (sequence seq = 1; seq <= hostile_look_ups + refused; ++seq)
    look_up(1, seq);
  system_.run();

  auto last_refusal = "task " + std::to_string(hostile_look_ups + refused) + " put off";
  EXPECT_LT(place_of("task 1"), place_of(last_refusal));
}

} // namespace
} // namespace codeq::test
