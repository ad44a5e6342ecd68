// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/rocksdb/rocksdb_store.hpp"
#include "support/random_writes.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <thread>

namespace codeq::storage {
namespace {

using namespace test;

/// Both stores, in lock-step with a plain map.
class Stores : public testing::Test {
protected:
  void reopen_rocksdb(durability mode) {
    rocksdb_.reset();
    rocksdb_store_options options;
    options.directory = directory_.path() / "store";
    options.mode = mode;
    // Small enough to cause flushes and compactions.
    options.write_buffer_bytes = 256u << 10;
    auto opened = open_rocksdb_store(options);
    ASSERT_TRUE(opened) << opened.error().context;
    rocksdb_ = std::move(opened).value();
  }

  void commit(const write_group& group, durability mode) {
    ASSERT_TRUE(memory_.commit(group, mode));
    ASSERT_TRUE(rocksdb_->commit(group, mode));
    apply_to(expected_, group);
  }

  void expect_equal() {
    auto from_memory = read_all(memory_);
    auto from_rocksdb = read_all(*rocksdb_);
    ASSERT_TRUE(from_memory);
    ASSERT_TRUE(from_rocksdb);
    EXPECT_TRUE(*from_memory == expected_);
    EXPECT_TRUE(*from_rocksdb == expected_);
  }

  void for_both(const std::function<void(task_store&)>& check) {
    check(memory_);
    check(*rocksdb_);
  }

  temporary_directory directory_;
  memory_store memory_;
  std::unique_ptr<task_store> rocksdb_;
  contents expected_;
};

TEST_F(Stores, HoldTheSameAfterRandomCommitsAndReopening) {
  auto seed = choose_seed();
  random_writes writes{seed, {}};
  std::mt19937_64 random{seed};
  reopen_rocksdb(durability::os);

  for (int round = 0; round < 4; ++round) {
    for (int commits = 0; commits < 100; ++commits)
      commit(writes.next(), random() % 32 == 0 ? durability::sync : durability::os);
    if (round % 2 == 1)
      reopen_rocksdb(round % 4 == 1 ? durability::sync : durability::os);
    expect_equal();
  }
}

TEST_F(Stores, ReadsSeeSortedKeysWhileCommitsGoOn) {
  random_writes writes{choose_seed(), {4, 8, 50}};
  reopen_rocksdb(durability::os);
  std::atomic<bool> is_done{false};
  std::thread reader([&] {
    while (!is_done) {
      std::string last;
      auto scanned = rocksdb_->scan({}, "\xff\xff\xff\xff", [&](auto key, auto) {
        EXPECT_LT(last, key);
        last = key;
        EXPECT_TRUE(rocksdb_->read(key));
        return true;
      });
      EXPECT_TRUE(scanned);
    }
  });

  for (int commits = 0; commits < 300; ++commits)
    commit(writes.next(), durability::os);

  is_done = true;
  reader.join();
  expect_equal();
}

TEST_F(Stores, AnswerRandomReadsAlike) {
  auto seed = choose_seed();
  random_writes writes{seed, {4, 8, 100}};
  std::mt19937_64 random{seed};
  reopen_rocksdb(durability::os);
  for (int commits = 0; commits < 100; ++commits)
    commit(writes.next(), durability::os);

  for (int round = 0; round < 500; ++round) {
    auto shard = shard_id{static_cast<std::uint16_t>(random() % 4)};
    key_range range{segments_of(shard).begin, segment_key{shard, random() % 600}.encode()};
    EXPECT_EQ(*memory_.read(range.end), *rocksdb_->read(range.end));
    EXPECT_EQ(
      *memory_.read_last(range.begin, range.end), *rocksdb_->read_last(range.begin, range.end));
    EXPECT_EQ(
      *read_all(memory_, range.begin, range.end), *read_all(*rocksdb_, range.begin, range.end));
  }
}

TEST_F(Stores, ApplyTheSetsOfACommitInOrder) {
  reopen_rocksdb(durability::sync);
  auto removal = std::make_shared<write_set>();
  removal->remove("a");
  commit({puts({{"a", "1"}, {"b", "1"}}), removal, puts({{"b", "2"}})}, durability::sync);

  for_both([](task_store& store) {
    EXPECT_EQ(*store.read("a"), std::nullopt);
    EXPECT_EQ(*store.read("b"), "2");
  });
}

TEST_F(Stores, ReadManyFindsWhatIsThereInOrder) {
  reopen_rocksdb(durability::os);
  // More keys than one look-up round handles: half never existed, and some were removed.
  std::vector<std::string> keys;
  for (sequence seq = 1; seq <= 100; ++seq)
    keys.push_back(body_key{shard_id{}, seq}.encode());
  for (std::size_t place = 0; place < keys.size(); place += 2)
    commit({puts({{keys[place], std::to_string(place)}})}, durability::os);
  reopen_rocksdb(durability::os);
  auto removal = std::make_shared<write_set>();
  for (std::size_t place = 0; place < keys.size(); place += 3)
    removal->remove(keys[place]);
  commit({removal}, durability::os);

  for_both([&](task_store& store) {
    contents found;
    auto take = [&](std::size_t place, std::string_view value) {
      EXPECT_EQ(value, std::to_string(place));
      found.emplace(keys[place], value);
      return true;
    };
    ASSERT_TRUE(store.read_many(keys, take));
    EXPECT_TRUE(found == expected_);
    EXPECT_FALSE(found.empty());
  });
}

TEST_F(Stores, ReadManyStopsWhenTheVisitorSaysSo) {
  reopen_rocksdb(durability::os);
  const std::vector<std::string> keys{"a", "b", "c"};
  commit({puts({{"a", "1"}, {"b", "2"}, {"c", "3"}})}, durability::os);

  for_both([&](task_store& store) {
    std::vector<std::size_t> seen;
    auto take = [&](std::size_t place, std::string_view) {
      seen.push_back(place);
      return place < 1;
    };
    ASSERT_TRUE(store.read_many(keys, take));
    EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1}));
  });
}

TEST_F(Stores, ScanIncludesItsBeginAndExcludesItsEnd) {
  reopen_rocksdb(durability::os);
  commit({puts({{"a", ""}, {"b", ""}, {"c", ""}, {std::string("c\0", 2), ""}})}, durability::os);

  for_both([](task_store& store) {
    EXPECT_EQ(*read_all(store, "a", "c"), (contents{{"a", ""}, {"b", ""}}));
    EXPECT_EQ(*read_all(store, "aa", std::string_view("c\0", 2)), (contents{{"b", ""}, {"c", ""}}));
    EXPECT_TRUE(read_all(store, "b", "b")->empty());
    EXPECT_TRUE(read_all(store, "d", "z")->empty());
  });
}

TEST_F(Stores, ScanStopsWhenTheVisitorSaysSo) {
  reopen_rocksdb(durability::os);
  commit({puts({{"a", ""}, {"b", ""}, {"c", ""}})}, durability::os);

  for_both([](task_store& store) {
    std::string seen;
    EXPECT_TRUE(store.scan("a", "z", [&](std::string_view key, std::string_view) {
      seen += key;
      return seen.size() < 2;
    }));
    EXPECT_EQ(seen, "ab");
  });
}

TEST_F(Stores, ScanSeesOnePointInTime) {
  reopen_rocksdb(durability::os);
  commit({puts({{"a", ""}, {"b", ""}})}, durability::os);

  for_both([](task_store& store) {
    std::string seen;
    EXPECT_TRUE(store.scan("a", "z", [&](std::string_view key, std::string_view) {
      seen += key;
      write_group more{puts({{"c", ""}})};
      EXPECT_TRUE(store.commit(more, durability::os));
      return true;
    }));
    EXPECT_EQ(seen, "ab");
  });
}

TEST_F(Stores, ReadLastFindsTheGreatestKeyBelowTheEnd) {
  reopen_rocksdb(durability::os);
  commit({puts({{"b", "1"}, {"d", "2"}})}, durability::os);

  using pair = std::pair<std::string, std::string>;
  for_both([](task_store& store) {
    EXPECT_EQ(*store.read_last("a", "z"), (pair{"d", "2"}));
    EXPECT_EQ(*store.read_last("a", "d"), (pair{"b", "1"}));
    EXPECT_EQ(*store.read_last("b", "c"), (pair{"b", "1"}));
    EXPECT_EQ(*store.read_last("c", "d"), std::nullopt);
    EXPECT_EQ(*store.read_last("e", "z"), std::nullopt);
  });
}

TEST_F(Stores, CountWhatIsWritten) {
  reopen_rocksdb(durability::os);
  commit({puts({{"a", ""}, {"b", ""}}), puts({{"c", ""}})}, durability::os);

  for_both([](task_store& store) {
    EXPECT_EQ(store.counter("keys_written"), 3u);
    EXPECT_EQ(store.counter("no such name"), 0u);
  });
}

} // namespace
} // namespace codeq::storage
