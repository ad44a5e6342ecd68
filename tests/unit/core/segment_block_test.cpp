// SPDX-License-Identifier: Apache-2.0
#include "core/blocks/segment_block.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

/// Generates segments of all kinds, of two queues.
class segment_maker {
public:
  explicit segment_maker(std::uint64_t seed) : random_(static_cast<std::uint32_t>(seed)) {}

  segment next() {
    segment s;
    s.first = next_;
    s.count = hits(3) ? 1 : 1 + below(70);
    next_ += s.count + (hits(4) ? below(1000) : 0);
    s.queue = 7 + below(2);
    s.priority = static_cast<std::uint8_t>(below(10));
    if (hits(4))
      s.settings.lease = duration{below(50'000)};
    if (hits(9))
      s.settings.when_dead = on_dead::block;
    s.enqueued_at = timestamp{duration{1'700'000'000'000 + below(100'000)}};
    s.appended = position_ += below(5);
    s.body_bytes = below(3'000'000);
    if (hits(3))
      s.set_mark(
        {hits(4) ? std::string() : std::string("key\0\xff/", 6) + std::to_string(below(3)),
         static_cast<std::uint16_t>(1 + below(1000))});
    if (s.count == 1 && hits(2))
      make_aside(s);
    s.kept = s.count;
    if (s.aside || hits(2))
      touch(s);
    return s;
  }

private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  bool hits(std::uint32_t one_of) { return below(one_of) == 0; }

  void make_aside(segment& s) {
    s.aside = true;
    if (hits(2))
      s.not_before = timestamp{duration{1'700'000'000'000 + below(1'000'000'000)}};
    s.allow_promotion = hits(2);
    if (hits(3))
      s.group = std::string("group\0with a zero", 17);
    if (hits(3))
      s.key = std::make_unique<held_key>(held_key{"key", position_ + below(9)});
    s.replaced = s.key && hits(2);
  }

  void touch(segment& s) {
    for (std::uint32_t i = 0; i < s.count; ++i) {
      task_entry e;
      if (hits(3)) {
        e.state = static_cast<task_state>(below(7));
        e.token = static_cast<fencing_token>(hits(4) ? 0 : token_ += below(3));
        e.outcome = hits(2) ? 0 : position_ + below(3);
        e.outcome_index = below(200);
        e.retry_at = timestamp{duration{hits(2) ? 0 : 1'700'000'000'000 + below(900'000)}};
        e.notes = below(40);
        e.attempt = static_cast<std::uint16_t>(below(1000));
        e.last_end = static_cast<lease_end_kind>(below(10));
        e.lost = static_cast<std::uint8_t>(below(256));
        e.refunds = static_cast<std::uint8_t>(below(21));
        e.cancelling = hits(5);
        e.gone = hits(5);
      }
      s.entries.push_back(e);
    }
    s.kept = static_cast<std::uint32_t>(std::count_if(s.entries.begin(), s.entries.end(), is_kept));
  }

  std::minstd_rand random_;
  sequence next_ = (std::uint64_t{3} << 39) + 1;
  log_position position_ = (std::uint64_t{3} << 39) + 50;
  std::uint64_t token_ = (std::uint64_t{3} << 39) + 9;
};

const std::vector<queue_address> names{{"default", "a"}, {"other", "b"}};

/// Queue number 7 is the first name.
const queue_address& name_of(std::uint32_t queue) {
  return names.at(queue - 7);
}

std::vector<std::uint32_t> numbers_of(std::string_view packed) {
  std::vector<std::uint32_t> numbers;
  auto queues = block_reader::queues_of(packed);
  for (const auto& queue : queues.value_or(std::vector<queue_address>{}))
    numbers.push_back(queue == names[0] ? 7 : 8);
  return numbers;
}

void expect_equal(const segment& a, const segment& b) {
  EXPECT_EQ(a.first, b.first);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.kept, b.kept);
  EXPECT_EQ(a.queue, b.queue);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.aside, b.aside);
  EXPECT_EQ(a.settings, b.settings);
  EXPECT_EQ(a.enqueued_at, b.enqueued_at);
  EXPECT_EQ(a.not_before, b.not_before);
  EXPECT_EQ(a.allow_promotion, b.allow_promotion);
  EXPECT_EQ(a.group, b.group);
  EXPECT_EQ(a.replaced, b.replaced);
  EXPECT_EQ(a.appended, b.appended);
  EXPECT_EQ(a.body_bytes, b.body_bytes);
  EXPECT_EQ(a.entries, b.entries);
  EXPECT_EQ(a.mark(), b.mark());
  ASSERT_EQ(!a.key, !b.key);
  if (!a.key)
    return;
  EXPECT_EQ(a.key->name, b.key->name);
  EXPECT_EQ(a.key->since, b.key->since);
}

/// With each version of blocks that is read.
class SegmentBlock : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(
  Versions, SegmentBlock, testing::Range(block_version_oldest, block_version_newest + 1));

TEST_P(SegmentBlock, HoldsEverythingOfItsSegments) {
  segment_maker maker(test::choose_seed());
  for (int round = 0; round < 50; ++round) {
    block_builder builder(name_of, GetParam());
    std::vector<segment> added;
    for (int i = 0; i <= round; ++i) {
      added.push_back(maker.next());
      builder.add(added.back());
    }
    EXPECT_EQ(builder.first(), added.front().first);
    auto packed = builder.take();
    auto queues = numbers_of(packed);
    block_reader reader(packed, queues);

    EXPECT_EQ(reader.segments(), added.size());
    for (const auto& s : added) {
      auto read = reader.next();
      ASSERT_TRUE(read);
      expect_equal(*read, s);
    }
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.failed());
  }
}

TEST_P(SegmentBlock, FindsTheSegmentOfATask) {
  segment_maker maker(test::choose_seed());
  block_builder builder(name_of, GetParam());
  std::vector<segment> added;
  for (int i = 0; i < 100; ++i) {
    added.push_back(maker.next());
    builder.add(added.back());
  }
  auto packed = builder.take();
  auto queues = numbers_of(packed);

  for (const auto& s : added) {
    auto found = block_reader(packed, queues).next(s.first + s.count - 1);
    ASSERT_TRUE(found);
    expect_equal(*found, s);
  }
  EXPECT_FALSE(block_reader(packed, queues).next(added.back().first + added.back().count));
}

TEST_P(SegmentBlock, LookUpOfATaskBetweenSegmentsReadsNone) {
  block_builder builder(name_of, GetParam());
  for (sequence first : {10, 20}) {
    segment s;
    s.first = first;
    s.count = s.kept = 2;
    s.queue = 7;
    builder.add(s);
  }
  auto packed = builder.take();
  auto queues = numbers_of(packed);
  block_reader reader(packed, queues);

  EXPECT_FALSE(reader.find(9));
  EXPECT_EQ(reader.end(), 0u);
  EXPECT_FALSE(reader.find(15));
  EXPECT_EQ(reader.end(), 12u);
  auto found = reader.find(21);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 20u);
  EXPECT_FALSE(reader.find(30));
}

TEST_P(SegmentBlock, DamagedBytesAreRefusedOrReadAsSomething) {
  segment_maker maker(test::choose_seed());
  block_builder builder(name_of, GetParam());
  for (int i = 0; i < 20; ++i)
    builder.add(maker.next());
  auto whole = builder.take();
  auto queues = numbers_of(whole);
  std::minstd_rand random(1);

  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto cut = whole.substr(0, size);
    block_reader reader(cut, queues);
    while (reader.next()) {
    }
    EXPECT_TRUE(reader.failed()) << size;
  }
  for (int i = 0; i < 5'000; ++i) {
    auto damaged = whole;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    block_reader reader(damaged, queues);
    while (reader.next()) {
    }
  }
}

TEST_P(SegmentBlock, UntouchedTaskTakesFewBytes) {
  block_builder builder(name_of, GetParam());
  constexpr std::uint32_t segments = 256;
  for (std::uint32_t i = 0; i < segments; ++i) {
    segment s;
    s.first = 1'000'000 + i;
    s.count = s.kept = 1;
    s.queue = 7;
    s.enqueued_at = timestamp{duration{1'700'000'000'000 + i / 30}};
    s.appended = 5'000'000 + i;
    s.body_bytes = 300;
    builder.add(s);
  }

  EXPECT_LE(builder.take().size(), segments * (GetParam() == block_version_oldest ? 12 : 3));
}

TEST_P(SegmentBlock, TaskThatWaitsForARetryTakesFewBytes) {
  block_builder builder(name_of, GetParam());
  segment s;
  s.first = 1'000'000;
  s.count = s.kept = 1'024;
  s.queue = 7;
  std::minstd_rand random(1);
  for (std::uint32_t i = 0; i < s.count; ++i) {
    task_entry e;
    e.state = task_state::scheduled;
    e.token = static_cast<fencing_token>(8'000'000 + i);
    e.outcome = 9'000'000 + i / 16;
    e.outcome_index = i % 16;
    e.retry_at = timestamp{duration{1'700'000'000'000 + random() % 900'000}};
    e.attempt = 1;
    e.notes = 1;
    e.last_end = lease_end_kind::failed;
    s.entries.push_back(e);
  }
  builder.add(s);

  EXPECT_LE(builder.take().size(), s.count * 6);
}

TEST(SegmentBlockVersions, SegmentsOfVersion2HaveTheseBytes) {
  block_builder builder(name_of, 2);
  segment s;
  s.first = 10;
  s.count = s.kept = 1;
  s.queue = 7;
  s.enqueued_at = timestamp{duration{1000}};
  s.appended = 50;
  s.body_bytes = 5;
  builder.add(s);
  s.first = 11;
  builder.add(s);
  s.first = 20;
  s.enqueued_at = timestamp{duration{1003}};
  s.appended = 49;
  s.not_before = timestamp{duration{1100}};
  s.group = "g";
  builder.add(s);

  EXPECT_TRUE(builder.take().ends_with(
    "\x03\x3d\x01\x05\x7f\x46\x08\x14\x06\x01\x04\xc8\x01\x01g"));
}

TEST(SegmentBlockVersions, ABlockOfANewerVersionIsRefused) {
  block_builder builder(name_of, block_version_newest + 1);
  segment s;
  s.count = s.kept = 1;
  s.queue = 7;
  builder.add(s);
  const auto packed = builder.take();

  EXPECT_FALSE(block_reader::queues_of(packed));
  const std::vector<std::uint32_t> queues{7};
  EXPECT_TRUE(block_reader(packed, queues).failed());
}

} // namespace
} // namespace codeq::core
