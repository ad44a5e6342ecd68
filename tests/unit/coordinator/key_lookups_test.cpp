// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shard/key_lookups.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace codeq::coordinator {
namespace {

task_key named(const std::string& key) {
  return {{"default", "q"}, {}, key};
}

/// A command of this peer; its key is passed to the look-ups separately.
core::command of_peer(core::peer_id peer) {
  core::promote c;
  c.peer = peer;
  return c;
}

core::recalled_key nobody(const std::string& key) {
  return {named(key), std::nullopt};
}

core::recalled_key closed_task(const std::string& key, sequence seq) {
  return {named(key), core::retained_key{seq, seq, timestamp{}}};
}

/// The next command as "peer key=seq ..."; sequence 0 means that no task has the key.
std::string next(key_lookups& lookups) {
  auto known = lookups.take();
  if (!known)
    return {};
  auto text = std::to_string(std::get<core::promote>(known->command).peer);
  for (const auto& key : known->keys.keys)
    text += ' ' + key.name.key + '=' + std::to_string(key.record ? key.record->seq : 0);
  return text;
}

TEST(KeyLookups, CommandWaitsForItsKeys) {
  key_lookups lookups;
  auto number = lookups.add(of_peer(1), {named("a"), named("b")});
  EXPECT_TRUE(lookups.is_awaited(named("b")));
  EXPECT_EQ(next(lookups), "");

  lookups.answer(number, {nobody("a"), closed_task("b", 7)});

  EXPECT_EQ(next(lookups), "1 a=0 b=7");
  EXPECT_EQ(next(lookups), "");
  EXPECT_FALSE(lookups.is_awaited(named("b")));
}

TEST(KeyLookups, AnswerToNoLookUpIsIgnored) {
  key_lookups lookups;
  auto number = lookups.add(of_peer(1), {named("a")});

  lookups.answer(number + 1, {nobody("b")});

  EXPECT_EQ(next(lookups), "");
  EXPECT_TRUE(lookups.is_awaited(named("a")));
}

TEST(KeyLookups, CommandKeepsItsShareWhileItWaits) {
  key_lookups lookups;
  auto share = std::make_shared<int>();
  std::weak_ptr<int> held = share;
  auto number = lookups.add(of_peer(1), {named("a")}, std::move(share));
  EXPECT_FALSE(held.expired());

  lookups.answer(number, {nobody("a")});
  EXPECT_EQ(next(lookups), "1 a=0");

  EXPECT_TRUE(held.expired());
}

TEST(KeyLookups, CommandsOfOneKeyKeepTheirOrder) {
  key_lookups lookups;
  auto first = lookups.add(of_peer(1), {named("a")});
  auto second = lookups.add(of_peer(2), {named("a"), named("b")});
  auto third = lookups.add(of_peer(3), {named("b")});

  lookups.answer(third, {nobody("b")});
  lookups.answer(second, {nobody("a"), nobody("b")});
  EXPECT_EQ(next(lookups), "");

  lookups.answer(first, {nobody("a")});
  EXPECT_EQ(next(lookups), "1 a=0");
  EXPECT_EQ(next(lookups), "2 a=0 b=0");
  EXPECT_EQ(next(lookups), "3 b=0");
}

TEST(KeyLookups, CommandsOfOtherKeysDoNotWait) {
  key_lookups lookups;
  lookups.add(of_peer(1), {named("a")});
  auto other = lookups.add(of_peer(2), {named("b")});

  lookups.answer(other, {nobody("b")});

  EXPECT_EQ(next(lookups), "2 b=0");
}

TEST(KeyLookups, TaskThatIsClosedMeanwhileCounts) {
  key_lookups lookups;
  auto first = lookups.add(of_peer(1), {named("a")});
  auto second = lookups.add(of_peer(2), {named("a")});
  lookups.note_closed({{named("a"), {9, 9, timestamp{}}}, {named("b"), {8, 8, timestamp{}}}});

  lookups.answer(first, {closed_task("a", 5)});
  lookups.answer(second, {closed_task("a", 12)});

  EXPECT_EQ(next(lookups), "1 a=9");
  EXPECT_EQ(next(lookups), "2 a=12");
}

} // namespace
} // namespace codeq::coordinator
