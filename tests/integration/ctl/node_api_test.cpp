// SPDX-License-Identifier: Apache-2.0
#include "ctl/operator_api.hpp"
#include "ctl/queue_settings.hpp"
#include "integration/fake_coordinator.hpp"
#include "protocol/error_code.hpp"

#include <gtest/gtest.h>

#include <future>

namespace codeq::test {

using namespace std::chrono_literals;

namespace {

constexpr std::uint16_t two_shards = 2;

struct queue_word {
  std::uint64_t number = 0;
  schema::QueueRequest::Which what{};
  capnp::uint weight_changes = 0;
};

queue_word next_queue_word(fake_coordinator& from) {
  auto word = from.expect<protocol::queue_request>().read([](auto reader) -> result<queue_word> {
    return queue_word{reader.getNumber(), reader.which(), reader.getWeightChanges().size()};
  });
  return *word;
}

void say_queue(fake_coordinator& to, std::uint64_t number, errc code) {
  to.say(protocol::queue_reply::build([&](auto root) {
           root.setNumber(number);
           root.setCode(protocol::to_schema(code));
           root.initSettings().initDefaults();
         }).to_wire());
}

void say_queue(fake_coordinator& to, std::uint64_t number) {
  to.say(protocol::queue_reply::build([&](auto root) {
           root.setNumber(number);
           root.initSettings().initDefaults();
         }).to_wire());
}

} // namespace

TEST(CtlNodeApi, AWeightIsChangedWithAllSettingsWhileACoordinatorIsOfAnEarlierVersion) {
  fake_coordinator coordinator;
  auto api = ctl::make_node_api({{coordinator.address()}, 10s}, {});
  auto waiting = std::async(std::launch::async, [&] {
    return api->configure_queue({.queue = "q"}, {.fairness_weights = {{"vip", 5}}});
  });
  coordinator.accept(1, two_shards);

  say_queue(coordinator, next_queue_word(coordinator).number);
  auto refused = next_queue_word(coordinator);
  EXPECT_EQ(refused.what, schema::QueueRequest::WEIGH);
  say_queue(coordinator, refused.number, errc::unsupported);
  for (std::uint16_t shard = 0; shard < two_shards; ++shard) {
    auto show = next_queue_word(coordinator);
    EXPECT_EQ(show.what, schema::QueueRequest::SHOW);
    say_queue(coordinator, show.number);
  }
  for (std::uint16_t shard = 0; shard < two_shards; ++shard) {
    auto set = next_queue_word(coordinator);
    EXPECT_EQ(set.what, schema::QueueRequest::SET);
    EXPECT_EQ(set.weight_changes, 1u);
    say_queue(coordinator, set.number);
  }

  EXPECT_TRUE(waiting.get());
}

} // namespace codeq::test
