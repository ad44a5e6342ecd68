// SPDX-License-Identifier: Apache-2.0
#include "client/enqueue_outbox.hpp"
#include "protocol/error_code.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::client {
namespace {

std::uint64_t number_of(const protocol::enqueue_request& request) {
  auto number = request.read(
    [](auto reader) -> result<std::uint64_t> { return reader.getNumber(); });
  return number.value();
}

protocol::enqueue_reply refusal_of(std::uint64_t number) {
  return protocol::enqueue_reply::build([number](auto root) {
    root.setNumber(number);
    root.setCode(protocol::to_schema(errc::unavailable));
  });
}

/// The keys of limits determine the shards of tasks, as their own keys do.
TEST(EnqueueLimits, RequestIsAnsweredOnceWhenAllItsPartsAreRefused) {
  enqueue_outbox box({.in_flight_max = 16, .new_session = [] { return producer_id{7, 0}; }});
  std::vector<std::uint64_t> sent;
  box.connect([&sent](const auto& frame) { sent.push_back(number_of(frame)); }, {1, 4});
  std::vector<task_spec> tasks(12);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].queue = "q";
    tasks[i].limits = {{"stripe", std::to_string(i)}};
  }
  auto encoded = protocol::encoded_tasks::encode(tasks);
  ASSERT_TRUE(encoded);
  std::vector<result<enqueue_answers>> answers;
  box.submit(
    std::make_shared<const protocol::encoded_tasks>(std::move(*encoded)),
    [&answers](const result<enqueue_answers>& all) { answers.push_back(all); });
  ASSERT_GT(sent.size(), 1u);

  for (auto number : sent) {
    EXPECT_TRUE(answers.empty());
    ASSERT_TRUE(box.accept(refusal_of(number)));
  }

  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(answers[0]);
  ASSERT_EQ(answers[0]->size(), tasks.size());
  for (const auto& one : *answers[0])
    EXPECT_EQ(one.error().code, errc::unavailable);
}

} // namespace
} // namespace codeq::client
