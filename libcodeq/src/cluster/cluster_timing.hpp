// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstdint>

/// Intervals of a coordinator's life in a cluster. How fast a shard is served again depends on
/// those of `replication/timing.hpp`, not on these.
namespace codeq::cluster::timing {

using namespace std::chrono_literals;

/// A node that keeps its lease no more is missing after this time.
inline constexpr duration lease = 5s;
inline constexpr duration keep_alive = 1500ms;
/// Pause before a lease is asked for again.
inline constexpr duration lease_retry = 500ms;
/// Interval of polls for what was changed, and for everything.
inline constexpr duration poll = 1s;
inline constexpr duration full_poll = 10s;
/// How often a node tells its load.
inline constexpr duration load = 30s;
/// How often the controller places copies, and a node looks for steps of its shards.
inline constexpr duration control = 1s;
/// A decision for an operator begins at most so long after it was asked for. It is known after
/// another 2 s, the longest call of etcd.
inline constexpr duration change = 2500ms;
/// A node that is missing for so long is given up: its copies are replaced.
inline constexpr duration gone = 60s;
/// How often it is said that etcd was restored or replaced.
inline constexpr duration repair_words = 60s;
/// An etcd that has not answered for so long is reported as away.
inline constexpr duration etcd_silent = 5s;
/// A node with less free space takes no copies.
inline constexpr std::uint64_t free_bytes_min = 2ull << 30;

} // namespace codeq::cluster::timing
