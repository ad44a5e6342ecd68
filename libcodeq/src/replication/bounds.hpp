// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds of what replicas keep for each other and have under way. Sizes are in bytes.
namespace codeq::replication::bounds {

/// The deltas of one message, unless there is only one.
inline constexpr std::size_t message_bytes = 256u << 10;
inline constexpr std::size_t message_entries = 256;
/// The deltas of a shard that a replica was sent and has not confirmed.
inline constexpr std::size_t in_flight_bytes = 8u << 20;
/// Messages of one frame between two coordinators.
inline constexpr std::size_t frame_messages = 4096;
/// Replicas of a shard; there are up to three, and more for a while when one is replaced.
inline constexpr std::size_t replicas = 16;
/// What an entry takes beside its body.
inline constexpr std::size_t entry_bytes = 64;
/// A primary tells the others of a shard what may be dropped with its snapshots, at most so many
/// bytes a second on average.
inline constexpr std::size_t horizon_bytes_per_second = 64u << 10;
/// A larger delta carries no horizon, so that the frame of a client and one fit a frame of a
/// coordinator of an earlier version.
inline constexpr std::size_t delta_bytes_with_horizon = 8u << 20;
/// A replica that confirms nothing is sent its deltas again with the next beacon, and one beacon
/// later for each so many bytes of them that are under way. So at most two copies of them wait for
/// a slow connection, as no third one is sent before the second one has begun to arrive.
inline constexpr std::size_t beacon_bytes = 4u << 20;
/// The latest deltas that a primary or follower keeps in memory, of a shard and of all together.
inline constexpr std::size_t ring_bytes = 4u << 20;
inline constexpr std::size_t rings_bytes = 32u << 20;
/// The same in files: of one file, and of a shard.
inline constexpr std::size_t spool_file_bytes = 8u << 20;
inline constexpr std::size_t spool_bytes = 64u << 20;
/// The same of a shard of which a replica takes a copy: the deltas since the copy began are kept.
inline constexpr std::size_t spool_bytes_of_copy = 1u << 30;
/// One part of a copy of a shard's data, unless it is one record.
inline constexpr std::size_t copy_part_bytes = 256u << 10;
/// Keys that are removed at once before a copy is taken.
inline constexpr std::size_t swept_keys = 10'000;
/// Parts that were read and are not written by the other replica. With so few a copy takes a small
/// part of its journal.
inline constexpr std::uint32_t copy_parts_ahead = 2;

} // namespace codeq::replication::bounds
