// SPDX-License-Identifier: Apache-2.0
#include "unit/coordinator/lone_port.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace codeq::coordinator {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

class GrantPause : public testing::Test {
protected:
  GrantPause() {
    options_.state = std::make_shared<core::shard_state>(shard_id{}, 1);
    shard_.emplace(options_, port_, now_);
    shard_->start(now_);
  }

  /// True when the shard hands no tasks out after it has looked.
  bool pauses() {
    shard_->look_at_room(now_);
    return options_.state->are_grants_paused;
  }

  lone_port port_;
  shard_options options_;
  instant now_{monotonic_time{1h}, timestamp{1'700'000'000s}};
  std::optional<shard> shard_;
};

TEST_F(GrantPause, LastsAsLongAsResultsCouldNotBeStored) {
  EXPECT_FALSE(pauses());

  port_.has_replicas = false;
  EXPECT_TRUE(pauses());
  port_.is_tight = true;
  EXPECT_TRUE(pauses()) << "both reasons";
  port_.has_replicas = true;
  EXPECT_TRUE(pauses()) << "one of them is left";
  port_.is_tight = false;
  EXPECT_FALSE(pauses());

  EXPECT_THAT(
    port_.pauses,
    ElementsAre(grant_pause::few_replicas, grant_pause::disk_full, grant_pause::none))
    << "it is said when it begins, has another reason, and ends";
}

TEST_F(GrantPause, NamesTheFullDiskFirst) {
  port_.has_replicas = false;
  port_.is_tight = true;

  EXPECT_TRUE(pauses());

  EXPECT_THAT(port_.pauses, ElementsAre(grant_pause::disk_full));
}

} // namespace
} // namespace codeq::coordinator
