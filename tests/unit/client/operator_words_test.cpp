// SPDX-License-Identifier: Apache-2.0
#include "client/operator_questions.hpp"
#include "client/operator_replies.hpp"
#include "core/commands/routing.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/operator_reply.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

/// Requests and replies of operators end to end: a request is converted to the core's command, and
/// the core's answer to the operator's reply.
namespace codeq::client {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t number = 9;

/// Converts a request to the shard's command.
template <class S>
auto command_of(const question& asked, protocol::shard_place place = {}) {
  auto frame = asked(number);
  EXPECT_EQ(frame.type, protocol::frame_type<S>);
  auto command = protocol::to_command(*protocol::frame<S>::parse(frame.body), {1, place});
  EXPECT_TRUE(command) << to_string(command.error());
  return std::move(*command);
}

core::task_view some_view() {
  core::task_view view;
  view.seq = 5;
  view.queue = {"t", "q"};
  view.priority = 4;
  view.max_attempts = 6;
  view.enqueued_at = timestamp{duration{100}};
  view.eligible_at = timestamp{duration{200}};
  view.entry.state = task_state::scheduled;
  view.entry.attempt = 2;
  view.entry.token = fencing_token{77};
  view.entry.lost = 1;
  view.worker = "w";
  view.group = std::string("g\0", 2);
  view.key = "k";
  return view;
}

void expect_some_task(const task_summary& task) {
  EXPECT_EQ(task.id.seq, 5u);
  EXPECT_EQ(task.tenant, "t");
  EXPECT_EQ(task.queue, "q");
  EXPECT_EQ(task.priority, 4);
  EXPECT_EQ(task.state, task_state::scheduled);
  EXPECT_EQ(task.attempt, 2u);
  EXPECT_EQ(task.max_attempts, 6u);
  EXPECT_EQ(task.token, fencing_token{77});
  EXPECT_EQ(task.enqueued_at, timestamp{duration{100}});
  EXPECT_EQ(task.eligible_at, timestamp{duration{200}});
  EXPECT_EQ(task.worker, "w");
  EXPECT_EQ(task.lost_in_row, 1u);
  EXPECT_EQ(task.group, std::string("g\0", 2));
  EXPECT_EQ(task.key, "k");
}

queue_config some_config() {
  queue_config config;
  config.defaults.max_attempts = 3;
  config.defaults.retry = {retry_kind::linear, 2s, 4s};
  config.defaults.lease = 5s;
  config.defaults.run_timeout = 6s;
  config.defaults.progress_timeout = 7s;
  config.defaults.retention = 1h;
  config.defaults.dead_retention = 24h;
  config.defaults.when_dead = on_dead::block;
  config.max_depth = 8;
  config.max_leased = 9;
  config.keep_payload = true;
  config.quarantine_after = 3;
  config.pause_when_failing = {50, 30s};
  config.limits = {{"api", "k", 2}, {"db", "", 1, "customer"}};
  config.fairness_header = "customer";
  config.fairness_weights = {{"", 2}, {"vip", 9}};
  return config;
}

} // namespace

TEST(OperatorReplies, ABackupIsToldAsItIs) {
  backup_status status;
  status.state = backup_state::failed;
  status.number = 3;
  status.bytes = 4;
  status.files = 5;
  status.problem = "no space";

  auto told = read_backup(protocol::make_backup_reply(number, status));
  auto refused = read_backup(protocol::make_backup_reply(number, error{errc::already, "one runs"}));

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(told->answer->state, backup_state::failed);
  EXPECT_EQ(told->answer->number, 3u);
  EXPECT_EQ(told->answer->bytes, 4u);
  EXPECT_EQ(told->answer->files, 5u);
  EXPECT_EQ(told->answer->problem, "no space");
  ASSERT_TRUE(refused && !refused->answer);
  EXPECT_EQ(refused->answer.error().code, errc::already);
  EXPECT_EQ(refused->answer.error().context, "one runs");
}

TEST(OperatorQuestions, ATaskIsNamedByIdOrKey) {
  auto by_id = command_of<schema::StatusRequest>(ask_status({{shard_id{0}, 5}}));
  EXPECT_EQ(by_id.seq, 5u);
  EXPECT_EQ(by_id.number, number);
  EXPECT_EQ(by_id.key, nullptr);

  auto address = address_of(task_key{"t", "q", "g", "k"}, 8);
  EXPECT_EQ(address.task.shard, core::shard_of_name({"t", "q"}, "g", 8));
  auto by_key = command_of<schema::StatusRequest>(ask_status(address), {address.task.shard, 8});
  ASSERT_NE(by_key.key, nullptr);
  EXPECT_EQ(*by_key.key, (task_key{{"t", "q"}, "g", "k"}));
}

TEST(OperatorQuestions, ChangesAndForceReachTheCore) {
  auto change = ask_change({{shard_id{0}, 5}}, task_change::redrive);
  auto redrive = std::get<core::redrive>(command_of<schema::ChangeRequest>(change));
  EXPECT_EQ(redrive.seq, 5u);

  auto force =
    command_of<schema::ForceRequest>(ask_force({shard_id{0}, 6}, force_kind::fail, "why"));
  EXPECT_EQ(force.seq, 6u);
  EXPECT_EQ(force.how, force_kind::fail);
  EXPECT_EQ(force.text.view(), "why");
}

TEST(OperatorQuestions, QueueConfigurationsReachTheCoreWhole) {
  auto asked = set_queue(0, {"t", "q"}, some_config());

  auto set = std::get<core::configure_queue>(command_of<schema::QueueRequest>(asked));

  EXPECT_EQ(set.queue, (queue_address{"t", "q"}));
  EXPECT_EQ(set.config, some_config());
}

TEST(OperatorQuestions, AbsenceOfWeightsReachesTheCoreAsSuch) {
  auto command = [](const question& asked) {
    return std::get<core::configure_queue>(command_of<schema::QueueRequest>(asked));
  };

  auto whole = command(set_queue(0, {"t", "q"}, {}));
  auto kept = command(set_queue(0, {"t", "q"}, some_config(), {}, weight_changes{}));
  auto changed = command(set_queue(0, {"t", "q"}, some_config(), {}, weight_changes{{"a", 0}}));

  EXPECT_EQ(whole.weights, std::nullopt) << "the queue is to have none";
  EXPECT_EQ(kept.weights, weight_changes{});
  EXPECT_TRUE(kept.config.fairness_weights.empty());
  EXPECT_EQ(changed.weights, (weight_changes{{"a", 0}}));
}

TEST(OperatorQuestions, ChangesOfWeightsHaveAllWeightsBesideThemForEarlierVersions) {
  auto asked = set_queue(0, {"t", "q"}, some_config(), {}, weight_changes{})(number);
  auto request = protocol::queue_request::parse(asked.body);

  ASSERT_TRUE(request);
  auto weights = request->read([](auto from) -> result<std::size_t> {
    return std::size_t{from.getSet().getFairnessWeights().size()};
  });
  EXPECT_EQ(*weights, some_config().fairness_weights.size());
}

TEST(OperatorQuestions, ChangesOfWeightsReachTheCoreByThemselves) {
  const weight_changes weights{{"", 3}, {"vip", 0}};

  auto weigh = std::get<core::weigh_keys>(
    command_of<schema::QueueRequest>(weigh_keys(0, {"t", "q"}, weights)));

  EXPECT_EQ(weigh.number, number);
  EXPECT_EQ(weigh.queue, (queue_address{"t", "q"}));
  EXPECT_EQ(weigh.weights, weights);
}

TEST(OperatorQuestions, AttemptsThatDoNotFitANumberAreRefusedAllTheSame) {
  queue_config config;
  config.defaults.max_attempts = 65'537;

  auto frame = set_queue(0, {"t", "q"}, config)(number);
  auto command = protocol::to_command(*protocol::queue_request::parse(frame.body), {1, {}});

  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().code, errc::invalid_argument);
}

TEST(OperatorQuestions, WalksSayWhereTheyAre) {
  auto list = command_of<schema::ListRequest>(
    list_tasks({.tenant = "t", .queue = "q", .state = task_state::gated}, {0, 40, 10}));
  EXPECT_EQ(list.part.filter.tenant, "t");
  EXPECT_EQ(list.part.filter.queue, "q");
  EXPECT_EQ(list.part.filter.state, task_state::gated);
  EXPECT_EQ(list.part.after, 40u);
  EXPECT_EQ(list.part.limit, 10u);

  auto bulk = command_of<schema::BulkRequest>(
    change_many(core::bulk_kind::purge_dead, {"t", ""}, {0, 41, 11}));
  EXPECT_EQ(bulk.what, core::bulk_kind::purge_dead);
  EXPECT_EQ(bulk.part.filter.queue, "");
  EXPECT_EQ(bulk.part.filter.state, std::nullopt);
  EXPECT_EQ(bulk.part.after, 41u);

  auto listed = command_of<schema::BulkRequest>(
    change_listed(core::bulk_kind::purge_listed, {"t", "q"}, 0, {{4, fencing_token{7}}}));
  EXPECT_EQ(listed.what, core::bulk_kind::purge_listed);
  EXPECT_EQ(listed.part.filter.tenant + listed.part.filter.queue, "tq");
  ASSERT_EQ(listed.tasks.size(), 1u);
  EXPECT_EQ(listed.tasks.front().seq, 4u);
  EXPECT_EQ(listed.tasks.front().token, fencing_token{7});
}

TEST(OperatorQuestions, FiltersOfListsAreWhole) {
  task_filter filter;
  filter.group = "g";
  filter.key = "k";
  filter.workers = {"v", "w"};
  filter.headers = {{"a", "1"}, {"b", "2"}};
  filter.error = "e";
  filter.enqueued = {timestamp{duration{1}}, timestamp{duration{2}}};
  filter.ended = {timestamp{duration{3}}, timestamp{duration{4}}};
  filter.is_blocking = true;

  auto asked = command_of<schema::ListRequest>(list_tasks(filter, {0, 0, 1})).part.filter;

  EXPECT_EQ(asked.group + asked.key + asked.error, "gke");
  EXPECT_EQ(asked.workers, filter.workers);
  EXPECT_EQ(asked.headers, filter.headers);
  EXPECT_EQ(asked.enqueued, filter.enqueued);
  EXPECT_EQ(asked.ended, filter.ended);
  EXPECT_TRUE(asked.is_blocking);
}

TEST(OperatorReplies, AListSaysWhenAndWhyTasksEnded) {
  core::tasks_listed listed{0, number, {some_view()}, 5, true};
  listed.tasks.front().ended_at = timestamp{duration{9}};
  listed.tasks.front().error_text = "why";

  auto told = read_list(protocol::make_list_reply(listed));

  ASSERT_TRUE(told && told->answer);
  const auto& task = told->answer->tasks.front();
  EXPECT_EQ(task.ended_at, timestamp{duration{9}});
  EXPECT_EQ(task.error_text, "why");
  EXPECT_TRUE(told->answer->knows_all_filters);
}

TEST(OperatorReplies, AStatusIsReadAsItWasWritten) {
  auto reply = protocol::make_status_reply(shard_id{3}, number, some_view(), {bytes("broken")});

  auto told = read_status(reply);

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(told->answer->id.shard, shard_id{3});
  expect_some_task(*told->answer);
  EXPECT_EQ(told->answer->error_text, "broken");
}

TEST(OperatorReplies, ARefusalIsTheAnswer) {
  auto told = read_queue(
    protocol::make_refusal<schema::QueueRequest>(number, {errc::invalid_argument, "why"}));

  ASSERT_TRUE(told);
  EXPECT_EQ(told->answer.error(), (error{errc::invalid_argument, "why"}));
}

TEST(OperatorReplies, AChangeNamesTheTaskAndItsState) {
  core::change_answered answer{1, number, 5, change_result::key_taken, task_state::dead};

  auto told = read_change(protocol::make_change_reply(shard_id{2}, answer));

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(told->answer->what, change_result::key_taken);
  EXPECT_EQ(told->answer->state, task_state::dead);
  EXPECT_EQ(told->answer->id, (task_id{shard_id{2}, 5}));
}

TEST(OperatorReplies, AQueueIsReadAsItWasWritten) {
  core::queue_answered answer{1, number, {"t", "q"}, {some_config(), true}, {}};

  auto told = read_queue(protocol::make_queue_reply(answer));

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(told->answer->settings.config, some_config());
  EXPECT_TRUE(told->answer->settings.paused);
  EXPECT_TRUE(told->answer->is_known);
  answer.is_unknown = true;
  EXPECT_FALSE(read_queue(protocol::make_queue_reply(answer))->answer->is_known);
}

TEST(OperatorReplies, TheWaitingTasksOfAQueueAreReadAsTheyWereWritten) {
  queue_explanation why;
  why.waiting = {{task_reason::limited, 4}, {task_reason::retry_waiting, 2}};
  why.leased = 3;
  why.workers = 2;
  why.blocking = 1;
  why.limits = {{"api", {{}, 0, 4}}};
  why.keys = {{"api", {"k", 1, 4, timestamp{duration{70}}, timestamp{duration{60}}}}};
  why.has_all_keys = false;
  why.starts_per_minute = 7;
  why.limits_need = 5s;
  why.max_leased_need = 4s;
  core::queue_answered answer{1, number, {"t", "q"}, {}, {}};
  answer.explanation = std::make_shared<const queue_explanation>(why);

  auto told = read_queue(protocol::make_queue_reply(answer));

  ASSERT_TRUE(told && told->answer);
  const auto& read = told->answer->explanation;
  EXPECT_TRUE(read.exists);
  EXPECT_EQ(read.waiting, why.waiting);
  EXPECT_EQ(
    std::tie(read.leased, read.workers, read.blocking, read.starts_per_minute),
    std::tie(why.leased, why.workers, why.blocking, why.starts_per_minute));
  ASSERT_EQ(read.limits.size(), 1u);
  EXPECT_EQ(read.limits[0].at, why.limits[0].at);
  ASSERT_EQ(read.keys.size(), 1u);
  EXPECT_EQ(read.keys[0].limit, "api");
  EXPECT_EQ(read.keys[0].at, why.keys[0].at);
  EXPECT_FALSE(read.has_all_keys);
  EXPECT_EQ(read.limits_need, 5s);
  EXPECT_EQ(read.max_leased_need, 4s);
  why.limits_need = duration::max();
  answer.explanation = std::make_shared<const queue_explanation>(why);
  told = read_queue(protocol::make_queue_reply(answer));
  EXPECT_EQ(told->answer->explanation.limits_need, duration::max());
}

TEST(OperatorReplies, WorkersAreReadAsTheyWereWritten) {
  base::worker_counts worker;
  worker.name = "t/w";
  worker.is_connected = true;
  worker.free_slots = 3;
  worker.leases = 2;
  worker.queues = {{"t", "q"}};
  worker.queue_count = 25;
  worker.is_draining = true;
  worker.running = {{{shard_id{2}, 9}, {"t", "q"}, timestamp{duration{70}}, 4s, true}};

  auto told = read_workers(protocol::make_workers_reply(number, {worker}));

  ASSERT_TRUE(told && told->answer);
  ASSERT_EQ(told->answer->size(), 1u);
  const auto& read = told->answer->front();
  EXPECT_EQ(
    std::tie(read.name, read.is_connected, read.free_slots, read.leases, read.queue_count),
    std::tuple("t/w", true, 3u, 2u, 25u));
  EXPECT_TRUE(read.is_draining);
  EXPECT_EQ(read.queues, worker.queues);
  ASSERT_EQ(read.running.size(), 1u);
  EXPECT_EQ(read.running[0].task, (task_id{shard_id{2}, 9}));
  EXPECT_EQ(read.running[0].queue, (queue_address{"t", "q"}));
  EXPECT_EQ(read.running[0].since, timestamp{duration{70}});
  EXPECT_EQ(read.running[0].left, 4s);
  EXPECT_TRUE(read.running[0].is_waiting);
}

TEST(OperatorQuestions, AnAuditFilterReachesTheCoreWhole) {
  audit_filter filter;
  filter.tenant = "t";
  filter.since = timestamp{duration{70}};
  filter.after = audit_place{timestamp{duration{80}}, 9};
  filter.limit = 11;

  auto asked = command_of<schema::AuditRequest>(ask_audit(filter));

  EXPECT_EQ(asked.filter.tenant, "t");
  EXPECT_EQ(asked.filter.since, filter.since);
  EXPECT_EQ(asked.filter.after, filter.after);
  EXPECT_EQ(asked.filter.limit, 11u);
  EXPECT_FALSE(asked.is_of_shard);
  EXPECT_FALSE(command_of<schema::AuditRequest>(ask_audit({})).filter.after);
  EXPECT_TRUE(command_of<schema::AuditRequest>(ask_audit({}, 3)).is_of_shard);
  auto refused = [](const audit_filter& bad) {
    auto frame = ask_audit(bad)(number);
    return protocol::to_command(*protocol::audit_request::parse(frame.body), {1, {}}).error().code;
  };
  EXPECT_EQ(refused({.limit = 0}), errc::invalid_argument);
  EXPECT_EQ(refused({.limit = 1001}), errc::invalid_argument);
  EXPECT_EQ(refused({.tenant = "a b"}), errc::invalid_argument);
}

TEST(OperatorReplies, TheAuditLogIsReadAsItWasWritten) {
  audited_command command;
  command.at = timestamp{duration{70}};
  command.operation = 1ull << 63;
  command.action = operator_action::dead_purge;
  command.tenant = "t";
  command.queue = "q";
  command.task = task_id{shard_id{3}, 77};
  command.changed = 12;
  command.subject = "ada";
  command.bearer_tenant = "*";
  command.remote = "192.0.2.1:5";
  command.detail = "why";
  audited_command other;
  other.action = operator_action::backup;
  audit_page page{{command, other}, audit_place{timestamp{duration{60}}, 4}};

  auto told = read_audit(protocol::make_audit_reply(number, page));

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(told->answer->commands, page.commands);
  EXPECT_EQ(told->answer->after, page.after);
  EXPECT_FALSE(told->answer->is_of_shard);
  EXPECT_TRUE(read_audit(protocol::make_audit_reply(number, page, true))->answer->is_of_shard);
  EXPECT_FALSE(read_audit(protocol::make_audit_reply(number, {}))->answer->after);
}

TEST(OperatorReplies, BackupsAreReadAsTheyWereWritten) {
  std::vector<backup_info> backups{{7, timestamp{duration{90}}, 4096, 5}};

  auto told = read_backups(protocol::make_backups_reply(number, backups));
  auto refused =
    read_backups(protocol::make_backups_reply(number, error{errc::unsupported, "no directory"}));

  ASSERT_TRUE(told && told->answer);
  ASSERT_EQ(told->answer->size(), 1u);
  const auto& read = told->answer->front();
  EXPECT_EQ(std::tie(read.number, read.bytes, read.files), std::tuple(7u, 4096u, 5u));
  EXPECT_EQ(read.at, timestamp{duration{90}});
  EXPECT_EQ(refused->answer.error().code, errc::unsupported);
}

TEST(OperatorReplies, PartsOfWalksSayWhereToGoOn) {
  auto bulk = read_bulk(protocol::make_bulk_reply({1, number, 12, 40, true}));
  auto list = read_list(protocol::make_list_reply({1, number, {some_view()}, 41, true}));

  ASSERT_TRUE(bulk && bulk->answer);
  EXPECT_EQ(bulk->answer->changed, 12u);
  EXPECT_EQ(bulk->answer->after, 40u);
  EXPECT_TRUE(bulk->answer->more);
  ASSERT_TRUE(list && list->answer);
  ASSERT_EQ(list->answer->tasks.size(), 1u);
  expect_some_task(list->answer->tasks[0]);
  EXPECT_EQ(list->answer->after, 41u);
  EXPECT_TRUE(list->answer->more);
}

TEST(OperatorReplies, AnExplanationIsReadAsItWasWritten) {
  core::task_explained answer;
  answer.number = number;
  answer.reason = task_reason::blocked;
  answer.view = some_view();
  answer.until = timestamp{duration{300}};
  answer.blocker = 4;
  answer.blocker_state = task_state::dead;
  answer.lease_left = 7200ms;
  answer.waits_at_worker = true;
  answer.queue.config = some_config();
  answer.workers = 2;

  auto told = read_explain(protocol::make_explain_reply(shard_id{1}, answer));

  ASSERT_TRUE(told && told->answer);
  const auto& why = *told->answer;
  EXPECT_EQ(why.reason, task_reason::blocked);
  expect_some_task(why.task);
  EXPECT_EQ(why.task.id.shard, shard_id{1});
  EXPECT_EQ(why.until, timestamp{duration{300}});
  EXPECT_EQ(why.blocker, (task_id{shard_id{1}, 4}));
  EXPECT_EQ(why.blocker_state, task_state::dead);
  EXPECT_EQ(why.lease_left, 7200ms);
  EXPECT_TRUE(why.waits_at_worker);
  EXPECT_EQ(why.queue, some_config());
  EXPECT_EQ(why.workers, 2u);
}

TEST(OperatorReplies, TurnsOfAFairnessKeyAreReadAsTheyWereWritten) {
  core::task_explained answer;
  answer.reason = task_reason::fairness;
  answer.view = some_view();
  answer.fairness_key = std::string("a\0b", 3);
  answer.fairness_before = 7;
  answer.fairness_wait = duration::max();

  auto told = read_explain(protocol::make_explain_reply({}, answer));

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(told->answer->reason, task_reason::fairness);
  EXPECT_EQ(told->answer->fairness_key, answer.fairness_key);
  EXPECT_EQ(told->answer->fairness_before, 7u);
  EXPECT_EQ(told->answer->fairness_wait, duration::max());
}

TEST(OperatorReplies, EveryReasonOfTheCoreHasItsName) {
  for (auto reason = task_reason::deferred; reason <= task_reason::fairness;
       reason = static_cast<task_reason>(static_cast<int>(reason) + 1)) {
    core::task_explained answer;
    answer.reason = reason;
    auto told = read_explain(protocol::make_explain_reply({}, answer));
    ASSERT_TRUE(told && told->answer);
    EXPECT_NE(to_string(told->answer->reason), "unknown");
    EXPECT_NE(to_sentence(*told->answer), "unknown");
  }
}

TEST(OperatorReplies, EveryCountIsReadAsItWasWritten) {
  base::coordinator_counts counts;
  base::queue_counts queue;
  static_cast<queue_stats&>(queue) = {{"t", "q"}, 1, 2, 3, 4, 5, 6, 7};
  queue.cancelled = 9;
  queue.dead_now = 10;
  queue.paused = true;
  queue.oldest_ready = 11ms;
  queue.max_depth = 12;
  queue.max_leased = 13;
  queue.held = 14;
  queue.ready_by_priority = {2, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  counts.shards = 15;
  counts.queues = {queue};
  counts.gauges = {{"codeq_lease_timers", 8}};

  auto told = read_stats(protocol::make_stats_reply(number, counts));

  ASSERT_TRUE(told && told->answer);
  ASSERT_EQ(told->answer->queues.size(), 1u);
  const auto& q = told->answer->queues.front();
  EXPECT_EQ(q.queue, (queue_address{"t", "q"}));
  EXPECT_EQ(
    std::tie(q.scheduled, q.gated, q.ready, q.leased, q.completed, q.dead, q.lost),
    std::tuple(1u, 2u, 3u, 4u, 5u, 6u, 7u));
  EXPECT_EQ(
    std::tie(q.cancelled, q.dead_now, q.paused, q.oldest_ready, q.max_depth, q.max_leased),
    std::tuple(9u, 10u, true, 11ms, 12u, 13u));
  EXPECT_EQ(q.held, 14u);
  EXPECT_EQ(q.ready_by_priority, queue.ready_by_priority);
  EXPECT_EQ(told->answer->gauges, counts.gauges);
  EXPECT_EQ(told->answer->shards, 15u);
  EXPECT_TRUE(told->answer->are_shards_known);
}

TEST(OperatorReplies, AnOlderVersionSaysNeitherPrioritiesNorShards) {
  auto reply = protocol::stats_reply::build([](auto r) { r.initQueues(1)[0].setReady(3); });

  auto told = read_stats(reply);

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(told->answer->queues.at(0).ready_by_priority, queue_stats{}.ready_by_priority);
  EXPECT_FALSE(told->answer->are_shards_known);
}

TEST(OperatorReplies, EventsAreReadAsTheyWereWritten) {
  task_event granted;
  granted.at = timestamp{duration{1}};
  granted.what = task_event::kind::granted;
  granted.state = task_state::leased;
  granted.attempt = 1;
  granted.token = fencing_token{7};
  granted.worker = "w";
  auto failed = granted;
  failed.what = task_event::kind::timed_out;
  failed.by = task_event::author::operator_user;
  failed.subject = "ada";
  failed.state = task_state::scheduled;
  failed.until = timestamp{duration{5}};
  failed.text = std::string("\0x", 2);
  task_timeline timeline{{granted, failed}, 40, task_state::scheduled, timestamp{duration{5}}};

  auto told = read_events(protocol::make_events_reply(number, timeline));

  ASSERT_TRUE(told && told->answer);
  EXPECT_EQ(*told->answer, timeline);
}

TEST(OperatorReplies, WhatALaterVersionSaysIsAProtocolError) {
  auto change = protocol::change_reply::build(
    [](auto r) { r.setResult(static_cast<schema::ChangeResult>(6)); });
  auto state =
    protocol::status_reply::build([](auto r) { r.setState(static_cast<schema::TaskState>(7)); });
  auto reason = protocol::explain_reply::build(
    [](auto r) { r.setReason(static_cast<schema::TaskReason>(15)); });
  auto event = protocol::events_reply::build(
    [](auto r) { r.initEvents(1)[0].setKind(static_cast<schema::TaskEventKind>(18)); });
  auto author = protocol::events_reply::build(
    [](auto r) { r.initEvents(1)[0].setBy(static_cast<schema::TaskEventAuthor>(4)); });

  EXPECT_EQ(read_change(change).error().code, errc::protocol_error);
  EXPECT_EQ(read_status(state).error().code, errc::protocol_error);
  EXPECT_EQ(read_explain(reason).error().code, errc::protocol_error);
  EXPECT_EQ(read_events(event).error().code, errc::protocol_error);
  EXPECT_EQ(read_events(author).error().code, errc::protocol_error);
}

} // namespace codeq::client
