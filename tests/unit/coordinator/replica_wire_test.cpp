// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/replica_wire.hpp"

#include "storage/keys/keyspace.hpp"
#include "storage/replica/packed_writes.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace replication;
using namespace std::chrono_literals;

constexpr shard_id shard{7};

entry some_entry(std::uint64_t number) {
  auto writes = std::make_shared<storage::write_set>();
  writes->put(storage::segment_key{shard, number}.encode(), std::string(300, 'x'));
  return {
    {4, number},
    {4, number - 1},
    std::make_shared<const storage::packed_writes>(
      std::shared_ptr<const storage::write_set>(writes))};
}

copy_part some_part() {
  storage::write_set writes;
  writes.put(storage::segment_key{shard, 9}.encode(), "value");
  return {
    {replica_id{5}, 6, 7}, 8, std::make_shared<const std::string>(storage::pack(writes)), false};
}

std::vector<shard_message> all_messages() {
  epoch_index log({{2, 1}, {4, 30}}, {4, 35});
  membership value{
    .version = 3,
    .epoch = 4,
    .primary = replica_id{5},
    .in_sync = {replica_id{5}},
    .replicas = {replica_id{5}, replica_id{6}},
    .min_in_sync = 2,
    .condition = shard_condition::loss_accepted};
  const entry start{{5, 40}, {4, 39}, nullptr};
  const copy_part last{{replica_id{5}, 6, 7}, 9, std::make_shared<const std::string>(), true};
  std::vector<message> of_replicas{
    append{4, 17, {some_entry(38), some_entry(39), start}, timestamp{duration{1234}}},
    append{4, 18, {}, {}},
    confirm{4, 17, {4, 39}, true, true},
    reject{9},
    copy_offer{4, {replica_id{5}, 6, 7}, log},
    trust{4, {4, 39}},
    collect{4, {3, 29}},
    collected{4, {3, 31}, {some_entry(30)}, true},
    question{77},
    answer{77, 4, {3, 29}, true, true},
    elected{value},
    release{4}};
  // In place, since GCC 12 warns of moved variants of variants.
  std::vector<shard_message> all(of_replicas.size() + 5);
  for (auto& m : all) {
    m.shard = shard;
    m.from = replica_id{5};
    m.to = replica_id{6};
  }
  for (std::size_t i = 0; i < of_replicas.size(); ++i)
    all[i].content.emplace<message>(of_replicas[i]);
  auto* copies = &all[of_replicas.size()];
  copies[0].content.emplace<copy_message>(some_part());
  copies[1].content.emplace<copy_message>(last);
  const replication::copy_id id{replica_id{5}, 6, 7};
  copies[2].content.emplace<copy_message>(copy_question{id, 8});
  copies[3].content.emplace<copy_message>(copy_answer{id, copy_state::arrived, 6, 7, 8});
  copies[4].content.emplace<copy_message>(copy_answer{id, copy_state::whole, 8});
  return all;
}

TEST(ReplicaWire, EveryMessageIsReadBack) {
  for (const auto& m : all_messages()) {
    const auto body = encode(m);

    const auto read = decode_shard_message(body);

    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->shard, shard);
    EXPECT_EQ(read->from, replica_id{5});
    EXPECT_EQ(read->to, replica_id{6});
    // The bytes show each field.
    EXPECT_EQ(encode(*read).view(), body.view());
    EXPECT_EQ(read->content.index(), m.content.index());
  }
}

TEST(ReplicaWire, AppendKeepsItsDeltas) {
  const auto read = decode_shard_message(encode(all_messages().front()));

  ASSERT_TRUE(read);
  const auto& m = std::get<append>(std::get<message>(read->content));
  ASSERT_EQ(m.entries.size(), 3u);
  EXPECT_EQ(m.entries[1].at, (position{4, 39}));
  EXPECT_EQ(m.entries[1].previous, (position{4, 38}));
  ASSERT_TRUE(storage::packed_of(m.entries[1])->writes());
  EXPECT_EQ(storage::packed_of(m.entries[1])->writes()->operations().size(), 1u);
  EXPECT_EQ(m.entries[2].body, nullptr);
  EXPECT_EQ(m.shard_time, timestamp{duration{1234}});
}

TEST(ReplicaWire, WritesOfAnotherShardAreRefused) {
  auto foreign = all_messages().front();
  foreign.shard = shard_id{8};
  EXPECT_FALSE(decode_shard_message(encode(foreign)));

  shard_message part;
  part.shard = shard_id{8};
  part.content.emplace<copy_message>(some_part());
  EXPECT_FALSE(decode_shard_message(encode(part)));
}

TEST(ReplicaWire, DamagedBytesAreRefusedOrReadAsSomeMessage) {
  std::mt19937_64 random{test::choose_seed()};
  for (const auto& m : all_messages())
    for (int i = 0; i < 300; ++i) {
      std::string damaged(encode(m).view());
      for (auto flips = 1 + random() % 4; flips > 0; --flips)
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      const auto read = decode_shard_message(bytes(std::move(damaged)));
      if (read) {
        EXPECT_TRUE(decode_shard_message(encode(*read)));
      }
    }
}

TEST(ReplicaFrame, KeepsItsMessagesInOrder) {
  std::vector<bytes> messages;
  for (const auto& m : all_messages())
    messages.push_back(encode(m));

  const auto read = decode_frame(encode_frame(messages));

  ASSERT_TRUE(read);
  EXPECT_FALSE(read->news);
  ASSERT_EQ(read->messages.size(), messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(read->messages[i].view(), messages[i].view());
    EXPECT_TRUE(decode_shard_message(read->messages[i]));
  }
}

TEST(ReplicaFrame, KeepsNewsOfReadyTasks) {
  head_news news{true, {}};
  news.heads.push_back({{"t", "q"}, {{{9, timestamp{1234ms}}, shard_id{5}}}});
  news.heads.push_back({{"t", "turns"}, {{{0, core::time_of_turn(77)}, shard_id{6}}}});
  news.heads.push_back({{"t", "gone"}, std::nullopt});

  const auto read = decode_frame(encode_frame(std::vector<bytes>{}, &news));

  ASSERT_TRUE(read && read->news);
  EXPECT_TRUE(read->messages.empty());
  EXPECT_TRUE(read->news->is_whole);
  const auto& heads = read->news->heads;
  ASSERT_EQ(heads.size(), 3u);
  EXPECT_EQ(heads[0].queue, (queue_address{"t", "q"}));
  EXPECT_EQ(heads[0].head, news.heads[0].head);
  EXPECT_EQ(heads[1].head, (core::rival_head{{0, core::time_of_turn(0)}, shard_id{6}}));
  EXPECT_EQ(heads[2].head, std::nullopt);
}

TEST(ReplicaFrame, NewsOutOfBoundsAreRefused) {
  const auto refused = [](const queue_head& one, std::size_t times = 1) {
    const head_news news{false, std::vector<queue_head>(times, one)};
    return !decode_frame(encode_frame(std::vector<bytes>{}, &news));
  };
  const queue_head good{{"t", "q"}, {{{9, timestamp{1ms}}, shard_id{5}}}};

  EXPECT_FALSE(refused(good, head_news::queues_max));
  EXPECT_TRUE(refused(good, head_news::queues_max + 1));
  EXPECT_TRUE(refused({{"t", "q"}, {{{10, timestamp{1ms}}, shard_id{5}}}}));
  EXPECT_TRUE(refused({{"t", "q"}, {{{0, timestamp{-1ms}}, shard_id{5}}}}));
  EXPECT_TRUE(refused({{"t", ""}, {{{0, timestamp{1ms}}, shard_id{5}}}}));
}

TEST(ReplicaFrame, ThatIsCutIsRefused) {
  const auto whole = encode_frame(std::vector<bytes>{encode(all_messages()[0])});

  EXPECT_TRUE(decode_frame(whole));
  EXPECT_FALSE(decode_frame(bytes(std::string(whole.view().substr(0, whole.size() - 8)))));
  EXPECT_FALSE(decode_frame(bytes(std::string(whole.view().substr(0, 3)))));
}

} // namespace
} // namespace codeq::coordinator
