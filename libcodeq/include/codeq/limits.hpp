// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

/// The limits and defaults that users meet. A value over its limit is refused with an error that
/// names the field, the value and the limit; nothing is clamped or cut silently. `*_bytes_*` are
/// bytes, durations carry their unit, all others are numbers of what they name.
namespace codeq::limits {

using namespace std::chrono_literals;

// Fields of a task.

/// Names of tenants, queues and workers: they are part of keys on disk and of every log line.
inline constexpr std::size_t name_bytes_max = 128;
/// A payload; larger data belongs into a store of its own, and its address into the payload.
inline constexpr std::size_t payload_bytes_max = 1u << 20;
/// A result; as for payloads.
inline constexpr std::size_t result_bytes_max = 1u << 20;
/// The text of a failure. Handlers' texts and the output of programs are cut to it, with a mark.
inline constexpr std::size_t error_text_bytes_max = 16u << 10;
/// Names and values of all headers of a task together.
inline constexpr std::size_t headers_bytes_max = 16u << 10;
/// A checkpoint: it is written again with every save, so it should be a position and not the work.
inline constexpr std::size_t checkpoint_bytes_max = 64u << 10;
/// A producer's key for a task: it is held in memory as long as the task is live.
inline constexpr std::size_t key_bytes_max = 256;
/// The name of a group: it is held in memory as long as the group has live tasks.
inline constexpr std::size_t group_bytes_max = 256;
/// The highest priority; 0 is the lowest, and the default.
inline constexpr int priority_max = 9;
/// Charged deliveries of a task before it is dead.
inline constexpr std::uint32_t attempts_max = 1000;
inline constexpr std::uint32_t attempts_default = 5;
/// A shorter lease would be lost by a short stall of the network.
inline constexpr duration lease_min = 1s;
/// A task of a dead worker waits as long as its lease, so longer ones would rest for days.
inline constexpr duration lease_max = 12h;
/// How long a claim is valid without a heartbeat: a dead worker's tasks come back after this time.
inline constexpr duration lease_default = 10s;
/// Delay before the second attempt, and the longest delay between attempts, of a task whose queue
/// has no retry policy.
inline constexpr duration retry_base_default = 1s;
inline constexpr duration retry_cap_default = 15min;
/// Base, cap and delay of a retry.
inline constexpr duration retry_max = 365 * 24h;
/// How far ahead a task may be deferred.
inline constexpr duration not_before_ahead_max = 10 * 365 * 24h;
/// `run_timeout` and `progress_timeout` of a task.
inline constexpr duration run_timeout_max = 30 * 24h;
/// How long the record of an ended task may be kept. Few classes, so that whole files of records
/// can be dropped together.
inline constexpr std::array<duration, 5> retention_classes{1h, 24h, 7 * 24h, 30 * 24h, 365 * 24h};
/// Retention of a completed or cancelled task whose queue has none configured.
inline constexpr duration retention_completed_default = 24h;
/// Events of a task's history after its enqueue; the latest ones are kept.
inline constexpr std::uint32_t history_events_max = 32;
/// The text of one event in a history; longer ones are cut with a mark.
inline constexpr std::size_t history_text_bytes_max = 1024;

// Requests of producers and operators.

/// Tasks of one enqueue request.
inline constexpr std::size_t enqueue_tasks_max = 1000;
/// Follow-up tasks of one completion, which are one write with it, and the bytes of all of them.
inline constexpr std::size_t follow_ups_max = 64;
inline constexpr std::size_t follow_up_bytes_max = 8u << 20;
/// Requests of a producer that are not answered: `enqueue` blocks above the window.
inline constexpr std::size_t producer_window_requests_default = 64;
/// The largest window: a shard remembers so many requests of a session to recognise repeats.
inline constexpr std::size_t producer_requests_max = 1024;
/// Bytes of a producer's requests that are not answered; `enqueue` blocks above.
inline constexpr std::size_t producer_inflight_bytes_max = 64u << 20;
/// A producer that is silent for longer loses its session: what it sent is `session_expired`,
/// because repeats could no longer be recognised.
inline constexpr duration producer_session_idle_max = 24h;
/// Tasks that a list returns.
inline constexpr std::size_t listed_tasks_max = 10'000;
inline constexpr std::size_t listed_tasks_default = 100;
/// Dead tasks per second that a redrive or a purge may be limited to.
inline constexpr std::uint64_t bulk_rate_max = 1'000'000;
/// Queues of a tenant; each costs memory on every shard.
inline constexpr std::size_t queues_per_tenant_max = 10'000;

// A worker.

/// Concurrent tasks of a worker; each slot of a function is a thread.
inline constexpr std::size_t slots_max = 4096;
inline constexpr std::size_t slots_default = 8;
/// Queues that one worker serves.
inline constexpr std::size_t queues_per_worker_max = 1000;
/// The largest share of a queue when several wait for slots.
inline constexpr unsigned queue_weight_max = 1000;
/// Tasks that a batch handler may get at once.
inline constexpr std::size_t batch_tasks_max = 1000;
/// Tasks in one message for claims, and reports in one message for results.
inline constexpr std::size_t reports_per_request_max = 4096;
/// Idle time after which the actor of a keyed handler ends.
inline constexpr duration keyed_idle_default = 1min;
/// Actors of a keyed handler on one worker; above it, an actor ends as soon as it is idle.
inline constexpr std::size_t keyed_actors_max = 10'000;
/// Time that a drain gives running handlers to finish.
inline constexpr duration drain_default = 30s;
/// Time that a handler has to stop after its task was cancelled; then the lease ends.
inline constexpr duration cancel_grace_default = 10s;
/// The note of a progress report; longer ones are cut with a mark.
inline constexpr std::size_t progress_note_bytes_max = 1024;
/// Words in the command of a program that is a handler.
inline constexpr std::size_t exec_arguments_max = 256;
/// Time between SIGTERM and SIGKILL for a program that should stop.
inline constexpr duration exec_kill_grace_default = 5s;

// A coordinator.

/// Shards of a store.
inline constexpr std::size_t shards_max = 1024;
/// Open connections of workers, producers and operators.
inline constexpr std::size_t connections_max = 4096;
/// Open connections to the HTTP gateway.
inline constexpr std::size_t http_connections_max = 4096;
/// Bytes of enqueues that are not durable yet, over all connections; above it, enqueues are
/// refused with `overloaded`. The least lets one tenant send its largest request while that of
/// another is not durable yet.
inline constexpr std::uint64_t enqueue_bytes_default = 256ull << 20;
inline constexpr std::uint64_t enqueue_bytes_min = 64ull << 20;
/// Bytes of the records of ended tasks; above it, the oldest are removed before their time.
inline constexpr std::uint64_t retention_bytes_default = 10ull << 30;
inline constexpr std::uint64_t retention_bytes_min = 1ull << 20;
/// Free bytes on the disk below which new tasks are refused, so that claims and results can go on.
inline constexpr std::uint64_t free_bytes_least_default = 512ull << 20;
/// Threads that shards and sessions share.
inline constexpr std::size_t scheduler_threads_default = 2;
inline constexpr std::size_t scheduler_threads_max = 256;

// The HTTP gateway.

/// The request line and all headers of a request.
inline constexpr std::size_t http_header_bytes_max = 8u << 10;
/// The body of a request: a payload of 1 MiB in base64 fits.
inline constexpr std::size_t http_body_bytes_max = 2u << 20;
/// The body of a batch.
inline constexpr std::size_t http_batch_body_bytes_max = 16u << 20;
/// Objects and arrays inside each other.
inline constexpr std::size_t http_json_depth_max = 64;
/// The `X-Request-Id` that a client may choose.
inline constexpr std::size_t http_request_id_bytes_max = 128;
/// `waitSeconds`: how long a request may wait for a task or for an end.
inline constexpr duration http_wait_max = 60s;
/// Tasks of a batch.
inline constexpr std::size_t http_batch_tasks_max = 100;
/// Tasks and queues of a claim.
inline constexpr std::size_t http_claim_tasks_max = 10;
inline constexpr std::size_t http_claim_queues_max = 1000;
/// Tasks of one page of a list.
inline constexpr std::size_t http_listed_tasks_max = 1000;
/// Ids of one request that redrives or purges dead tasks.
inline constexpr std::size_t http_bulk_ids_max = 1000;

} // namespace codeq::limits
