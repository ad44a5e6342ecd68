// SPDX-License-Identifier: Apache-2.0
#include "http/server/response_text.hpp"

#include "http/server/event_stream.hpp"

#include <gtest/gtest.h>

namespace codeq::http {
namespace {

response answer_with(unsigned status, std::string body) {
  response answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

TEST(ResponseText, NamesStatusFieldsTypeAndLength) {
  auto answer = answer_with(429, R"({"error":"slow down"})");
  answer.fields = {{"Retry-After", "3"}};

  EXPECT_EQ(
    "HTTP/1.1 429 Too Many Requests\r\n"
    "X-Request-Id: r-1\r\n"
    "Retry-After: 3\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 21\r\n"
    "\r\n",
    header_text(answer, {"r-1", true}));
}

TEST(ResponseText, SaysThatTheConnectionCloses) {
  EXPECT_EQ(
    "HTTP/1.1 200 OK\r\nX-Request-Id: r-1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    header_text(answer_with(200, {}), {"r-1", false}));
}

TEST(ResponseText, HasNoLengthWhereThereIsNoContent) {
  EXPECT_EQ(
    "HTTP/1.1 204 No Content\r\nX-Request-Id: r-1\r\n\r\n",
    header_text(answer_with(204, {}), {"r-1", true}));
}

TEST(ResponseText, AnnouncesChunksForEvents) {
  auto answer = answer_with(200, {});
  answer.content_type = "text/event-stream";
  answer.events = std::make_shared<event_stream>();

  EXPECT_EQ(
    "HTTP/1.1 200 OK\r\nX-Request-Id: r-1\r\nContent-Type: text/event-stream\r\n"
    "Transfer-Encoding: chunked\r\n\r\n",
    header_text(answer, {"r-1", true}));
}

TEST(EventStream, WhatWasSentBeforeItsClientListensIsWrittenAlsoWhenItHasEnded) {
  event_stream events;
  events.send({nullptr, std::make_shared<const std::string>("last")});
  events.end();
  std::string written;

  events.open([&](const live_event& event) { written += event.whole ? *event.whole : "|"; });

  EXPECT_EQ("last|", written);
}

} // namespace
} // namespace codeq::http
