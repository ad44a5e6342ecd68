// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

namespace codeq::replication::timing {

using namespace std::chrono_literals;

/// Interval of a primary's beacons.
inline constexpr duration beacon = 300ms;
/// Messages that a primary sends within this time count as one beacon, sent with the first of them.
inline constexpr duration beacon_shared = 50ms;
/// How much later a learner may be than the primary when it begins to count.
inline constexpr duration close = 1000ms;
/// Silence of the primary after which a follower asks the others.
inline constexpr duration suspicion = 1200ms;
/// Silence up to which a member that still heard the primary puts an election off.
inline constexpr duration postponement = 2000ms;
/// How long the members have to answer a question.
inline constexpr duration answers = 200ms;
/// How long a confirmed beacon entitles its sender, from its sending.
inline constexpr duration entitlement = 1500ms;
/// How long a new primary waits from the last beacon that it confirmed. With clocks whose rates
/// differ by up to 25 % the entitlement of the old one is still shorter.
inline constexpr duration wait = 2000ms;
/// A member that confirms nothing for so long is removed from the set.
inline constexpr duration unconfirmed = 1500ms;
/// A member whose confirmations are so late is removed if enough others are in sync, since all
/// deltas wait for them. Longer than `unconfirmed`, so that a short load removes nobody.
inline constexpr duration late = 3000ms;
/// A primary whose disk has not finished a write for so long gives up its epoch, if etcd answers.
inline constexpr duration hung_disk = 1000ms;
/// A disk that has been slow has twice the time of its slowest write instead, but at most so long,
/// with which a fail-over still takes less than 3 s.
inline constexpr duration slow_disk = 2000ms;
/// The same for a primary that does not serve yet: longer than two writes of `unconfirmed`, up to
/// which members stay in the set, since its first write may have to wait for that of another shard.
inline constexpr duration slow_disk_at_start = 4000ms;
/// How long it counts that a write was slow.
inline constexpr duration slow_disk_remembered = 60'000ms;
/// A copy of which nothing is written for so long is given up; a shorter cut does not make it begin
/// anew.
inline constexpr duration copy_silence = 60'000ms;
/// A taker that has not answered for so long is asked what has arrived.
inline constexpr duration copy_unanswered = 1000ms;
/// A compare-and-set that is not answered for so long is sent again.
inline constexpr duration unanswered = 300ms;

} // namespace codeq::replication::timing
