// SPDX-License-Identifier: Apache-2.0
#include "golden/example.hpp"
#include "protocol/frame.hpp"
#include "protocol/messages.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>
#include <kj/string.h>

#include <cstring>
#include <random>

namespace codeq::protocol {

namespace {

using test::choose_seed;

/// A body of 64-bit words, as a hostile peer could send it.
bytes body_of(const std::vector<std::uint64_t>& words) {
  std::string text(words.size() * 8, '\0');
  std::memcpy(text.data(), words.data(), text.size());
  return bytes(std::move(text));
}

/// A pointer word, from its upper and lower half.
std::uint64_t pointer(std::uint32_t lower, std::uint32_t upper) {
  return std::uint64_t{upper} << 32 | lower;
}

/// Reads everything in a frame, whatever its type.
result<std::size_t> read_all(const wire_frame& wire) {
  result<std::size_t> outcome = std::size_t{0};
  auto visited = visit_frame(wire, [&](const auto& frame) {
    outcome = frame.read([](auto reader) -> result<std::size_t> { return kj::str(reader).size(); });
  });
  return visited ? outcome : result<std::size_t>(visited.error());
}

/// Total size of all gauge names.
result<std::size_t> gauge_bytes(const stats_reply& reply) {
  return reply.read([](auto reader) -> result<std::size_t> {
    std::size_t total = 0;
    for (auto gauge : reader.getGauges())
      total += gauge.getName().size();
    return total;
  });
}

TEST(Frame, WhatWasBuiltIsRead) {
  auto built = claim_request::build([](auto root) { root.setCredits(7); });

  auto parsed = claim_request::parse(built.body());

  ASSERT_TRUE(parsed);
  auto credits = parsed->read([](auto reader) -> result<int> { return reader.getCredits(); });
  EXPECT_EQ(*credits, 7);
}

TEST(Frame, AMessageLargerThanTheFirstAllocationIsOneSegment) {
  auto built = stats_reply::build(
    [](auto root) {
      auto gauges = root.initGauges(100);
      for (unsigned i = 0; i < 100; ++i)
        gauges[i].setName(std::string(1000, 'a' + i % 26).c_str());
    },
    8);

  auto parsed = stats_reply::parse(built.body());

  EXPECT_EQ(*gauge_bytes(*parsed), 100'000u);
}

TEST(Frame, ABodyThatIsNoWholeNumberOfWordsIsRefused) {
  for (std::size_t size : {0u, 1u, 7u, 9u, 63u})
    EXPECT_EQ(hello::parse(bytes(std::string(size, '\0'))).error().code, errc::protocol_error);
}

TEST(Frame, AnUnalignedBodyIsRefused) {
  auto whole = bytes(std::string(64, '\0'));

  EXPECT_EQ(hello::parse(whole.slice(4, 16)).error().code, errc::protocol_error);
}

TEST(Frame, APointerOutOfTheBodyIsRefused) {
  // The root claims 3 words of data and 4 pointers, which the body does not have.
  auto parsed = hello::parse(body_of({pointer(0, 3 | 4u << 16)}));

  auto name = parsed->read(
    [](auto reader) -> result<std::string> { return std::string(reader.getName().cStr()); });
  EXPECT_EQ(name.error().code, errc::protocol_error);
}

TEST(Frame, PointersThatOverlapCannotMakeABodyLargerThanItIs) {
  // A StatsReply of 1000 gauges that share one name of 8,000 bytes: 8 MB out of 24 kB.
  constexpr std::uint32_t count = 1000;
  constexpr std::uint32_t name_bytes = 8000;
  std::vector<std::uint64_t> words{
    pointer(0, 1 | 2u << 16),           // root: 1 word of data, 2 pointers
    0,                                  // number
    0,                                  // queues
    pointer(1, 7 | count * 2u << 3),    // gauges: a list of structs
    pointer(count << 2, 1 | 1u << 16)}; // each 1 word of data, 1 pointer
  std::uint32_t name_at = 5 + 2 * count;
  for (std::uint32_t i = 0; i < count; ++i) {
    words.push_back(i);
    auto distance = name_at - static_cast<std::uint32_t>(words.size()) - 1;
    words.push_back(pointer(distance << 2 | 1, 2 | name_bytes << 3));
  }
  std::string name(name_bytes, 'x');
  name.back() = '\0';
  words.resize(words.size() + name_bytes / 8);
  std::memcpy(words.data() + name_at, name.data(), name_bytes);

  auto total = gauge_bytes(*stats_reply::parse(body_of(words)));

  ASSERT_FALSE(total);
  EXPECT_EQ(total.error().code, errc::protocol_error);
}

TEST(Frame, FarPointersIntoOtherSegmentsAreRefused) {
  auto parsed = hello::parse(body_of({pointer(2 | 1u << 3, 5), 0}));

  auto name = parsed->read(
    [](auto reader) -> result<std::string> { return std::string(reader.getName().cStr()); });
  EXPECT_EQ(name.error().code, errc::protocol_error);
}

TEST(Frame, RandomBodiesAreReadOrRefused) {
  std::mt19937_64 random{choose_seed()};
  auto types = capnp::Schema::from<schema::Message>().getUnionFields().size();

  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint64_t> words(1 + random() % 32);
    for (auto& word : words)
      word = random() % 4 == 0 ? random() : random() % 64 << (random() % 48);
    auto type = static_cast<std::uint16_t>(random() % types);
    static_cast<void>(read_all({type, body_of(words)}));
  }
}

TEST(Frame, DamagedMessagesAreReadOrRefused) {
  std::mt19937_64 random{choose_seed()};
  auto members = capnp::Schema::from<schema::Message>().getUnionFields();
  std::vector<std::string> examples;
  for (auto member : members)
    examples.emplace_back(test::make_example(member.getType().asStruct()).view());

  for (int i = 0; i < 20'000; ++i) {
    auto type = static_cast<std::uint16_t>(random() % examples.size());
    auto damaged = examples[type];
    for (auto flips = 1 + random() % 4; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    static_cast<void>(read_all({type, bytes(std::move(damaged))}));
  }
}

} // namespace

} // namespace codeq::protocol
