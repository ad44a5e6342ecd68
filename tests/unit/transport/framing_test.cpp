// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages.hpp"
#include "transport/framing.hpp"

#include <gtest/gtest.h>

namespace codeq::transport {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t body_max = 4096;

TEST(Framing, AHeaderIsLittleEndianLengthTypeAndFlags) {
  auto header = parse_header("\x08\x01\x00\x00\x02\x01\x00\x00"sv, body_max);

  ASSERT_TRUE(header);
  EXPECT_EQ(header->length, 0x108u);
  EXPECT_EQ(header->type, 0x102u);
}

TEST(Framing, HeadersThatNoFrameCanHaveAreRefused) {
  auto refused = {
    "\x00\x00\x00\x00\x00\x00\x00\x00"sv, // no body
    "\x0c\x00\x00\x00\x00\x00\x00\x00"sv, // not a number of words
    "\x08\x00\x00\x00\x00\x00\x01\x00"sv, // a flag
    "\x08\x10\x00\x00\x00\x00\x00\x00"sv, // 8 bytes over the limit
    "\xf8\xff\xff\xff\x00\x00\x00\x00"sv, // 4 GiB
  };

  for (auto header : refused)
    EXPECT_EQ(parse_header(header, body_max).error().code, errc::protocol_error);
}

TEST(Framing, HttpIsRecognized) {
  for (auto begin : {"GET /v1/"sv, "POST /v1"sv, "HTTP/1.1"sv})
    EXPECT_EQ(
      parse_header(begin, body_max).error().context,
      "the peer speaks HTTP; nodes take the address of the coordinator's --listen, HTTP clients "
      "that of its --http")
      << begin;
}

TEST(Framing, ABodyOfExactlyTheLimitIsTaken) {
  EXPECT_TRUE(parse_header("\x00\x10\x00\x00\x00\x00\x00\x00"sv, body_max));
}

TEST(Framing, WhatIsAppendedParses) {
  auto claim = protocol::claim_request::build([](auto root) { root.setCredits(9); });
  std::vector<char> out;

  append_frame(claim.to_wire(), out);

  auto header = parse_header({out.data(), 8}, body_max);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->type, protocol::frame_type<schema::ClaimRequest>);
  EXPECT_EQ(header->length, out.size() - 8);
  auto body = take_body({out.begin() + 8, out.end()});
  EXPECT_EQ(body, claim.body());
  EXPECT_TRUE(protocol::claim_request::parse(body)) << "a received body is aligned";
}

TEST(Framing, ABodyIsTakenOverWithoutACopy) {
  std::vector<char> buffer(64);
  auto* data = buffer.data();

  EXPECT_EQ(take_body(std::move(buffer)).data(), data);
}

} // namespace

} // namespace codeq::transport
