// SPDX-License-Identifier: Apache-2.0
#include "storage/records/headers_codec.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/records/projection.hpp"
#include "support/task_bodies.hpp"

#include <gtest/gtest.h>

namespace codeq::storage {
namespace {

constexpr shard_id shard{1};
constexpr timestamp start{duration{1'000'000}};

core::encoded_tasks bodies() {
  return test::encode_bodies_with_headers({{}, {{"a", "1"}, {"b", "2"}}, {{"a", "3"}}});
}

bool has(
  const std::string& record,
  std::uint32_t index,
  const std::map<std::string, std::string>& wanted) {
  auto found = has_headers(record, index, wanted);
  return found && *found;
}

TEST(HeadersCodec, BodiesWithoutHeadersAreRecognized) {
  auto tasks = bodies();

  EXPECT_FALSE(may_have_headers(tasks.part(0, 1).body.view()));
  EXPECT_TRUE(may_have_headers(tasks.part(1, 1).body.view()));
  EXPECT_FALSE(may_have_headers({}));
}

TEST(HeadersCodec, BytesThatAreNoBodyDoNoHarm) {
  for (std::size_t size = 0; size < 80; ++size) {
    for (char c : {'\0', '\x01', '\x10', '\xff'}) {
      std::string garbage(size, c);
      static_cast<void>(may_have_headers(garbage));
      core::encoded_tasks task{bytes(garbage), {static_cast<std::uint32_t>(size)}};
      EXPECT_EQ(encode_headers({&task, 1}, start), "");
    }
  }
}

TEST(HeadersCodec, TasksAreFoundByAllOfTheirHeaders) {
  auto tasks = bodies();
  auto record = encode_headers({&tasks, 1}, start);

  EXPECT_TRUE(has(record, 1, {{"a", "1"}}));
  EXPECT_TRUE(has(record, 1, {{"a", "1"}, {"b", "2"}}));
  EXPECT_FALSE(has(record, 1, {{"a", "1"}, {"b", "3"}}));
  EXPECT_TRUE(has(record, 2, {{"a", "3"}}));
  EXPECT_FALSE(has(record, 0, {{"a", "1"}}));
  auto at = decode_headers_time(record);
  EXPECT_TRUE(at && *at == start);
}

TEST(HeadersCodec, TasksWithoutHeadersNeedNoRecord) {
  auto tasks = test::encode_bodies_with_headers({{}, {}});

  EXPECT_EQ(encode_headers({&tasks, 1}, start), "");
}

class HeadersRecords : public testing::Test {
protected:
  void commit(const core::event& e) {
    auto writes = std::make_shared<write_set>();
    project(shard, e, *writes);
    std::shared_ptr<const write_set> set = writes;
    ASSERT_TRUE(store_.commit({&set, 1}, durability::sync));
  }

  bool has(sequence segment, std::uint32_t index, const std::string& value) {
    auto record = store_.read(headers_key{shard, segment}.encode());
    if (!record || !*record)
      return false;
    auto found = has_headers(**record, index, {{"a", value}});
    return found && *found;
  }

  static core::segment_appended segment(sequence first) {
    core::segment_appended e;
    e.first = first;
    e.pieces = {bodies(), bodies()};
    e.count = 6;
    e.body_bytes = 2 * e.pieces.front().body.size();
    return e;
  }

  memory_store store_;
};

TEST_F(HeadersRecords, AreWrittenWithTheirSegment) {
  commit(segment(10));

  EXPECT_TRUE(has(10, 1, "1"));
  EXPECT_TRUE(has(10, 5, "3")) << "of the second piece";
  EXPECT_FALSE(has(10, 3, "1"));
}

TEST_F(HeadersRecords, AreNotWrittenForTasksWithoutHeaders) {
  auto e = segment(10);
  e.pieces = {test::encode_bodies_with_headers({{}})};
  e.count = 1;
  commit(e);

  EXPECT_FALSE(store_.may_have(headers_key{shard, 10}.encode()));
}

TEST_F(HeadersRecords, AreWrittenWithTheCopyOfATask) {
  core::snapshot_taken c;
  c.copied.push_back(segment(12));
  commit(c);

  EXPECT_TRUE(has(12, 1, "1"));
}

TEST_F(HeadersRecords, CopyOfTheFirstTaskLeavesThoseOfItsSegment) {
  auto whole = segment(10);
  whole.pieces = {test::encode_bodies_with_headers({{{"a", "1"}}, {{"a", "2"}}, {{"a", "3"}}})};
  whole.count = 3;
  commit(whole);
  core::snapshot_taken c;
  for (sequence seq : {10u, 12u}) {
    auto copy = whole;
    copy.first = seq;
    copy.pieces = {whole.pieces.front().part(seq - 10, 1)};
    copy.count = 1;
    c.copied.push_back(copy);
  }
  core::segment_fate closed;
  closed.first = 10;
  closed.entries.resize(3);
  c.closed.push_back(closed);

  commit(c);

  EXPECT_TRUE(has(10, 0, "1"));
  EXPECT_TRUE(has(10, 1, "2")) << "of a task that was not copied";
  EXPECT_TRUE(has(12, 0, "3"));
}

TEST_F(HeadersRecords, AreReplacedWithTheBody) {
  auto tasks = bodies();
  core::tasks_changed replaced{3, start, {{10, core::change_kind::body_replaced, {}, {}}}};
  replaced.changes.front().body = bytes(std::string(tasks.part(2, 1).body.view()));
  commit(replaced);
  EXPECT_TRUE(has(10, 0, "3"));

  replaced.changes.front().body = bytes(std::string(tasks.part(0, 1).body.view()));
  commit(replaced);
  EXPECT_FALSE(has(10, 0, "3"));
}

} // namespace
} // namespace codeq::storage
