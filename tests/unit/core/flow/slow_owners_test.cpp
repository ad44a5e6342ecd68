// SPDX-License-Identifier: Apache-2.0
#include "core/commands/routing.hpp"
#include "core/state/task_limits.hpp"
#include "support/shard_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace codeq::test {
namespace {

using namespace std::chrono_literals;

/// A shard of four with a task whose keys two others own, of which the second takes long to answer.
class SlowOwners : public shard_fixture {
protected:
  SlowOwners() {
    core::open_permits(state(), shards);
    set_limit("db", limit_definition{.concurrency = 1});
    attach("w", {"q"});
    claim("w", 9);
  }

  /// The task gets the permit of `api`, and asks the owner of `db`.
  void hold_one() {
    enqueue("q", 1, {.limits = {{"db", of_second, 1}}});
    advance(200ms);
    decide(core::give_permits{second, state().epoch, 1});
    enqueue("q", 1, {.limits = {{"api", of_first, 1}, {"db", of_second, 1}}});
    decide(core::give_permits{first, state().epoch, 1});
    decide(core::give_permits{first, state().epoch, 2, {number(2)}});
  }

  /// The shard returns what it has.
  static bool returns(const std::string& said) {
    return said.find("1 returned to shard " + std::to_string(value(first))) != said.npos;
  }

  [[nodiscard]] core::permit_number number(std::uint64_t count) {
    return std::uint64_t{state().epoch} << 40 | count;
  }

  [[nodiscard]] static std::string key_of(const std::string& limit, shard_id owner) {
    task_limit use{limit, "k", 1};
    while (core::shard_of_limit_key("default", use, shards) != owner)
      use.key += "k";
    return use.key;
  }

  static constexpr std::uint16_t shards = 4;
  static constexpr shard_id first{2};
  static constexpr shard_id second{3};
  const std::string of_first = key_of("api", first);
  const std::string of_second = key_of("db", second);
};

TEST_F(SlowOwners, PermitWithoutARateIsKeptMeanwhile) {
  set_limit("api", limit_definition{.concurrency = 1});
  hold_one();

  EXPECT_FALSE(returns(advance(60ms)));
  EXPECT_TRUE(returns(advance(1s)));
}

TEST_F(SlowOwners, PermitIsReturnedAtOnceWhenItsQueueIsPaused) {
  set_limit("api", limit_definition{.concurrency = 1});
  hold_one();
  pause("q");

  EXPECT_TRUE(returns(advance(1ms)));
}

TEST_F(SlowOwners, PermitOfARateIsReturnedInTime) {
  set_limit("api", limit_definition{.rate = start_rate{10, 1s, 1}});
  hold_one();

  EXPECT_TRUE(returns(advance(60ms)));
}

TEST_F(SlowOwners, PermitIsReturnedInTimeWhenItsLimitGetsARate) {
  set_limit("api", limit_definition{.concurrency = 1});
  hold_one();
  set_limit("api", limit_definition{.rate = start_rate{10, 1s, 1}});

  EXPECT_TRUE(returns(advance(60ms)));
}

} // namespace
} // namespace codeq::test
