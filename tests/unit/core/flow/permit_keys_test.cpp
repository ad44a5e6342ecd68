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

  /// The permits that the shard gives in the turn. Remembers the tenants that it refused, and its
  /// answer about limits.
  std::vector<permit_number> decide(const command& c) {
    turn t(state_);
    t.decide(c, now_);
    const auto sealed = t.seal(now_);
    std::vector<permit_number> given;
    for (const auto& e : sealed.effects) {
      if (const auto* told = std::get_if<shard_told>(&e))
        if (const auto* said = std::get_if<give_permits>(&told->what))
          given.insert(given.end(), said->given.begin(), said->given.end());
      if (const auto* met = std::get_if<limit_keys_met>(&e))
        met_.push_back(met->tenant);
      if (const auto* answered = std::get_if<limits_answered>(&e))
        answer_ = *answered;
    }
    return given;
  }

  /// The keys of a limit, as the shard tells them.
  limits_answered list_keys(const std::string& limit) {
    (void)decide(list_limit_keys{1, 3, {"t", limit}, {{}, 1, true}});
    return answer_;
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
  std::vector<std::string> met_;
  limits_answered answer_;
};

TEST_F(FullLimitKeys, TaskOfAnotherShardGetsAFurtherKeyWhileItRuns) {
  const permit one{7, "t", {{"slots", "further", 1}}};

  EXPECT_EQ(want({one}), std::vector<permit_number>{7});
}

TEST_F(FullLimitKeys, FurtherKeyWhoseStartsRemainIsNotGiven) {
  const permit one{7, "t", {{"slots", "further", 1}, {"paced", "further", 1}}};

  EXPECT_TRUE(want({one}).empty());
  EXPECT_EQ(met_, std::vector<std::string>{"t"}) << "for log and metrics";
}

TEST_F(FullLimitKeys, ManyRefusedPermitsOfATurnAreNotedOnce) {
  const permit one{7, "t", {{"paced", "further", 1}}};
  const permit another{8, "t", {{"paced", "other", 1}}};

  EXPECT_TRUE(want({one, another}).empty());

  EXPECT_EQ(met_.size(), 1u);
}

TEST_F(FullLimitKeys, OwnerSaysThatALimitWithARateHasNoRoomForKeys) {
  EXPECT_TRUE(list_keys("paced").is_out_of_keys);
  EXPECT_FALSE(list_keys("slots").is_out_of_keys) << "its keys come into use beyond the maximum";
}

TEST_F(FullLimitKeys, OtherTenantsHaveRoom) {
  (void)decide(set_limit{1, 4, {"u", "paced"}, limit_definition{.rate = start_rate{10, 1s, 1}}});
  const permit one{7, "u", {{"paced", "k", 1}}};

  (void)decide(list_limit_keys{1, 5, {"u", "paced"}, {{}, 1, true}});
  EXPECT_TRUE(answer_.allowed);
  EXPECT_FALSE(answer_.is_out_of_keys);
  EXPECT_EQ(want({one}), std::vector<permit_number>{7});
}

} // namespace
} // namespace codeq::core
