// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

/// Every limit and default of codeq, with its unit. A value over its limit is refused with an error
/// that names the field, the value and the limit; nothing is clamped or cut silently.
namespace codeq::limits {

using namespace std::chrono_literals;

// Names and fields of a task.
inline constexpr std::size_t name_bytes_max = 128;
inline constexpr std::size_t payload_bytes_max = 1u << 20;
inline constexpr std::size_t result_bytes_max = 1u << 20;
inline constexpr std::size_t error_text_bytes_max = 16u << 10;
inline constexpr std::size_t headers_bytes_max = 16u << 10;
inline constexpr std::size_t checkpoint_bytes_max = 64u << 10;
inline constexpr std::size_t history_text_bytes_max = 1024;
inline constexpr std::uint32_t history_events_max = 32;
inline constexpr std::size_t key_bytes_max = 256;
inline constexpr std::size_t group_bytes_max = 256;
inline constexpr int priority_max = 9;
inline constexpr std::uint32_t attempts_max = 1000;
inline constexpr std::uint32_t attempts_default = 5;
inline constexpr duration lease_min = 1s;
inline constexpr duration lease_max = 12h;
inline constexpr duration lease_default = 10s;
inline constexpr duration retry_base_default = 1s;
inline constexpr duration retry_cap_default = 15min;
inline constexpr duration retry_max = 365 * 24h;
inline constexpr duration not_before_ahead_max = 10 * 365 * 24h;
inline constexpr duration run_timeout_max = 30 * 24h;
inline constexpr duration retention_completed_default = 24h;
inline constexpr std::array<duration, 5> retention_classes{1h, 24h, 7 * 24h, 30 * 24h, 365 * 24h};

// Batches.
inline constexpr std::size_t enqueue_tasks_max = 1000;
inline constexpr std::size_t reports_per_request_max = 4096;
inline constexpr std::size_t beats_per_request_max = 65536;
inline constexpr std::size_t checkpoint_bytes_per_request_max = 8u << 20;
inline constexpr std::size_t holdings_per_request_max = 65536;
inline constexpr std::size_t awaited_tasks_per_request_max = 1000;
inline constexpr std::size_t queues_per_worker_max = 1000;
inline constexpr std::size_t queues_per_tenant_max = 10'000;
inline constexpr std::size_t bulk_tasks_max = 1000;
inline constexpr std::size_t bulk_looked_at_max = 10 * bulk_tasks_max;
inline constexpr std::size_t listed_tasks_max = 10'000;
inline constexpr std::size_t listed_tasks_default = 100;
inline constexpr std::uint64_t bulk_rate_max = 1'000'000;
inline constexpr std::size_t follow_ups_max = 64;
inline constexpr std::size_t follow_up_bytes_max = 8u << 20;

// A shard.
inline constexpr std::size_t shards_max = 1024;
inline constexpr std::size_t turn_commands_max = 256;
inline constexpr std::size_t turn_bytes_max = 256u << 10;
inline constexpr std::size_t turn_open_lanes_max = 32;
inline constexpr std::size_t turn_lane_sequences = 16;
inline constexpr std::size_t due_released_per_turn_max = 10'000;
inline constexpr std::size_t dead_purged_per_turn_max = 1'000;
inline constexpr std::size_t queues_removed_per_snapshot_max = 1'000;
inline constexpr std::size_t segment_bytes_max = 256u << 10;
inline constexpr std::size_t producer_requests_max = 1024;
inline constexpr std::size_t awaited_tasks_max = 1'000'000;
inline constexpr std::size_t producer_sessions_per_shard_max = 100'000;
inline constexpr duration producer_session_idle_max = 24h;
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
/// When an eighth of a segment's tasks is left, they are copied into records of their own.
inline constexpr std::uint32_t sparse_part = 8;
/// Segments whose last tasks a snapshot copies into records of their own, and bytes of those tasks'
/// bodies that wait in memory for it.
inline constexpr std::size_t copied_segments_max = 1024;
inline constexpr std::uint64_t copied_bytes_max = 4ull << 20;
inline constexpr std::size_t snapshot_log_bytes = 4u << 20;
inline constexpr duration snapshot_interval_min = 250ms;
inline constexpr duration lease_youth_max = 1s;
inline constexpr duration shard_time_slew_window = 1s;
inline constexpr std::uint64_t token_counter_max = (1ull << 39) - 1;
inline constexpr std::uint64_t epoch_max = (1ull << 24) - 1;

// The journal.
inline constexpr std::size_t commit_group_bytes_max = 4u << 20;
inline constexpr std::size_t commit_group_deltas_max = 2000;
inline constexpr duration os_sync_interval = 500ms;
inline constexpr duration os_unsynced_max = 1s;

// Records of ended tasks.
inline constexpr std::uint64_t retention_bytes_default = 10ull << 30;
inline constexpr std::uint64_t retention_bytes_min = 1ull << 20;
inline constexpr std::uint64_t retention_slack_bytes = 64ull << 20;
inline constexpr duration retention_look_interval = 1min;

// The disk.
inline constexpr std::uint64_t free_bytes_least_default = 512ull << 20;
inline constexpr duration free_space_look_interval = 1s;
inline constexpr std::uint64_t free_space_look_bytes = 1u << 20;
/// Below `free_bytes_least` / `tight_space_divisor` free bytes, claims and large results wait, too.
inline constexpr std::uint64_t tight_space_divisor = 4;
inline constexpr std::uint64_t disk_reserve_bytes = 64ull << 20;
/// The reserve file is released when fewer bytes are free.
inline constexpr std::uint64_t disk_reserve_release_bytes = 16ull << 20;
/// A result of at most this size, follow-ups included, is accepted however little space is free.
inline constexpr std::size_t small_result_bytes_max = 16u << 10;
/// Delay before a worker resends a result that the coordinator had no space for.
inline constexpr duration result_retry_after = 1s;

// A connection.
inline constexpr std::size_t frame_bytes_max = 16u << 20;
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
inline constexpr std::size_t connections_max = 4096;
inline constexpr std::size_t unauthenticated_connections_max = 256;
inline constexpr std::size_t outgoing_bytes_high = 32u << 20;
inline constexpr std::size_t outgoing_bytes_low = 8u << 20;
inline constexpr std::size_t delivery_bytes_waiting_max = 4u << 20;
inline constexpr duration delivery_look_interval = 10ms;
inline constexpr duration delivery_late_interval = 1s;
inline constexpr std::size_t result_bytes_waiting_max = 8u << 20;
inline constexpr std::size_t results_asked_again_max = 8;
/// Maximum number of bytes that the nodes of all tenants have not read.
inline constexpr std::uint64_t unread_bytes_max = 512ull << 20;
/// As many unread bytes of each connection do not count, so that every connection makes progress.
inline constexpr std::size_t unread_bytes_free = 64u << 10;
/// Beyond this number of unread bytes of a connection its questions are refused.
inline constexpr std::size_t unread_bytes_per_connection_max = 8u << 20;
inline constexpr std::size_t producer_inflight_bytes_max = 64u << 20;
inline constexpr std::size_t producer_window_requests_default = 64;
/// Maximum size of the enqueues of all connections that are not durable yet.
inline constexpr std::uint64_t enqueue_bytes_default = 256ull << 20;
/// Lets one tenant send the largest frame while another tenant's largest frame is not durable yet.
inline constexpr std::uint64_t enqueue_bytes_min = 4 * frame_bytes_max;
/// Memory that an enqueue request occupies in addition to its body.
inline constexpr std::size_t enqueue_overhead_bytes = 1024;
/// Longer than for other refusals: so many bytes take a while to become durable, and resending a
/// large request is expensive.
inline constexpr duration enqueue_bytes_retry_after = 500ms;
/// Maximum number of look-ups of one connection that wait for the store.
inline constexpr std::size_t lookups_waiting_max = 16'384;
/// Delay before a producer asks again about an awaited task for which there was no room.
inline constexpr duration lookups_retry_after = 100ms;
inline constexpr duration name_probe_timeout = 1s;
inline constexpr duration shutdown_max = 2s;

// The threads that a coordinator's shards and sessions share.
inline constexpr std::size_t scheduler_threads_default = 2;
inline constexpr std::size_t scheduler_threads_max = 256;

// A worker.
/// A task shares the buffer of a batch up to this size; from a larger batch it copies its part.
inline constexpr std::size_t shared_batch_bytes_max = 32u << 10;
inline constexpr std::size_t slots_max = 4096;
inline constexpr std::size_t slots_default = 8;
inline constexpr duration drain_default = 30s;
inline constexpr duration cancel_grace_default = 10s;
inline constexpr std::size_t exec_arguments_max = 256;
inline constexpr unsigned queue_weight_max = 1000;
inline constexpr std::size_t batch_tasks_max = 1000;
inline constexpr duration keyed_idle_default = 1min;
inline constexpr std::size_t keyed_actors_max = 10'000;
inline constexpr std::size_t progress_note_bytes_max = 1024;
inline constexpr duration progress_interval = 20ms;
inline constexpr duration exec_kill_grace_default = 5s;
inline constexpr duration drain_cancel_grace = 1s;
inline constexpr std::size_t unanswered_reports_max = 16384;
inline constexpr std::size_t unanswered_bytes_max = 64u << 20;
inline constexpr std::size_t report_bytes_per_request_max = 8u << 20;

// The HTTP gateway.
inline constexpr std::size_t http_header_bytes_max = 8u << 10;
inline constexpr std::size_t http_body_bytes_max = 2u << 20;
inline constexpr std::size_t http_batch_body_bytes_max = 16u << 20;
inline constexpr std::size_t http_bodies_bytes_max = 128u << 20;
inline constexpr std::size_t http_json_depth_max = 64;
inline constexpr std::size_t http_request_id_bytes_max = 128;
inline constexpr std::size_t http_connections_max = 4096;
inline constexpr duration http_idle_max = 60s;
inline constexpr duration http_body_time_max = 60s;
inline constexpr duration http_write_time_max = 60s;
inline constexpr duration http_wait_max = 60s;
inline constexpr duration http_shutdown_max = 500ms;
inline constexpr duration http_ready_timeout = 2s;
inline constexpr std::size_t http_batch_tasks_max = 100;
inline constexpr std::size_t http_claim_tasks_max = 10;
inline constexpr std::size_t http_claim_queues_max = 1000;
inline constexpr std::size_t http_listed_tasks_max = 1000;
inline constexpr std::size_t http_enqueues_in_flight_max = 512;
inline constexpr std::size_t http_bulk_ids_max = 1000;

} // namespace codeq::limits
