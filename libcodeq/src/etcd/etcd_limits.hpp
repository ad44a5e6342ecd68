// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstddef>

/// Bounds and intervals of the client of etcd.
namespace codeq::etcd::limits {

using namespace std::chrono_literals;

/// etcd clusters have 1, 3 or 5 members; 9 leaves room for a replacement of all of them.
inline constexpr std::size_t members_max = 9;
inline constexpr std::size_t key_bytes_max = 512;
/// A value has to fit many times into one answer.
inline constexpr std::size_t value_bytes_max = 16u << 10;
/// Keys that one answer lists; more are read by further requests.
inline constexpr std::size_t page_keys = 256;
/// Keys that one question may list in all pages.
inline constexpr std::size_t range_keys_max = 20'000;
/// A page of the largest values, in base64, and what is around them.
inline constexpr std::size_t answer_bytes_max = 8u << 20;
/// One line of a watch. etcd is asked to cut larger ones at 1.5 MiB.
inline constexpr std::size_t line_bytes_max = 8u << 20;
inline constexpr std::size_t json_depth_max = 16;
/// Text of etcd that is repeated in an error.
inline constexpr std::size_t quoted_bytes_max = 300;

/// A member that has not answered for so long is not waited for alone: the next one is asked, too.
inline constexpr duration unanswered = 300ms;
/// Copies of one request that one member may still answer.
inline constexpr std::size_t copies_open_max = 3;
/// A member that failed is not asked again by the same call for so long.
inline constexpr duration failed_pause = 100ms;
/// After this time, the outcome of a call is unknown.
inline constexpr duration call = 2000ms;
/// The first and the longest pause before a watch that was cut is started again.
inline constexpr duration watch_pause = 50ms;
inline constexpr duration watch_pause_max = 1000ms;
/// A watch that does not tell a change so long after a poll has found it is started again.
inline constexpr duration watch_stalled = 1000ms;
/// Connecting and the answer that a watch has begun.
inline constexpr duration watch_start = 2000ms;

/// Calls that are under way at once, and that wait for their turn. More are refused.
inline constexpr std::size_t calls_active_max = 32;
inline constexpr std::size_t calls_waiting_max = 4096;

} // namespace codeq::etcd::limits
