// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/state/task_limits.hpp"
#include "core/turn/turn.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace codeq::core {
namespace {

using namespace std::chrono_literals;

constexpr shard_id keys_asker{1};

/// A shard of two on which a tenant uses as many limit keys as it may. The other one wants permits.
class FullLimitKeys : public testing::Test {
protected:
  FullLimitKeys() {
    open_permits(state_, 2);
    (void)decide(set_limit{1, 1, {"t", "slots"}, limit_definition{.concurrency = 1}});
    (void)decide(set_limit{1, 2, {"t", "paced"}, limit_definition{.rate = start_rate{10, 1s, 1}}});
    for (std::size_t i = 0; i < limits::limit_keys_max; ++i)
      state_.limits.keys().close(
        state_.limits.place_of("t", {"slots", std::to_string(i), 1}), now_.shard + 1h);
    ask_permits list;
    list.from = keys_asker;
    list.session = 1;
    list.number = 1;
    list.is_list = true;
    (void)decide(list);
  }

  /// The permits that the shard gives in the turn.
  std::vector<permit_number> decide(const command& c) {
    turn t(state_);
    t.decide(c, now_);
    const auto sealed = t.seal(now_);
    std::vector<permit_number> given;
    for (const auto& e : sealed.effects)
      if (const auto* told = std::get_if<shard_told>(&e))
        if (const auto* said = std::get_if<give_permits>(&told->what))
          given.insert(given.end(), said->given.begin(), said->given.end());
    return given;
  }

  std::vector<permit_number> want(std::vector<permit> wanted) {
    ask_permits asked;
    asked.from = keys_asker;
    asked.session = 1;
    asked.number = 2;
    asked.wanted = std::move(wanted);
    return decide(asked);
  }

  shard_state state_{shard_id{0}, 1};
  instant now_{monotonic_time{1h}, timestamp{1h}};
};

TEST_F(FullLimitKeys, TaskOfAnotherShardGetsAFurtherKeyWhileItRuns) {
  const permit one{7, "t", {{"slots", "further", 1}}};

  EXPECT_EQ(want({one}), std::vector<permit_number>{7});
}

TEST_F(FullLimitKeys, FurtherKeyWhoseStartsRemainIsNotGiven) {
  const permit one{7, "t", {{"slots", "further", 1}, {"paced", "further", 1}}};

  EXPECT_TRUE(want({one}).empty());
}

} // namespace
} // namespace codeq::core
