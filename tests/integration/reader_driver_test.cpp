// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/reader_driver.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/record_codec.hpp"
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
constexpr std::size_t lists_max = 8;

struct pretended_peers {
  static constexpr const char* name = "pretended peers";
};

using shared_lines = std::shared_ptr<std::vector<std::string>>;

/// The actor of a shard, which notes the answers to its look-ups of keys.
shard_internal_actor::behavior_type
pretended_shard(shard_internal_actor::pointer, std::string name, shared_lines log) {
  return {
    [](const peer_request&) {},
    [](const shard_command&) {},
    [](const attach_peer&) {},
    [](const detach_peer&) {},
    [](ask_shard_stats) { return base::coordinator_counts{}; },
    [](stop_shard) { return true; },
    [](const meet_shards&) {},
    [](const batch_committed&) {},
    [name, log](const keys_found& m) {
      auto line = name + " " + std::to_string(m.number);
      for (const auto& key : m.found)
        line += " " + key.name.key;
      log->push_back(std::move(line));
    },
    [](const epoch_raised&) {},
    [](close_turn) {},
    [](look_around) {},
    [](const wake_shard&) {},
    [](const neighbours_moved&) {},
  };
}

/// The reader's actor on an empty store. All replies go to one actor, so that their order can be
/// checked.
class ReaderDriver : public testing::Test {
protected:
  ReaderDriver() {
    reader_driver_options options;
    options.reader.store = store_;
    options.bounds = {hostile_look_ups, lists_max};
    options.meter = meter_;
    reader_ = system_.own(system_.get().spawn(drive_reader, options));
    peers_ = system_.own(system_.get().spawn(
      [log = log_](
        shard_peer_actor::stateful_pointer<pretended_peers>) -> shard_peer_actor::behavior_type {
        return {
          [=](const shard_reply& m) {
            if (const auto* listed = std::get_if<core::tasks_listed>(&m.reply))
              return log->push_back("list " + std::to_string(listed->number));
            using refused_list = protocol::request_refused<schema::ListRequest>;
            if (const auto* refused = std::get_if<refused_list>(&m.reply))
              return log->push_back("list " + std::to_string(refused->number) + " put off");
            const auto& told = std::get<protocol::tasks_told>(m.reply);
            const auto& task = told.tasks.front();
            auto line = "task " + std::to_string(task.seq);
            log->push_back(task.code == errc::overloaded ? line + " put off" : line);
          },
          [=](const task_delivery&) { log->push_back("delivery"); },
          [=](const credit_news&) { log->push_back("delivery"); },
          [](const queues_added&) {},
          [](const peer_misbehaved&) {},
          [](const shard_moved&) {},
          [](places_changed) {},
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

  shard_internal_actor shard(const std::string& name) {
    return system_.own(system_.get().spawn(pretended_shard, name, log_));
  }

  /// An actor of shard 0 looks a key up.
  void find_key(const shard_internal_actor& by, std::uint64_t number, const std::string& key) {
    keys_wanted wanted;
    wanted.number = number;
    wanted.names.push_back({{"default", "q"}, {}, key});
    caf::anon_send(reader_, find_keys{by, std::move(wanted)});
  }

  /// Adds closed tasks of a queue that nobody lists.
  void add_fates(int count) {
    auto writes = std::make_shared<storage::write_set>();
    for (int i = 1; i <= count; ++i) {
      core::segment_fate fate;
      fate.first = static_cast<sequence>(i);
      fate.queue = {"default", "other"};
      fate.entries.resize(1);
      writes->put(storage::fate_key{shard_id{}, fate.first}.encode(), storage::encode(fate, 1));
    }
    std::shared_ptr<const storage::write_set> set = writes;
    ASSERT_TRUE(store_->commit({&set, 1}, storage::durability::os));
  }

  void list(
    core::peer_id peer,
    std::uint64_t number,
    const std::string& tenant = "default",
    bool is_bounded = true) {
    stored_list asked;
    asked.is_bounded = is_bounded;
    asked.in_memory.peer = peer;
    asked.in_memory.number = number;
    asked.in_memory.part.filter = {.tenant = tenant, .queue = "q"};
    asked.in_memory.part.limit = 10;
    caf::anon_send(reader_, list_stored{peers_, std::move(asked)});
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

  std::shared_ptr<storage::memory_store> store_ = std::make_shared<storage::memory_store>();
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

TEST_F(ReaderDriver, ListsOfOneTenantDoNotDelayThoseOfAnother) {
  add_fates(1000);
  for (std::uint64_t number = 1; number <= 50; ++number)
    list(1, number, "many", false);
  list(1, 100, "one", false);
  system_.run();

  EXPECT_EQ(log_->size(), 51u);
  EXPECT_LE(place_of("list 100"), 1u) << "although all of them came through the gateway";
}

TEST_F(ReaderDriver, LookUpsAndDeliveriesComeBetweenTheStepsOfAList) {
  add_fates(1000);
  list(1, 1);
  look_up(1, 7);
  deliver(2);
  system_.run();

  EXPECT_EQ(*log_, (std::vector<std::string>{"delivery", "task 7", "list 1"}));
}

TEST_F(ReaderDriver, AnswersTheActorOfAShardThatHasAsked) {
  const auto earlier = shard("earlier");
  const auto later = shard("later");

  find_key(earlier, 7, "a");
  find_key(later, 1, "b");
  system_.run();

  EXPECT_EQ(*log_, (std::vector<std::string>{"earlier 7 a", "later 1 b"}));
}

TEST_F(ReaderDriver, LooksUpNothingForAShardWhoseActorHasEnded) {
  const auto earlier = shard("earlier");
  const auto later = shard("later");
  caf::anon_send_exit(earlier, caf::exit_reason::user_shutdown);
  system_.run();

  find_key(earlier, 7, "a");
  find_key(later, 1, "b");
  system_.run();

  EXPECT_EQ(*log_, std::vector<std::string>{"later 1 b"});
}

TEST_F(ReaderDriver, PutsTheListsOfAConnectionOffBeyondItsPlaces) {
  for (std::uint64_t number = 1; number <= lists_max + 1; ++number)
    list(1, number);
  list(2, 100);
  for (std::uint64_t number = 200; number <= 200 + lists_max; ++number)
    list(3, number, "default", false);
  system_.run();

  EXPECT_EQ(place_of("list " + std::to_string(lists_max + 1) + " put off"), 0u) << "at once";
  EXPECT_LT(place_of("list 100"), log_->size());
  EXPECT_LT(place_of("list 208"), log_->size()) << "the gateway's callers have bounds of their own";
  EXPECT_EQ(meter_->counts().at("lists_waiting_max"), 1u);
}

} // namespace
} // namespace codeq::test
