// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "support/task_builder.hpp"
#include "unit/coordinator/lone_port.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::coordinator {
namespace {

using namespace std::chrono_literals;

std::string too_long(const bytes&, std::string_view) {
  return std::string(limits::fairness_key_bytes_max + limits::limit_key_bytes_max, 'x');
}

/// Which limit a shard counts when it refuses an enqueue.
class LimitsMetByEnqueues : public testing::Test {
protected:
  LimitsMetByEnqueues() {
    options_.state = std::make_shared<core::shard_state>(shard_id{}, 1);
    shard_.emplace(options_, port_, now_);
    shard_->start(now_);
  }

  queue_config& config_of(const std::string& queue) {
    auto& state = *options_.state;
    return state.queues[state.intern({"default", queue})]->settings.config;
  }

  /// The limit that was counted; empty for none.
  std::string enqueue(const std::string& queue, std::size_t tasks = 1) {
    core::enqueue_run r;
    r.queue = {"default", queue};
    r.tasks = test::encode_bodies(tasks, 16);
    core::enqueue c;
    c.request.number = next_request_++;
    c.runs.push_back(std::move(r));
    return decide(c);
  }

  /// The same of any command.
  std::string decide(const core::command& c) {
    shard_->decide(c, now_);
    shard_->close_turn(now_);
    shard_->committed(port_.submitted, now_);
    return std::exchange(port_.limit, {});
  }

  std::uint64_t refused() { return shard_->stats(now_).refused["too_large"]; }

  lone_port port_;
  shard_options options_;
  instant now_{monotonic_time{1h}, timestamp{1'700'000'000s}};
  std::optional<shard> shard_;
  std::uint64_t next_request_ = 1;
};

TEST_F(LimitsMetByEnqueues, AreTheDepthOfAQueueAndTheQueuesOfATenant) {
  config_of("q").max_depth = 1;
  EXPECT_EQ(enqueue("q", 2), "max_depth");
  EXPECT_EQ(port_.full_queue, "q");
  EXPECT_EQ(enqueue("q", 1), "");

  for (std::size_t i = 1; i < limits::queues_per_tenant_max; ++i)
    options_.state->intern({"default", "q" + std::to_string(i)});
  EXPECT_EQ(enqueue("another"), "queues_per_tenant_max");
  EXPECT_EQ(port_.full_queue, "");
  EXPECT_EQ(refused(), 1u);
}

TEST_F(LimitsMetByEnqueues, AreNotThoseOfOneTask) {
  options_.state->read_header = too_long;
  options_.state->limits.define(
    {"default", "api"}, limit_definition{.concurrency = 1}, timestamp{});

  config_of("fair").fairness_header = "customer";
  EXPECT_EQ(enqueue("fair"), "");
  EXPECT_EQ(refused(), 1u) << "the header is too long for a fairness key";
  config_of("limited").limits = {{"api", "", 1, "customer"}};
  EXPECT_EQ(enqueue("limited"), "");
  EXPECT_EQ(refused(), 2u) << "the header is too long for a key of the limit";
}

/// The same because of permits of limit keys.
class LimitsMetByPermits : public LimitsMetByEnqueues {
protected:
  /// The first message of another shard.
  static core::ask_permits list_of_another() {
    core::ask_permits said{shard_id{1}, 1, 1};
    said.is_list = true;
    return said;
  }
};

TEST_F(LimitsMetByPermits, AreTheKeysOfATenantWhenAnotherShardWantsOneMore) {
  auto& table = options_.state->limits;
  table.define({"default", "slots"}, limit_definition{.concurrency = 1}, timestamp{});
  table.define(
    {"default", "paced"}, limit_definition{.rate = start_rate{10, 1s, 1}}, timestamp{});
  for (std::size_t i = 0; i < limits::limit_keys_max; ++i)
    table.keys().close(
      table.place_of("default", {"slots", std::to_string(i), 1}), now_.shard + 1h);
  auto said = list_of_another();
  said.wanted.push_back({7, "default", {{"paced", "further", 1}}});

  EXPECT_EQ(decide(said), "limit_keys_max");
}

TEST_F(LimitsMetByPermits, AreTheClosesThatWaitForAnotherShard) {
  options_.state->limits.define(
    {"default", "slots"}, limit_definition{.concurrency = 1}, timestamp{});
  auto said = list_of_another();
  said.held.push_back({7, "default", {{"slots", "k", 1}}});
  EXPECT_EQ(decide(said), "");
  const auto close = [this] {
    return decide(core::close_limit_key{1, next_request_++, {"default", "slots"}, "k", 1h});
  };

  for (std::size_t i = 0; i < core::permit_recalls::waiting_max; ++i)
    EXPECT_EQ(close(), "");

  EXPECT_EQ(close(), "closes_waiting_max");
}

/// The same of a shard whose tasks connections await.
class LimitsMetByAwaits : public LimitsMetByEnqueues {
protected:
  void attach(core::peer_id peer, const std::string& tenant, bool is_gateway = false) {
    auto bearer = std::make_shared<security::principal>();
    bearer->tenant = tenant;
    peer_attached who{peer};
    who.bearer = std::move(bearer);
    who.is_gateway = is_gateway;
    shard_->attach(who, now_);
  }

  /// The peer asks for these tasks. Returns those that are not put off.
  std::vector<sequence> ask(core::peer_id peer, const std::vector<sequence>& tasks) {
    auto request = protocol::await_request::build([&](schema::AwaitRequest::Builder root) {
      auto seqs = root.initSeqs(static_cast<capnp::uint>(tasks.size()));
      for (capnp::uint i = 0; i < seqs.size(); ++i)
        seqs.set(i, tasks[i]);
    });
    const auto command = shard_->read({peer, request}, now_);
    return command ? std::get<core::await_tasks>(*command).tasks : std::vector<sequence>();
  }

  /// The same of that many tasks, none of which any peer has asked for. Returns the limit that was
  /// counted.
  std::string await(core::peer_id peer, std::size_t tasks) {
    std::vector<sequence> seqs(tasks);
    std::iota(seqs.begin(), seqs.end(), next_seq_);
    next_seq_ += tasks;
    const auto kept = ask(peer, seqs);
    // As if these were live tasks of the shard.
    if (port_.limit.empty())
      options_.state->awaiting[peer].insert(kept.begin(), kept.end());
    return std::exchange(port_.limit, {});
  }

  /// The same of half as many tasks as one connection may await.
  void await_half(core::peer_id peer) {
    constexpr auto part = tuning::awaited_tasks_per_request_max;
    for (std::size_t i = 0; i < limits::awaited_tasks_max / 2; i += part)
      ASSERT_EQ(await(peer, part), "");
  }

  sequence next_seq_ = 1;
};

TEST_F(LimitsMetByAwaits, AreThoseOfATenantThatAwaitsHalfOfWhatAllMay) {
  attach(1, "mallory");
  attach(2, "mallory");
  attach(3, "acme");
  attach(4, "*", true);
  await_half(1);
  await_half(2);

  EXPECT_EQ(await(1, 1), "awaited_tasks_of_all_max");
  EXPECT_EQ(await(3, 1), "");
  EXPECT_EQ(await(4, 1), "") << "clients of the gateway have bounds of their own";

  options_.state->awaiting.erase(2);
  EXPECT_EQ(await(1, 1), "awaited_tasks_of_all_max") << "it counts now and then";
  now_.steady += 100ms;
  EXPECT_EQ(await(1, 1), "");
}

TEST_F(LimitsMetByAwaits, PutOffOnlyTasksThatHaveNotEnded) {
  EXPECT_EQ(enqueue("q"), "");
  sequence live = 0;
  options_.state->segments.for_each([&](const core::segment& s) { live = s.first; });
  attach(1, "mallory");
  attach(2, "mallory");
  await_half(1);
  await_half(2);

  EXPECT_EQ(ask(1, {live, next_seq_}), std::vector{next_seq_});
  EXPECT_EQ(port_.limit, "awaited_tasks_of_all_max");
}

TEST_F(LimitsMetByAwaits, AreThoseOfAConnectionBeforeThoseOfItsTenant) {
  attach(1, "mallory");
  await_half(1);
  await_half(1);

  EXPECT_EQ(await(1, 1), "awaited_tasks_max");
}

} // namespace
} // namespace codeq::coordinator
