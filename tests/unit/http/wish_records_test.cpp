// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "http/desk/wish_records.hpp"
#include "http/operations/operation_records.hpp"
#include "http/wakeups/subscription.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace codeq::http {
namespace {

constexpr std::uint16_t wish_shards = 7;

subscription_wish some_wish() {
  subscription_wish wish;
  wish.what.id = "0123";
  wish.what.tenant = "acme";
  wish.what.subject = "worker";
  wish.what.url = "https://worker.example/\"wake\"";
  wish.what.queues = {"a", "b"};
  wish.what.mode = delivery_mode::hash;
  wish.what.group = "g";
  wish.what.ttl = std::chrono::minutes(1);
  wish.is_new = true;
  wish.at = timestamp{std::chrono::hours(1)};
  return wish;
}

TEST(WishRecords, WishIsOnTheShardThatIsAsked) {
  for (std::uint16_t shard = 0; shard < wish_shards; ++shard) {
    auto task =
      wish_task({"wishes", "acme"}, "0123.unique", "{}", shard_id{shard}, wish_shards);

    EXPECT_EQ(
      shard_id{shard},
      core::shard_of_name({task.tenant, task.queue}, task.key, wish_shards));
    EXPECT_EQ("wishes", task.tenant);
    EXPECT_EQ("acme", task.queue);
    EXPECT_EQ("0123.unique.", task.key.substr(0, 12));
    EXPECT_EQ("{}", task.payload);
  }
}

TEST(WishRecords, EveryWishHasItsTime) {
  operation_wish operation;
  operation.at = timestamp{std::chrono::hours(2)};

  EXPECT_EQ(operation.at, time_of_wish(to_wish_text(operation)).value());
  EXPECT_EQ(some_wish().at, time_of_wish(to_wish_text(some_wish())).value());
  for (const char* text : {"", "{}", R"({"atMs":"x"})"})
    EXPECT_EQ(errc::corruption, time_of_wish(text).error().code) << text;
}

TEST(WishRecords, WishAboutASubscriptionIsReadAsItWasWritten) {
  auto wish = some_wish();
  auto read = read_subscription_wish(to_wish_text(wish));

  ASSERT_TRUE(read);
  EXPECT_EQ("acme", read->what.tenant);
  EXPECT_EQ(to_record(wish.what), to_record(read->what));
  EXPECT_TRUE(read->is_new);
  EXPECT_EQ(wish.at, read->at);
}

TEST(WishRecords, DamagedWishAboutASubscriptionIsRefused) {
  auto nobody = some_wish();
  nobody.what.tenant.clear();
  for (const auto& text : {std::string(), std::string("{}"), to_wish_text(nobody)})
    EXPECT_EQ(errc::corruption, read_subscription_wish(text).error().code) << text;
}

TEST(WishRecords, AnswerIsReadAsItWasWritten) {
  EXPECT_EQ("", read_wish_answer(to_wish_answer(std::string())).value());
  EXPECT_EQ("{\"a\":1}", read_wish_answer(to_wish_answer(std::string("{\"a\":1}"))).value());
  auto refused =
    read_wish_answer(to_wish_answer(error{errc::duplicate, "the operation is \"paused\""}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(errc::duplicate, refused.error().code);
  EXPECT_EQ("the operation is \"paused\"", refused.error().context);
  for (const char* text : {"", "{}", R"({"code":-1})", R"({"code":"x"})"})
    EXPECT_EQ(errc::corruption, read_wish_answer(text).error().code) << text;
}

} // namespace
} // namespace codeq::http
