// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>

/// Bounds and intervals of the implementation. Every buffer and every loop has one.
/// `codeq/limits.hpp` has the limits that users set, or meet in an error or a log line.
namespace codeq::tuning {

using namespace std::chrono_literals;

/// Before a client asks again for a shard of a cluster that its place does not serve.
inline constexpr duration not_here_pause = 50ms;

// Batches.
inline constexpr std::size_t beats_per_request_max = 65536;
inline constexpr std::size_t checkpoint_bytes_per_request_max = 8u << 20;
inline constexpr std::size_t holdings_per_request_max = 65536;
inline constexpr std::size_t awaited_tasks_per_request_max = 1000;
inline constexpr std::size_t bulk_tasks_max = 1000;
inline constexpr std::size_t bulk_looked_at_max = 10 * bulk_tasks_max;
/// Records that one list reads from the store, in turns of `list_turn_reads`.
inline constexpr std::size_t list_reads_max = 2048;
inline constexpr std::size_t list_turn_reads = 32;
inline constexpr std::size_t open_audits_max = 64;
/// Turns of fairness keys before a task's own that an explanation counts.
inline constexpr std::size_t turns_counted_max = 1000;
inline constexpr std::size_t session_operations_max = 16;
inline constexpr std::size_t audited_looked_at_max = 2000;

// A shard.
inline constexpr std::size_t turn_commands_max = 256;
inline constexpr std::size_t turn_bytes_max = 256u << 10;
inline constexpr std::size_t turn_open_lanes_max = 32;
inline constexpr std::size_t turn_lane_sequences = 16;
inline constexpr std::size_t due_released_per_turn_max = 10'000;
/// Number of tasks that one turn takes out of their lanes because of limits.
inline constexpr std::size_t limits_held_per_turn_max = 4096;
inline constexpr std::size_t dead_purged_per_turn_max = 1'000;
inline constexpr std::size_t queues_removed_per_snapshot_max = 1'000;
inline constexpr std::size_t segment_bytes_max = 256u << 10;
inline constexpr duration producer_session_ahead_max = 1h;
inline constexpr duration overloaded_retry_after = 50ms;
inline constexpr std::uint8_t refunds_in_row_max = 20;
inline constexpr std::size_t grant_tasks_max = 4096;
inline constexpr std::size_t grant_bytes_max = 8u << 20;
inline constexpr std::size_t segment_cache_bytes_default = 12u << 20;
inline constexpr std::size_t snapshot_records = 250'000;
inline constexpr std::size_t unpacked_weight_kept = 32'768;
inline constexpr std::size_t unpacked_weight_max = 131'072;
inline constexpr std::uint32_t block_segments_max = 256;
inline constexpr std::size_t block_tasks_max = 4096;
inline constexpr duration snapshot_interval = 5s;
/// Longest hold of hand-overs between shards during a backup of a cluster; it can be extended.
inline constexpr duration hand_over_hold_max = 30s;
/// In a cluster, how often a primary looks whether it may answer the reads that it keeps, and how
/// long each waits: longer than a fail-over takes.
inline constexpr duration kept_reads_look_interval = 50ms;
inline constexpr duration kept_reads_wait_max = 3s;
/// The bytes of the reads that one shard keeps; tenants share them fairly.
inline constexpr std::size_t kept_reads_bytes_max = 4u << 20;
/// Memory that a kept read occupies in addition to its body.
inline constexpr std::size_t kept_read_overhead_bytes = 1024;
/// When an eighth of a segment's tasks is left, they are copied into records of their own.
inline constexpr std::uint32_t sparse_part = 8;
/// Segments whose last tasks a snapshot copies into records of their own, and bytes of those tasks'
/// bodies that wait in memory for it.
inline constexpr std::size_t copied_segments_max = 1024;
inline constexpr std::uint64_t copied_bytes_max = 4ull << 20;
inline constexpr std::size_t snapshot_log_bytes = 4u << 20;
inline constexpr duration snapshot_interval_min = 250ms;
/// Maximum age of a lease without a timer.
inline constexpr duration lease_timer_delay_max = 1s;
inline constexpr std::uint64_t token_counter_max = (1ull << 39) - 1;
inline constexpr std::uint64_t epoch_max = (1ull << 24) - 1;

// The journal.
inline constexpr std::size_t commit_group_bytes_max = 4u << 20;
inline constexpr std::size_t commit_group_deltas_max = 2000;
inline constexpr duration os_sync_interval = 500ms;
inline constexpr duration os_unsynced_max = 1s;

// Records of ended tasks.
inline constexpr std::uint64_t retention_slack_bytes = 64ull << 20;
inline constexpr duration retention_look_interval = 1min;

// Schedules.
/// How many schedules one turn looks at, and the time between two turns that do.
inline constexpr std::size_t schedules_per_turn_max = 256;
inline constexpr duration schedule_turn_interval = 10ms;
/// Size of the records of one schedule's change, about.
inline constexpr std::size_t schedule_record_bytes = 512;
/// An occurrence that fires later than this is late.
inline constexpr duration schedule_late_after = 1s;
inline constexpr duration zones_look_interval = 1min;

// The disk.
inline constexpr duration free_space_look_interval = 1s;
inline constexpr std::uint64_t free_space_look_bytes = 1u << 20;
/// Below `free_bytes_least` / `tight_space_divisor` free bytes, claims and large results wait, too.
inline constexpr std::uint64_t tight_space_divisor = 4;
inline constexpr std::uint64_t disk_reserve_bytes = 64ull << 20;
/// The reserve file is released when fewer bytes are free.
inline constexpr std::uint64_t disk_reserve_release_bytes = 16ull << 20;
/// A result of at most this size, follow-ups included, is accepted however little space is free.
inline constexpr std::size_t small_result_bytes_max = 16u << 10;
/// Delay before a worker resends results and checkpoints that the coordinator had no space for.
inline constexpr duration result_retry_after = 1s;

// A connection.
inline constexpr std::size_t frame_bytes_max = 16u << 20;
/// A frame of another coordinator. A turn is one message of it, and contains a frame of a client.
inline constexpr std::size_t peer_frame_bytes_max = 4 * frame_bytes_max;
inline constexpr std::size_t hello_bytes_max = 4u << 10;
inline constexpr duration hello_timeout = 5s;
inline constexpr duration ping_interval = 5s;
inline constexpr duration silent_peer_max = 20s;
inline constexpr duration reconnect_delay_min = 50ms;
inline constexpr duration reconnect_delay_max = 2s;
inline constexpr duration connect_timeout = 5s;
inline constexpr duration connection_linger = 500ms;
inline constexpr std::size_t descriptors_reserved = 32;
inline constexpr duration accept_pause = 200ms;
inline constexpr std::size_t outgoing_bytes_high = 32u << 20;
inline constexpr std::size_t outgoing_bytes_low = 8u << 20;
inline constexpr std::size_t delivery_bytes_waiting_max = 4u << 20;
inline constexpr duration delivery_look_interval = 10ms;
inline constexpr duration delivery_late_interval = 1s;
inline constexpr std::size_t result_bytes_waiting_max = 8u << 20;
/// Ended claims of a tenant and of one gateway that wait for commits of a shard. Beyond it further
/// claims of theirs get no tasks of that shard.
inline constexpr std::size_t ended_claims_max = 1024;
inline constexpr std::size_t results_asked_again_max = 8;
/// As many unread bytes of each connection do not count, so that every connection makes progress.
inline constexpr std::size_t unread_bytes_free = 64u << 10;
/// A connection with more unread bytes is closed when its tenant's share is used up.
inline constexpr std::size_t unread_bytes_over_share_max = 1u << 20;
/// A connection with more unread bytes gets refusals in place of answers.
inline constexpr std::size_t unread_bytes_per_connection_max = 8u << 20;
/// Memory that an enqueue request occupies in addition to its body.
inline constexpr std::size_t enqueue_overhead_bytes = 1024;
/// Longer than for other refusals: so many bytes take a while to become durable, and resending a
/// large request is expensive.
inline constexpr duration enqueue_bytes_retry_after = 500ms;
/// Delay before a producer asks again about an awaited task for which there was no room.
inline constexpr duration lookups_retry_after = 100ms;
inline constexpr duration name_probe_timeout = 1s;
inline constexpr duration shutdown_max = 2s;

// A worker.
/// A task shares the buffer of a batch up to this size; from a larger batch it copies its part.
inline constexpr std::size_t shared_batch_bytes_max = 32u << 10;
inline constexpr duration progress_interval = 20ms;
inline constexpr duration drain_cancel_grace = 1s;
inline constexpr std::size_t unanswered_reports_max = 16384;
inline constexpr std::size_t unanswered_bytes_max = 64u << 20;
inline constexpr std::size_t report_bytes_per_request_max = 8u << 20;

// The HTTP gateway.
inline constexpr std::size_t http_bodies_bytes_max = 128u << 20;
inline constexpr duration http_idle_max = 60s;
inline constexpr duration http_body_time_max = 60s;
inline constexpr duration http_write_time_max = 60s;
inline constexpr duration http_shutdown_max = 500ms;
inline constexpr duration http_ready_timeout = 2s;
inline constexpr std::size_t http_enqueues_in_flight_max = 512;

static_assert(
  limits::enqueue_bytes_min >= 4 * frame_bytes_max,
  "a tenant may send its largest frame while that of another tenant is not durable yet");

} // namespace codeq::tuning
