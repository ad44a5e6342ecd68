// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "http/operations/operation_records.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace codeq::http {
namespace {

constexpr std::uint16_t shards = 7;

operation_wish wish_for(std::string id) {
  operation_wish wish{"acme", std::move(id), operation_change::resume, {}, timestamp{}};
  wish.by = {"root", "*", "192.0.2.1", true};
  wish.at = timestamp{std::chrono::hours(1)};
  return wish;
}

TEST(OperationRecords, RecordIsOnTheShardThatItsIdNames) {
  bulk_operation o;
  o.request.tenant = "acme";
  for (int i = 0; i < 100; ++i) {
    o.id = std::to_string(i);
    auto record = record_of(o);
    auto key = record_key("acme", o.id);

    EXPECT_EQ(
      home_of("acme", o.id, shards),
      value(core::shard_of_name({record.tenant, record.queue}, record.key, shards)));
    EXPECT_EQ(record.tenant, key.queue.tenant);
    EXPECT_EQ(record.queue, key.queue.queue);
    EXPECT_EQ(record.key, key.key);
  }
}

TEST(OperationRecords, WishIsReadAsItWasWritten) {
  auto wish = wish_for("0123");
  auto read = read_wish(to_wish_text(wish));

  ASSERT_TRUE(read);
  EXPECT_EQ("acme", read->tenant);
  EXPECT_EQ("0123", read->id);
  EXPECT_EQ(operation_change::resume, read->what);
  EXPECT_EQ(wish.by, read->by);
  EXPECT_EQ(wish.at, read->at);
}

TEST(OperationRecords, DamagedWishIsRefused) {
  for (const char* text : {"", "{}", "[]", R"({"change":"explode"})", R"({"change":1})"})
    EXPECT_EQ(errc::corruption, read_wish(text).error().code) << text;
}

} // namespace
} // namespace codeq::http
