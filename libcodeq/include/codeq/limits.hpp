// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

/// The limits and defaults that users meet. A value over its limit is refused with an error that
/// names field, value and limit; only HTTP takes `priority` 10 as 9, and a longer `waitSeconds` as
/// 60. `*_bytes_*` are bytes, durations carry their unit, all others are numbers of what they name.
namespace codeq::limits {

using namespace std::chrono_literals;

// Fields of a task.

/// Maximum name of a tenant, queue or worker. Names are part of keys on disk and of log lines.
inline constexpr std::size_t name_bytes_max = 128;
/// Maximum payload. Larger data belongs into a store of its own, and its address into the payload.
inline constexpr std::size_t payload_bytes_max = 1u << 20;
/// Maximum result. Larger data belongs into a store of its own, as for payloads.
inline constexpr std::size_t result_bytes_max = 1u << 20;
/// Maximum text of a failure. It is for people: handlers' texts and the output of programs are cut
/// to it, with a mark.
inline constexpr std::size_t error_text_bytes_max = 16u << 10;
/// Maximum of all headers of a task, names and values. They describe the payload, and are not a
/// second one.
inline constexpr std::size_t headers_bytes_max = 16u << 10;
/// Maximum checkpoint. It is written again with every save, so it should be a position and not the
/// work itself.
inline constexpr std::size_t checkpoint_bytes_max = 64u << 10;
/// Maximum key of a task. Keys are held in memory as long as their tasks are live.
inline constexpr std::size_t key_bytes_max = 256;
/// Maximum name of a group. It is held in memory as long as the group has live tasks.
inline constexpr std::size_t group_bytes_max = 256;
/// Maximum `max_depth` and `max_leased` of a queue. It is more than any store has tasks, so that a
/// greater one is most likely a mistake; 0 is no limit.
inline constexpr std::uint64_t queue_maximum_max = 1'000'000'000'000;
/// Maximum `quarantine_after` of a queue. A task's losses in a row are counted up to it.
inline constexpr std::uint32_t quarantine_after_max = 255;
/// Number of ended attempts from which on a queue's breaker decides. Fewer say too little.
inline constexpr std::uint32_t breaker_attempts_min = 20;
/// Maximum percentage of a queue's breaker. It trips when more attempts failed.
inline constexpr std::uint32_t breaker_percent_max = 99;
/// Minimum window of a queue's breaker: it is counted in tenths.
inline constexpr duration breaker_window_min = 1s;
/// Maximum window of a queue's breaker. A longer one would pause the queue for what is long over.
inline constexpr duration breaker_window_max = 24h;
/// Maximum fairness key of a task. It is held in memory as long as its key has live tasks.
inline constexpr std::size_t fairness_key_bytes_max = 256;
/// Maximum weight of a fairness key. A greater one would let the key's tasks run so long in a row
/// that the others seem to be stuck.
inline constexpr std::uint32_t fairness_weight_max = 1000;
/// Maximum number of fairness keys with live tasks of all queues of one tenant on one shard: each
/// needs about a kilobyte of memory. An enqueue above it is refused with `queue_full`; what cannot
/// be refused takes its turns under the empty key.
inline constexpr std::size_t fairness_keys_max = 200'000;
/// Maximum number of fairness keys whose weights the settings of a queue have. All of them are
/// written and carried to other shards with each change of the settings.
inline constexpr std::size_t fairness_weights_max = 100;
/// Maximum number of fairness keys of one answer. With the longest names it stays below 1 MiB.
inline constexpr std::size_t fairness_page_max = 1000;
/// Number of fairness keys of an answer when the request names none. They fit on a few screens.
inline constexpr std::size_t fairness_page_default = 100;
/// Maximum number of limits of one task. Each is checked for every start.
inline constexpr std::size_t task_limits_max = 4;
/// Maximum limit key of a task. Keys are held in memory while their limit holds tasks back.
inline constexpr std::size_t limit_key_bytes_max = 256;
/// Maximum cost of a task for a limit. More starts at once are better separate tasks.
inline constexpr std::uint32_t limit_cost_max = 1000;
/// Maximum actual cost that an ended attempt names, for example in tokens of a language model. A
/// greater debt would delay the next starts for long.
inline constexpr std::uint32_t limit_cost_settled_max = 1'000'000;
/// Maximum `concurrency` of a limit. Above it, leave the limit out.
inline constexpr std::uint32_t limit_concurrency_max = 1'000'000;
/// Maximum `count` and `burst` of a limit's rate. With a period of a second, the time between two
/// starts is then a microsecond.
inline constexpr std::uint32_t limit_rate_count_max = 1'000'000;
/// Maximum number of limits, and of limit keys, that the explanation of a queue names; those that
/// hold most.
inline constexpr std::size_t explained_limits_max = 10;
/// Maximum number of limit keys that a shard looks at to explain a queue, so that this does not
/// delay its other requests.
inline constexpr std::size_t explained_keys_seen_max = 1000;
/// Maximum number of limit keys without leases and held tasks that a shard passes over for a page
/// of the others, so that this does not delay its other requests.
inline constexpr std::size_t idle_limit_keys_passed_max = 20'000;
/// Minimum period of a limit's rate: times are in milliseconds.
inline constexpr duration limit_rate_period_min = 1ms;
/// Maximum period of a limit's rate. A longer one is most likely a wrong unit.
inline constexpr duration limit_rate_period_max = 31 * 24h;
/// Maximum time in which the whole burst of a limit's rate comes back. Spans that are much longer
/// are not told apart, so that the rest of such a burst could never be used.
inline constexpr duration limit_burst_time_max = 10'000 * 24h;
/// Maximum time for which a limit key is closed, by an operator or by a handler. A longer one is
/// most likely a wrong unit.
inline constexpr duration limit_closed_max = 31 * 24h;
/// Maximum number of limits of a tenant. Each is held in memory on every shard.
inline constexpr std::size_t limits_per_tenant_max = 1000;
/// Maximum number of limit keys in use of a tenant on one shard: those with leases, with tasks that
/// are held back, with starts that are not paid for, or that are closed. Each needs about half a
/// kilobyte of memory. An enqueue that names a further one is refused with `queue_full`.
inline constexpr std::size_t limit_keys_max = 200'000;
/// Maximum number of groups of tasks that a shard looks at for the dry run of a limit, so that this
/// does not delay its other requests.
inline constexpr std::size_t limit_forecast_seen_max = 20'000;
/// Maximum number of limits, or of limit keys, of one answer. They are one message.
inline constexpr std::size_t limits_page_max = 1000;
/// Number of limits, or of limit keys, of an answer that names none: a page that a person reads.
inline constexpr std::size_t limits_page_default = 100;
/// The highest priority; 0 is the lowest, and the default. Each priority of a queue is a list of
/// its own.
inline constexpr int priority_max = 9;
/// Maximum number of charged deliveries before a task is dead. A task that has failed so often has
/// to be looked at.
inline constexpr std::uint32_t attempts_max = 1000;
/// Charged deliveries of a task whose producer and queue set none: enough for a short outage, and
/// few enough that a broken task does not occupy workers for long.
inline constexpr std::uint32_t attempts_default = 5;
/// Minimum lease. A shorter one would be lost by a short stall of the network.
inline constexpr duration lease_min = 1s;
/// Maximum lease. The tasks of a dead worker wait as long as their lease.
inline constexpr duration lease_max = 12h;
/// Time that a claim is valid without a heartbeat, by default. A dead worker's tasks come back
/// after this time.
inline constexpr duration lease_default = 10s;
/// Upper bound of the delay before the second attempt of a task whose queue has no retry policy; it
/// doubles with each attempt. It gives what failed a moment to recover; with `attempts_default` all
/// delays together are 15 s at most.
inline constexpr duration retry_base_default = 1s;
/// Maximum delay between attempts of a task whose queue has no retry policy. After a long outage,
/// tasks with enough attempts (more than 11) run again within this time.
inline constexpr duration retry_cap_default = 15min;
/// Maximum base, cap and own delay of a retry. A longer one is most likely a wrong unit.
inline constexpr duration retry_max = 365 * 24h;
/// Maximum time that a task may be deferred by. A longer one is most likely a wrong unit.
inline constexpr duration not_before_ahead_max = 10 * 365 * 24h;
/// Maximum `run_timeout` and `progress_timeout` of a task. A longer one is most likely a wrong
/// unit; 0 is unlimited.
inline constexpr duration run_timeout_max = 30 * 24h;
/// Times that the record of an ended task may be kept. They are few, so that whole files of records
/// can be dropped together.
inline constexpr std::array<duration, 5> retention_classes{1h, 24h, 7 * 24h, 30 * 24h, 365 * 24h};
/// Retention of a completed or cancelled task whose queue has none configured: time enough to read
/// the results of the day.
inline constexpr duration retention_completed_default = 24h;
/// Maximum number of events in a task's history, besides its enqueue. The latest ones are kept, so
/// that a task that is retried for long does not grow.
inline constexpr std::uint32_t history_events_max = 32;
/// Maximum text of one event in a history. A longer one is cut with a mark, since the record of the
/// task has the whole text.
inline constexpr std::size_t history_text_bytes_max = 1024;

// Requests of producers and operators.

/// Maximum number of tasks in one enqueue request. A shard answers it as a whole, and others wait
/// meanwhile.
inline constexpr std::size_t enqueue_tasks_max = 1000;
/// Maximum number of follow-up tasks of one completion. They are one write with it.
inline constexpr std::size_t follow_ups_max = 64;
/// Maximum size of all follow-up tasks of one completion. They are one message with it.
inline constexpr std::size_t follow_up_bytes_max = 8u << 20;
/// Number of unanswered requests of a producer above which `enqueue` blocks, by default. It hides
/// the time that one request takes to become durable.
inline constexpr std::size_t producer_window_requests_default = 64;
/// Maximum number of unanswered requests of a producer. A shard remembers as many of each session,
/// to recognise repeats.
inline constexpr std::size_t producer_requests_max = 1024;
/// Bytes of a producer's unanswered requests above which `enqueue` blocks. Both sides hold them in
/// memory.
inline constexpr std::size_t producer_inflight_bytes_max = 64u << 20;
/// Time after which a producer that was not heard of loses its session. What it sent before and
/// repeats now is refused with `session_expired`, since the repeat could not be recognised.
inline constexpr duration producer_session_idle_max = 24h;
/// Maximum number of producer sessions that a shard remembers. Beyond it, the tenant with most
/// loses those that it used longest ago.
inline constexpr std::size_t producer_sessions_per_shard_max = 100'000;
/// Maximum number of tasks of one shard that a connection awaits. The shard holds each in memory;
/// the connection of a producer that awaits more is closed.
inline constexpr std::size_t awaited_tasks_max = 1'000'000;
/// Maximum number of tasks of one shard that all connections await, which their tenants share. The
/// shard holds each in memory; beyond it the libraries ask again.
inline constexpr std::size_t awaited_tasks_of_all_max = 2 * awaited_tasks_max;
/// Maximum number of tasks that a list returns. They are held in memory together.
inline constexpr std::size_t listed_tasks_max = 10'000;
/// Number of tasks that a list returns by default: as many as a person reads.
inline constexpr std::size_t listed_tasks_default = 100;
/// Maximum number of tasks on one page of a list. The next page goes on after it.
inline constexpr std::size_t listed_page_max = 1000;
/// Maximum number of headers in the filter of a list. Each is compared with those of every task
/// that is looked at.
inline constexpr std::size_t filter_headers_max = 16;
/// Maximum number of workers in the filter of a list. Each is compared with that of every task that
/// is looked at.
inline constexpr std::size_t filter_workers_max = 16;
/// Maximum number of lists of one connection that wait for the store. Beyond it they are refused
/// with `overloaded`. Each holds the tasks of a page in memory.
inline constexpr std::size_t lists_waiting_max = 64;
/// Maximum number of requests of one connection for the counts of queues that wait for the shards,
/// and as many for those of workers. Beyond it they are refused with `overloaded`. Each is answered
/// with the counts of all queues, or workers.
inline constexpr std::size_t counts_waiting_max = 16;
/// Maximum number of kinds of errors in a summary. Errors of further kinds are counted together.
inline constexpr std::size_t summary_kinds_max = 1000;
/// Maximum number of tasks with keys, per shard, that a dry run of a redrive looks at: it remembers
/// their keys, since only one task of a key can live again.
inline constexpr std::size_t dry_run_keys_max = 1'000'000;
/// Maximum rate of a redrive or purge of dead tasks, in tasks per second. Above it, no limit is
/// meant: leave the rate out.
inline constexpr std::uint64_t bulk_rate_max = 1'000'000;
/// How long an operator's command stays in the audit log. An incident is looked into for weeks.
inline constexpr duration audit_retention = 30 * 24h;
/// Maximum size of the detail of a command in the audit log; a longer one is cut.
inline constexpr std::size_t audit_detail_bytes_max = 512;
/// Maximum size of the audit log of a store. Above it, the oldest commands are dropped before their
/// time, so that operators cannot fill the disk.
inline constexpr std::uint64_t audit_bytes_max = 256u << 20;
/// Maximum number of commands in one page of the audit log. They are one message.
inline constexpr std::size_t audited_max = 1000;
/// Number of commands in a page by default: as many as a person reads.
inline constexpr std::size_t audited_default = 100;
/// Maximum number of queues that the list of workers names for one worker: as many as a person
/// reads. Fewer when there are many workers.
inline constexpr std::size_t worker_queues_shown_max = 20;
/// Maximum number of leases in it for one worker, the oldest ones: as many as a person reads.
inline constexpr std::size_t worker_leases_shown_max = 20;
/// Maximum number of workers in a list, and of all leases and of all queues in it. They are one
/// message.
inline constexpr std::size_t workers_shown_max = 10'000;
/// Maximum number of queues of a tenant. Each costs memory on every shard.
inline constexpr std::size_t queues_per_tenant_max = 10'000;

// Schedules.

/// Maximum number of schedules of a tenant on one shard. Each is kept in memory.
inline constexpr std::size_t schedules_per_tenant_max = 100'000;
/// Maximum number of schedules of all tenants on one shard, so that one tenant leaves room.
inline constexpr std::size_t schedules_per_shard_max = 200'000;
/// Maximum size of all schedules of a shard. They are kept in memory.
inline constexpr std::size_t schedule_bytes_per_shard_max = 256u << 20;
/// Maximum size of a schedule with its task. All occurrences share it, so large payloads belong
/// elsewhere.
inline constexpr std::size_t schedule_bytes_max = 64u << 10;
/// Number of entries in the history of a schedule. The latest ones are kept.
inline constexpr std::uint64_t schedule_history_max = 100;
/// Maximum number of nominal times of a backfill. A longer range takes several requests.
inline constexpr std::size_t schedule_backfill_max = 1000;
/// Maximum number of nominal times that a preview shows: more are one message too many.
inline constexpr std::uint32_t schedule_next_max = 1000;
/// Number of nominal times that a preview shows by default: as many as fit on a screen.
inline constexpr std::uint32_t schedule_next_default = 20;
/// Maximum number of schedules in one part of a list. They are one message.
inline constexpr std::uint32_t schedules_listed_max = 1000;

// A worker.

/// Maximum number of concurrent tasks of a worker. Each slot of a function is a thread.
inline constexpr std::size_t slots_max = 4096;
/// Number of concurrent tasks of a worker by default. Handlers that wait for others should have
/// more.
inline constexpr std::size_t slots_default = 8;
/// Maximum number of queues that one worker serves. Each of its claims names them.
inline constexpr std::size_t queues_per_worker_max = 1000;
/// Maximum number of patterns of queue names among them. Each new queue is compared with those of
/// all workers of its tenant.
inline constexpr std::size_t queue_patterns_per_worker_max = 64;
/// Maximum weight of a queue, when several wait for slots. A greater one would leave the others
/// next to none.
inline constexpr unsigned queue_weight_max = 1000;
/// Maximum number of tasks that a batch handler gets at once. Each takes a slot, and all of them
/// fail together.
inline constexpr std::size_t batch_tasks_max = 1000;
/// Maximum number of tasks in one message, of a claim or of results. The shard answers it in one
/// turn.
inline constexpr std::size_t reports_per_request_max = 4096;
/// Idle time after which the actor of a keyed handler ends, by default. It frees the memory of
/// groups that have no tasks.
inline constexpr duration keyed_idle_default = 1min;
/// Number of actors of a keyed handler on one worker above which an actor ends as soon as it is
/// idle. They are held in memory.
inline constexpr std::size_t keyed_actors_max = 10'000;
/// Time that a drain gives running handlers to finish, by default. The tasks that are left are
/// given back uncharged.
inline constexpr duration drain_default = 30s;
/// Time that a handler has to stop after its task was cancelled. Then the lease ends, and the slot
/// is free for another task.
inline constexpr duration cancel_grace_default = 10s;
/// Maximum note of a progress report. It is for people; a longer one is cut with a mark.
inline constexpr std::size_t progress_note_bytes_max = 1024;
/// Maximum number of words in the command of a program that is a handler. More of them belong into
/// a file.
inline constexpr std::size_t exec_arguments_max = 256;
/// Time between SIGTERM and SIGKILL for a program that should stop. It may save what it has.
inline constexpr duration exec_kill_grace_default = 5s;

// A coordinator.

/// Maximum number of shards of a store. Each costs memory, and messages between shards for queues
/// and tasks with limits.
inline constexpr std::size_t shards_max = 1024;
/// Maximum number of connections of workers, producers and operators, by default. Each takes a
/// descriptor, and memory for what it sends.
inline constexpr std::size_t connections_max = 4096;
/// In a cluster, maximum number of places that claims over HTTP at another coordinator have at the
/// shards here: for each claim and shard one, and a further one for each KiB of memory that the
/// names of its queues take there. Each takes about 1 KiB, so all of them 256 MiB. Those of each
/// other coordinator count for themselves. Leases that the claim has not confirmed add 16 bytes
/// each; their tasks have left the memory for the connection.
inline constexpr std::size_t cluster_claims_max = 262'144;
/// Maximum number of connections that have not yet authenticated. Beyond it, the oldest one of the
/// address with most is closed, so that strangers cannot keep others out.
inline constexpr std::size_t unauthenticated_connections_max = 256;
/// Maximum number of connections to the HTTP gateway, by default. Each takes a descriptor.
inline constexpr std::size_t http_connections_max = 4096;
/// Maximum number of look-ups in the store that wait for one connection. Beyond it they are refused
/// with `overloaded`, and the libraries ask again.
inline constexpr std::size_t lookups_waiting_max = 16'384;
/// Maximum bytes of enqueues and checkpoints, and of changes from nodes, that are not durable yet,
/// over all connections, by default. They are held in memory; above it, they are refused with
/// `overloaded`, and workers send checkpoints again.
inline constexpr std::uint64_t enqueue_bytes_default = 256ull << 20;
/// Maximum number of bytes that the nodes of all tenants have not read, beyond 64 KiB of each
/// connection. They are held in the coordinator's memory.
inline constexpr std::uint64_t unread_bytes_max = 512ull << 20;
/// Minimum of what `enqueue_bytes_default` sets. It lets one tenant send its largest request while
/// that of another tenant is not durable yet.
inline constexpr std::uint64_t enqueue_bytes_min = 64ull << 20;
/// Maximum bytes of the records of ended tasks, by default. Above it, the oldest ones are removed
/// before their time, so that the disk does not fill up.
inline constexpr std::uint64_t retention_bytes_default = 10ull << 30;
/// Minimum of the same. Below it, results would be removed before they can be read.
inline constexpr std::uint64_t retention_bytes_min = 1ull << 20;
/// Free bytes on the disk below which new tasks are refused, by default. They are left to claims
/// and results.
inline constexpr std::uint64_t free_bytes_least_default = 512ull << 20;
/// Number of threads for lease timers, by default. A second one wakes timers while the first is
/// busy with those of another shard.
inline constexpr std::size_t scheduler_threads_default = 2;
/// Maximum number of the same. More than there are processors is of no use.
inline constexpr std::size_t scheduler_threads_max = 256;

// The HTTP gateway.

/// Maximum request line and headers of a request. A token and a long path fit.
inline constexpr std::size_t http_header_bytes_max = 8u << 10;
/// Maximum body of a request. A payload of 1 MiB in base64 fits.
inline constexpr std::size_t http_body_bytes_max = 2u << 20;
/// Maximum body of a batch. It is parsed as a whole.
inline constexpr std::size_t http_batch_body_bytes_max = 16u << 20;
/// Maximum depth of objects and arrays inside each other. Parsing takes stack for each.
inline constexpr std::size_t http_json_depth_max = 64;
/// Maximum `X-Request-Id` that a client may choose. It is part of every log line of the request.
inline constexpr std::size_t http_request_id_bytes_max = 128;
/// Maximum `waitSeconds`, the time that a request may wait for a task or for an end. Proxies close
/// connections that are silent for longer.
inline constexpr duration http_wait_max = 60s;
/// Maximum number of tasks in a batch. Clients that need more of them ask for `?limit=extended`.
inline constexpr std::size_t http_batch_tasks_max = 100;
/// Maximum number of tasks of a claim. The answer has all their payloads.
inline constexpr std::size_t http_claim_tasks_max = 10;
/// Maximum number of queues of a claim. Every shard is asked for each.
inline constexpr std::size_t http_claim_queues_max = 1000;
/// Maximum number of tasks on one page of a list. The next page goes on after it.
inline constexpr std::size_t http_listed_tasks_max = 1000;
/// Maximum size of the worker's name in the filter of a list: that of a token's subject.
inline constexpr std::size_t http_worker_name_bytes_max = 256;
/// Maximum number of ids in one request that redrives or purges dead tasks. Each is one change.
inline constexpr std::size_t http_bulk_ids_max = 1000;

} // namespace codeq::limits
