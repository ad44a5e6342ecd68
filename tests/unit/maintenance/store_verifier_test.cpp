// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/blocks/segment_block.hpp"
#include "storage/keys/keyspace.hpp"
#include "storage/records/replica_codec.hpp"
#include "storage/records/retention_codec.hpp"
#include "unit/maintenance/verifier_fixture.hpp"

#include <functional>
#include <numeric>
#include <vector>

namespace codeq::maintenance {
namespace {

using namespace std::chrono_literals;
using namespace storage;

/// A store with a record of nearly every kind: tasks 1..4 share a segment, in which 1 has completed
/// and 2 is leased; 5 is dead; 6 is deferred and has a key and another body; 7 has completed, is
/// closed and had a key.
class StoreVerifier : public verifier_fixture {
protected:
  StoreVerifier() {
    attach("w", {"q"});
    claim("w", 2);
    enqueue("q", 4);
    complete("w", held(1, 1), "result");
    enqueue("other");
    force(5, force_kind::fail);
    enqueue("q", 1, {.delay = 1h, .key = "six"});
    enqueue(
      "q",
      1,
      {.delay = 2h, .key = "six", .duplicate = on_duplicate::defer, .replace_payload = true});
    enqueue("q", 1, {.key = "seven"});
    force(7, force_kind::complete);
    queue_config settings;
    settings.max_depth = 1'000;
    act_as(std::make_shared<const core::command_origin>(
      core::command_origin{now(), 5, "ada", "default", "192.0.2.1:5"}));
    configure("q", settings);
    act_as(nullptr);
    take_snapshot();
    nack("w", held(2, 2), 1h);
    write();
  }

  static std::string segment() { return segment_key{only_shard, task(1)}.encode(); }

  std::string value_of(const std::string& key) {
    auto value = store_.read(key);
    EXPECT_TRUE(value && *value);
    return value && *value ? **value : std::string();
  }

  static std::string block() { return block_key{only_shard, task(1)}.encode(); }

  /// Unpacks the block of all segments, changes them and writes it back.
  void change_block(const std::function<void(std::vector<core::segment>&)>& change) {
    auto packed = decode_block(value_of(block()), task(1));
    ASSERT_TRUE(packed);
    auto queues = core::block_reader::queues_of(packed->packed.view());
    ASSERT_TRUE(queues);
    std::vector<std::uint32_t> numbers(queues->size());
    std::iota(numbers.begin(), numbers.end(), 0);
    core::block_reader reader(packed->packed.view(), numbers);
    std::vector<core::segment> segments;
    while (auto s = reader.next())
      segments.push_back(std::move(*s));
    change(segments);
    core::block_builder builder(
      [&](std::uint32_t number) -> const queue_address& { return (*queues)[number]; });
    for (const auto& s : segments)
      builder.add(s);
    put(block(), encode({task(1), bytes(builder.take())}, 1));
  }
};

TEST_F(StoreVerifier, FindsNothingInASoundStore) {
  auto report = verify();

  EXPECT_EQ(findings(), "");
  EXPECT_EQ(report.findings_count, 0u);
  EXPECT_EQ(report.store_id, 7u);
  EXPECT_EQ(report.epoch, 1u);
  const auto& records = report.records.at(only_shard);
  for (const char* kind :
       {"snapshot",
        "segment",
        "aside",
        "grant",
        "outcome",
        "block",
        "queue",
        "totals",
        "fate",
        "key",
        "body",
        "dead",
        "history",
        "audit",
        "producer"})
    EXPECT_TRUE(records.contains(kind)) << kind;
}

TEST_F(StoreVerifier, SaysOfAReplicaWithAPartOfACopyOnlyThatItIsIncomplete) {
  write();
  remove(segment());
  put(
    replica_key{only_shard}.encode(), encode(replica_record{replication::replica_id{9}, 3, true}));

  const auto report = verify();

  EXPECT_EQ(report.findings, std::vector<std::string>{});
  EXPECT_EQ(
    report.notes,
    std::vector<std::string>{"shard 0: is a part of a copy that was not finished"});
}

TEST_F(StoreVerifier, TakesEndsOfOneTurnInAnyOrderOfTheirTimes) {
  test::enqueue_options kept_for_a_week;
  kept_for_a_week.settings.retention = 7 * 24h;
  enqueue("late", 2);
  enqueue("late", 1, kept_for_a_week);
  together([&] {
    force(8, force_kind::complete);
    advance(1s);
    force(10, force_kind::complete);
    advance(1s);
    force(9, force_kind::complete);
  });

  EXPECT_EQ(findings(), "");
}

TEST_F(StoreVerifier, NamesHistoryEntriesOfTooManyTasksOrInAWrongPlace) {
  auto shared = [](std::uint32_t tasks, std::uint32_t number) {
    core::task_note note;
    note.segment = task(1);
    note.tasks = tasks;
    note.number = number;
    return encode(note);
  };
  auto under = [](std::uint8_t slot) { return history_key{only_shard, task(1), slot}.encode(); };

  put(under(history_key::shared_slot), shared(2, 0));
  EXPECT_EQ(findings(), "");
  put(under(history_key::shared_slot), shared(3, 1));
  EXPECT_NE(findings().find("is entry 1 in a wrong place"), std::string::npos) << findings();
  put(under(history_key::shared_slot), shared(17, 0));
  EXPECT_NE(findings().find("is the entry of 17 tasks"), std::string::npos) << findings();
  put(under(history_key::shared_slot), shared(2, 0));
  put(under(0), shared(2, 0));
  EXPECT_NE(findings().find("is entry 0 in a wrong place"), std::string::npos) << findings();
}

TEST_F(StoreVerifier, StoreWithoutItsOwnRecordCannotBeChecked) {
  remove(store_key{}.encode());

  store_report report;
  auto ok = verify_records(store_, 100, report);

  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, errc::corruption);
}

TEST_F(StoreVerifier, NewerFormatCannotBeChecked) {
  auto record = identity();
  record.version = format_version + 1;
  put(store_key{}.encode(), encode(record));

  store_report report;
  auto ok = verify_records(store_, 100, report);

  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, errc::incompatible_store);
}

TEST_F(StoreVerifier, TellsOfNoMoreFindingsThanAsked) {
  for (char last = 'a'; last < 'k'; ++last)
    put(std::string("?") + last, "");

  auto report = verify(3);

  EXPECT_EQ(report.findings.size(), 3u);
  EXPECT_EQ(report.findings_count, 10u);
  EXPECT_EQ(report.findings.front(), "key 0x3f61: is of no kind that is known");
}

TEST_F(StoreVerifier, ResultsOfEndedTasksMayBeGone) {
  take_snapshot();
  write();
  auto range = outcomes_of(only_shard);
  auto outcomes = test::read_all(store_, range.begin, range.end);
  for (const auto& [key, value] : *outcomes)
    if (*outcome_key::decode(key) < outcome_key::decode(outcomes->rbegin()->first))
      remove(key);

  auto report = verify();

  EXPECT_EQ(report.findings_count, 0u) << report.findings.front();
  EXPECT_EQ(report.notes.size(), 1u);
}

} // namespace

/// Checks that each way of damaging a sound store is found.
class harmed_store : public StoreVerifier {
public:
  void TestBody() override {}

  using StoreVerifier::block;
  using StoreVerifier::change_block;
  using StoreVerifier::findings;
  using StoreVerifier::only_shard;
  using StoreVerifier::put;
  using StoreVerifier::remove;
  using StoreVerifier::segment;
  using StoreVerifier::task;
  using StoreVerifier::value_of;
};

namespace {

struct harm {
  const char* name;
  std::function<void(harmed_store&)> apply;
  /// Part of the expected finding.
  const char* finding;
};

constexpr std::uint64_t never_given = std::uint64_t{9} << 39;
constexpr std::uint64_t first_position = (std::uint64_t{1} << 39) + 1;

/// The value of an entry of the audit log.
std::string audit_value(operator_action action, const std::string& tenant) {
  core::audit_entry entry;
  entry.by = std::make_shared<const core::command_origin>();
  entry.action = action;
  entry.tenant = tenant;
  entry.queue = "q";
  return encode(entry);
}

std::string audit_key_at(core::log_position position) {
  return audit_key{harmed_store::only_shard, 1000, 5, position}.encode();
}

const harm harms[] = {
  {"AuditUnreadable",
   [](auto& s) { s.put(audit_key_at(first_position), "?"); },
   "audit 0/1000-5 1:1: cannot be read"},
  {"AuditOfANewerPosition",
   [](auto& s) { s.put(audit_key_at(never_given), audit_value(operator_action::cancel, "t")); },
   "audit 0/1000-5 9:0: "},
  {"AuditOfAnUnknownCommand",
   [](auto& s) {
     auto unknown = static_cast<operator_action>(200);
     s.put(audit_key_at(first_position), audit_value(unknown, "t"));
   },
   "audit 0/1000-5 1:1: is of an unknown kind of command"},
  {"AuditOfAQueueWithoutATenant",
   [](auto& s) { s.put(audit_key_at(first_position), audit_value(operator_action::cancel, "")); },
   "audit 0/1000-5 1:1: is of a queue without a tenant"},
  {"SegmentLost", [](auto& s) { s.remove(s.segment()); }, "block 0/1:1 segment 1:1: is not there"},
  {"SegmentUnreadable", [](auto& s) { s.put(s.segment(), "?"); }, "segment 0/1:1: cannot be read"},
  {"SegmentOverlaps",
   [](auto& s) {
     s.put(segment_key{s.only_shard, s.task(3)}.encode(), s.value_of(s.segment()));
   },
   "segment 0/1:3: overlaps the one before it"},
  {"SegmentNeverGiven",
   [](auto& s) {
     s.put(segment_key{s.only_shard, never_given}.encode(), s.value_of(s.segment()));
   },
   "segment 0/9:0: sequence 9:0 was never given"},
  {"SegmentClosedAndThere",
   [](auto& s) {
     s.put(segment_key{s.only_shard, s.task(7)}.encode(), s.value_of(s.segment()));
   },
   "segment 0/1:7: is there although it was closed"},
  {"AsideWithinASegment",
   [](auto& s) {
     s.put(
       aside_key{s.only_shard, s.task(2)}.encode(),
       s.value_of(aside_key{s.only_shard, s.task(6)}.encode()));
   },
   "aside 0/1:2: lies within a segment"},
  {"BlockLost",
   [](auto& s) { s.remove(s.block()); },
   "shard 0: cannot be recovered: codeq: broken invariant"},
  {"BlockUnreadable", [](auto& s) { s.put(s.block(), "?"); }, "block 0/1:1: cannot be read"},
  {"BlockOfOtherBytes",
   [](auto& s) {
     s.put(s.block(), encode({s.task(1), bytes("?")}, 1));
   },
   "block 0/1:1: cannot be read: these are not the bytes of a block"},
  {"BlockShort",
   [](auto& s) {
     auto block = decode_block(s.value_of(s.block()), s.task(1));
     block->packed = block->packed.slice(0, block->packed.size() - 1);
     s.put(s.block(), encode(*block, 1));
   },
   "block 0/1:1: does not hold what its header says"},
  {"BlockOverlaps",
   [](auto& s) {
     s.put(block_key{s.only_shard, s.task(3)}.encode(), s.value_of(s.block()));
   },
   "block 0/1:3: overlaps the one before it"},
  {"BlockForgetsASegment",
   [](auto& s) { s.change_block([](auto& segments) { segments.erase(segments.begin() + 1); }); },
   "segment 0/1:5: is older than the snapshot, which does not know it"},
  {"BlockForgetsADeath",
   [](auto& s) { s.change_block([](auto& segments) { segments[1].entries.clear(); }); },
   "dead 0/1:5: is of a task that is not dead"},
  {"PackedTokenNeverGiven",
   [](auto& s) {
     s.change_block(
       [](auto& segments) { segments[0].entries[0].token = fencing_token{never_given}; });
   },
   "block 0/1:1 segment 1:1 task 1:1: token 9:0 was never given"},
  {"PackedEndOfAnother",
   [](auto& s) {
     s.change_block([](auto& segments) { segments[0].entries[0].outcome_index = 7; });
   },
   "block 0/1:1 segment 1:1 task 1:1: ended as is told of another task"},
  {"PackedShort",
   [](auto& s) {
     s.change_block([](auto& segments) {
       --segments[0].count;
       segments[0].entries.pop_back();
     });
   },
   "block 0/1:1 segment 1:1: is said to have another number of tasks than it has"},
  {"PackedInAnotherLane",
   [](auto& s) { s.change_block([](auto& segments) { segments[1].priority = 9; }); },
   "block 0/1:1 segment 1:5: is said to be in another lane than it is"},
  {"PackedThoughClosed",
   [](auto& s) {
     s.change_block([](auto& segments) {
       for (auto& entry : segments[0].entries)
         entry.state = task_state::completed;
     });
   },
   "block 0/1:1 segment 1:1: should be closed"},
  {"DeadLost",
   [](auto& s) {
     s.remove(dead_key{s.only_shard, s.task(5)}.encode());
   },
   "is dead, and nothing says why"},
  {"DeadWhoLives",
   [](auto& s) {
     s.put(
       dead_key{s.only_shard, s.task(3)}.encode(),
       s.value_of(dead_key{s.only_shard, s.task(5)}.encode()));
   },
   "dead 0/1:3: is of a task that is not dead"},
  {"BodyLost",
   [](auto& s) {
     s.remove(body_key{s.only_shard, s.task(6)}.encode());
   },
   "was given another body, which is missing"},
  {"BodyOfNobody",
   [](auto& s) {
     s.put(body_key{s.only_shard, s.task(3)}.encode(), "");
   },
   "body 0/1:3: is of a task whose body was not replaced"},
  {"CheckpointOfNobody",
   [](auto& s) {
     core::lease_checkpoint left{s.task(5), {fencing_token{s.task(1)}, 1}, {}};
     s.put(checkpoint_key{s.only_shard, s.task(5)}.encode(), encode(left, {}));
   },
   "task-checkpoint 0/1:5: is of a task that is not live"},
  {"CheckpointTokenNeverGiven",
   [](auto& s) {
     core::lease_checkpoint left{s.task(3), {fencing_token{never_given}, 1}, {}};
     s.put(checkpoint_key{s.only_shard, s.task(3)}.encode(), encode(left, {}));
   },
   "task-checkpoint 0/1:3: token 9:0 was never given"},
  {"ScheduleWithoutProgress",
   [](auto& s) {
     s.put(schedule_key{s.only_shard, {"t", "s"}}.encode(), encode(core::schedule_definition{}));
   },
   "schedule 0/t/s: has no progress"},
  {"OccurrenceOfAnEndedTaskCountsAsRunning",
   [](auto& s) {
     core::schedule_progress progress;
     core::open_occurrence open;
     open.entry.task = s.task(1);
     progress.open.push_back(open);
     schedule_address name{"t", "s"};
     s.put(schedule_key{s.only_shard, name}.encode(), encode(core::schedule_definition{}));
     s.put(progress_key{s.only_shard, name}.encode(), encode(progress, 0, {}));
   },
   "counts task 1:1 as running, which has ended"},
  {"OccurrenceOfNoSchedule",
   [](auto& s) {
     core::occurrence third;
     third.number = 3;
     s.put(occurrence_key{s.only_shard, {"t", "s"}, 3}.encode(), encode(third));
   },
   "occurrence 0/t/s#3: is of no entry of a schedule's history"},
  {"ChangeMergedAndThere",
   [](auto& s) {
     core::tasks_changed e;
     e.position = s.task(2);
     s.put(change_key{s.only_shard, e.position}.encode(), encode(e));
   },
   "change 0/1:2: is there although a snapshot holds what it came to"},
  {"OutcomeElsewhere",
   [](auto& s) {
     core::leases_ended e;
     e.position = s.task(2);
     s.put(outcome_key{s.only_shard, s.task(1)}.encode(), encode(e));
   },
   "outcome 0/1:1: says that it is at position 1:2"},
  {"SnapshotLost",
   [](auto& s) { s.remove(shard_key{s.only_shard}.encode()); },
   "shard 0: cannot be recovered: corruption: blocks without a snapshot"},
  {"TotalsLost",
   [](auto& s) {
     s.remove(totals_key{s.only_shard, {"default", "q"}}.encode());
   },
   "I9: fewer ends are counted than tasks have ended"},
  {"TotalsUnreadable",
   [](auto& s) {
     s.put(totals_key{s.only_shard, {"default", "q"}}.encode(), "?");
   },
   "totals 0/default/q: cannot be read"},
  {"PurgeOfTasksThatNeverWere",
   [](auto& s) {
     core::queue_totals totals{{"default", "q"}, 9, 9, 9, 9, ~sequence{0}};
     s.put(totals_key{s.only_shard, {"default", "q"}}.encode(), encode(totals));
   },
   "totals 0/default/q: says that tasks were purged that there never were"},
  {"KeyOfALiveTask",
   [](auto& s) {
     core::retained_key record{s.task(6), s.task(6), {}};
     s.put(key_key{s.only_shard, {{"default", "q"}, "", "x"}}.encode(), encode(record));
   },
   "key 0/default/q group 0x name 0x78: is kept for a task that is not closed"},
  {"QueueUnreadable",
   [](auto& s) {
     s.put(queue_key{s.only_shard, {"default", "q"}}.encode(), "?");
   },
   "queue 0/default/q: cannot be read"},
  {"UnknownShard",
   [](auto& s) { s.put(shard_key{shard_id{4}}.encode(), ""); },
   "key 0x430004: belongs to a shard that the store does not have"},
};

class HarmedStore : public testing::TestWithParam<harm> {};

TEST_P(HarmedStore, IsFound) {
  harmed_store store;

  GetParam().apply(store);

  EXPECT_NE(store.findings().find(GetParam().finding), std::string::npos) << store.findings();
}

INSTANTIATE_TEST_SUITE_P(Harms, HarmedStore, testing::ValuesIn(harms), [](const auto& info) {
  return std::string(info.param.name);
});

} // namespace
} // namespace codeq::maintenance
