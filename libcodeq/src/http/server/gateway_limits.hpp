// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/limits.hpp"
#include "codeq/time.hpp"

#include <cstddef>
#include <cstdint>

/// Further limits of the gateway, besides those in `codeq/limits.hpp`.
namespace codeq::limits {

/// Maximum number of members of a JSON object, and of elements of an array that is parsed.
inline constexpr std::size_t http_json_members_max = 4096;
/// Maximum number of artifacts of one result.
inline constexpr std::size_t http_artifacts_max = 1000;
/// Maximum size of all answers together that are being read from the shards or written to clients.
inline constexpr std::size_t http_answers_bytes_max = 128u << 20;
/// An answer up to this size is never refused for its bytes; the number of connections bounds them.
inline constexpr std::size_t http_small_answer_bytes = 16u << 10;
/// Size of one task or result in a response, without the texts that the request gave.
inline constexpr std::size_t http_item_bytes = 1u << 10;
/// Maximum number of payloads that are read at once; further requests wait for their turn.
inline constexpr std::size_t http_bodies_read_max = 8;
/// Maximum number of lists, one for each shard, that are read at once. `lists_waiting_max` lists of
/// a tenant may wait at each shard for their turn.
inline constexpr std::size_t http_lists_read_max = 16;
/// Maximum number of items of a batch with `?limit=extended`.
inline constexpr std::size_t http_extended_batch_max = 1000;
/// A larger claim is made in steps of so many tasks, and ends once its answer has so many bytes.
inline constexpr std::size_t http_claim_step_tasks = 64;
inline constexpr std::size_t http_claim_bytes_max = 16u << 20;
/// The bytes of tasks that all shards together may grant to a step. The last task of each shard may
/// exceed its part.
inline constexpr std::size_t http_claim_room_bytes = 1u << 20;
/// Maximum size of one claimed task with its payload, headers, checkpoint and names.
inline constexpr std::size_t http_claimed_task_bytes =
  payload_bytes_max + headers_bytes_max + checkpoint_bytes_max + (8u << 10);
/// The shards whose last tasks are reserved before a step. With more shards a step may exceed its
/// reservation; what does not fit in the share when it arrives is given back.
inline constexpr std::size_t http_claim_shards_max = 8;
inline constexpr duration http_tls_handshake_max = std::chrono::seconds(5);
/// Maximum number of connections that have not shown a valid token; one more replaces another.
inline constexpr std::size_t http_unauthenticated_connections_max = 1024;
/// Maximum time from the arrival of a request to its response, in addition to the time that the
/// client asked to wait.
inline constexpr duration http_request_time_max = std::chrono::seconds(30);
/// Time that a request stays open after its client closed the connection. A client that closes only
/// its sending side may still read the response.
inline constexpr duration http_gone_grace = std::chrono::seconds(1);
/// Maximum number of unanswered enqueues of one tenant; each task of a batch counts.
inline constexpr std::size_t http_enqueues_open_max = 4096;
/// Maximum size of the rest of a refused request that is read and dropped after the refusal is
/// written. If the socket were closed earlier, it would be reset, and a client that still sends
/// would lose the refusal.
inline constexpr std::size_t http_drain_bytes_max = 64u << 20;
inline constexpr duration http_drain_time_max = std::chrono::seconds(10);

// Webhooks.
/// Maximum number of open webhooks of all tenants, which share them fairly: one tenant gets half at
/// most.
inline constexpr std::size_t webhooks_open_max = 200'000;
/// Maximum number of simultaneous deliveries, shared in the same way.
inline constexpr std::size_t webhook_flights_max = 128;
/// Maximum number of simultaneous deliveries of one tenant to one host.
inline constexpr std::size_t webhook_flights_per_host_max = 16;
/// Maximum number of simultaneous look-ups of hosts, shared in the same way.
inline constexpr std::size_t resolver_threads_max = 32;
inline constexpr duration webhook_timeout = std::chrono::seconds(10);
inline constexpr duration webhook_retry_min = std::chrono::seconds(1);
inline constexpr duration webhook_retry_max = std::chrono::minutes(15);
/// How long a coordinator waits before it delivers a webhook that another one may be delivering.
inline constexpr duration webhook_takeover_pause = std::chrono::seconds(2);
/// These attempts take about 17 hours, so that a task with the default retention is still stored.
inline constexpr std::uint32_t webhook_attempts_max = 100;
inline constexpr duration webhook_dead_retention = std::chrono::hours(7 * 24);

/// Number of leases that are remembered from their claims, of all tenants. The report of another
/// one takes a question more.
inline constexpr std::size_t http_recent_leases_max = 16'384;

// Wake-ups of subscribers.
/// Maximum number of subscriptions of all tenants, which share them fairly.
inline constexpr std::size_t subscriptions_max = 2000;
inline constexpr std::size_t subscription_queues_max = 100;
inline constexpr duration subscription_ttl_min = std::chrono::seconds(10);
inline constexpr duration subscription_ttl_max = std::chrono::hours(24);
inline constexpr duration subscription_ttl_default = std::chrono::minutes(5);
/// How often the queues are looked at while there are subscriptions.
inline constexpr duration wakeup_round = std::chrono::seconds(1);
inline constexpr duration wakeup_interval_max = std::chrono::hours(1);
inline constexpr duration wakeup_interval_default = std::chrono::seconds(5);

// Autoscaling.
/// The time within which the tasks of a queue have to end, when the request does not say it.
inline constexpr duration autoscale_within_default = std::chrono::minutes(1);
inline constexpr duration autoscale_within_min = std::chrono::seconds(1);
inline constexpr duration autoscale_within_max = std::chrono::hours(24);

// Records that the gateway keeps as tasks.
/// The pause before they are read again after a failure doubles from the one to the other.
inline constexpr duration record_read_pause_min = std::chrono::seconds(1);
inline constexpr duration record_read_pause_max = std::chrono::minutes(1);
/// How long after the loss of a coordinator its records are looked for.
inline constexpr duration record_walk_pause = std::chrono::seconds(5);
/// In a cluster: how often a coordinator looks for the wishes of others about the records that it
/// has, and how long another one waits for the answer to its wish, which a fail-over delays.
inline constexpr duration record_wish_pause = std::chrono::milliseconds(500);
inline constexpr duration record_wish_wait = std::chrono::seconds(10);

// Operations on all tasks that match a filter.
/// Maximum number of operations of one tenant that run or are paused.
inline constexpr std::size_t operations_open_max = 16;
/// The same of all tenants, which share them fairly.
inline constexpr std::size_t operations_open_of_all_max = 256;
/// Maximum number of ended operations of one tenant, and of all tenants, that are kept; the oldest
/// go first.
inline constexpr std::size_t operations_kept_max = 100;
inline constexpr std::size_t operations_kept_of_all_max = 10'000;
inline constexpr duration operation_kept_for = std::chrono::hours(30 * 24);
/// Maximum number of events of one operation; the first one is always kept.
inline constexpr std::size_t operation_events_max = 32;
/// Maximum number of tasks of a canary.
inline constexpr std::size_t operation_canary_tasks_max = 1000;
/// Maximum number of tasks of a part that are changed one by one.
inline constexpr std::size_t operation_single_changes_max = 200;
/// Maximum number of tasks of a canary that are looked at together, and the pause between rounds.
inline constexpr std::size_t operation_looks_max = 100;
inline constexpr duration operation_look_pause = std::chrono::seconds(1);
/// The pause before a step that failed is repeated.
inline constexpr duration operation_retry_pause = std::chrono::seconds(1);
/// How much of a delay the next parts of an operation with a rate make up for.
inline constexpr duration operation_pace_slack = std::chrono::milliseconds(200);
/// The place of a walk is stored after so many lists without a match.
inline constexpr std::size_t operation_empty_lists_max = 64;

// The dashboard.
/// Maximum number of open event streams of all tenants, which share them fairly.
inline constexpr std::size_t live_streams_max = 256;
/// Time from one event to the next.
inline constexpr duration live_period = std::chrono::seconds(1);
/// The least time between two events of a stream: a new stream need not wait for the period to end.
inline constexpr duration live_pause_min = std::chrono::milliseconds(200);
/// Maximum number of queues and tenants whose past is kept; each takes at most 60 KiB.
inline constexpr std::size_t history_series_max = 512;
inline constexpr duration history_step = std::chrono::seconds(10);
inline constexpr std::size_t history_points_hour = 360;
inline constexpr duration history_day_step = std::chrono::minutes(5);
inline constexpr std::size_t history_points_day = 288;

} // namespace codeq::limits
