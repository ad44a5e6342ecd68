// SPDX-License-Identifier: Apache-2.0
#include "testing/test_shard.hpp"

#include "protocol/bounds.hpp"
#include "storage/keys/keyspace.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace codeq::testing {

namespace {

constexpr core::peer_id producer_peer = 0;
constexpr std::uint16_t shard_count = 1;

coordinator::shard_options make_options() {
  coordinator::shard_options options;
  options.state = std::make_shared<core::shard_state>(shard_id{}, 1);
  // Snapshots are taken by `begin_retention`.
  options.turns.snapshot_records = std::numeric_limits<std::size_t>::max();
  options.turns.snapshot_interval = std::chrono::years(100);
  options.zones = std::make_shared<schedule::zone_store>();
  return options;
}

/// A testbed has one producer, so the time tells its sessions apart.
producer_id make_session(timestamp now) {
  return make_producer_id(now, 1, 1);
}

error taken_by(const enqueued_task& duplicate) {
  return {errc::duplicate, "task " + to_string(duplicate.id) + " has the key"};
}

/// The answer as `operator_client` gives it.
result<schedule_answer> answer_of(const protocol::schedules_told& told) {
  const auto& part = told.schedules.front();
  auto spec = protocol::read_spec(*part.view.definition);
  if (!spec)
    return spec.error();
  const auto& progress = part.view.progress;
  schedule_answer answered;
  answered.what = told.what;
  answered.schedule = {
    part.view.name,
    std::move(*spec),
    progress.paused,
    part.next,
    part.latest,
    static_cast<std::uint32_t>(progress.open.size()),
    progress.waiting.has_value(),
    progress.occurrences};
  return answered;
}

task_status status_of(const core::task_view& view) {
  task_status status;
  status.id = {shard_id{}, view.seq};
  status.tenant = view.queue.tenant;
  status.queue = view.queue.queue;
  status.priority = view.priority;
  status.state = view.entry.state;
  status.attempt = view.entry.attempt;
  status.max_attempts = view.max_attempts;
  status.token = view.entry.token;
  status.enqueued_at = view.enqueued_at;
  if (view.entry.state == task_state::scheduled)
    status.eligible_at = view.eligible_at;
  status.worker = view.worker;
  status.group = view.group;
  status.key = view.key;
  status.lost_in_row = view.entry.lost;
  status.limits = view.limits;
  return status;
}

} // namespace

test_shard::test_shard(event_loop& loop)
  : loop_(loop),
    reader_({store_}, *this),
    shard_(make_options(), *this, loop.now()),
    producer_(make_session(loop.now().shard)) {
  shard_.start(loop_.now());
  shard_.attach({producer_peer}, loop_.now());
  settle();
}

result<enqueued_task> test_shard::enqueue(const task_spec& spec) {
  auto encoded = protocol::encoded_tasks::encode(std::span(&spec, 1));
  if (!encoded)
    return encoded.error();
  auto answered = add(*encoded);
  if (answered.allowed.error().code == errc::session_expired) {
    begin_session();
    answered = add(*encoded);
  }
  if (!answered.allowed)
    return answered.allowed.error();
  enqueued_task made{{shard_id{}, answered.tasks.front().first}};
  made.kind = answered.kinds.empty() ? enqueue_kind::created : answered.kinds.front();
  if (made.kind == enqueue_kind::duplicate)
    return taken_by(made);
  return made;
}

core::enqueue_answered test_shard::add(const protocol::encoded_tasks& tasks) {
  ++requests_;
  ask({producer_peer, tasks.to_request({producer_, requests_, requests_, shard_id{}})});
  return *answer<core::enqueue_answered>();
}

void test_shard::begin_session() {
  producer_ = make_session(loop_.now().shard);
  requests_ = 0;
}

result<limit_info>
test_shard::set_limit(const limit_address& limit, const limit_definition& definition) {
  if (auto ok = protocol::check_definition(definition); !ok)
    return ok.error();
  decide(core::set_limit{producer_peer, 1, limit, definition});
  const auto& answered = *answer<core::limits_answered>();
  if (!answered.allowed)
    return answered.allowed.error();
  return answered.limits.front();
}

result<protocol::schedules_told> test_shard::ask_schedule(const client::question& what) {
  auto request = protocol::schedule_request::parse(what(1).body);
  if (!request)
    return request.error();
  ask({producer_peer, std::move(*request)});
  if (const auto* told = answer<protocol::schedules_told>())
    return *told;
  const auto* refused = answer<protocol::request_refused<schema::ScheduleRequest>>();
  return refused ? refused->reason : error{errc::unavailable, "no answer about the schedule"};
}

client::schedule_place test_shard::place_of(const std::string& name) const {
  auto at = schedules_.find(name);
  auto tenant = at == schedules_.end() ? std::string(protocol::default_tenant) : at->second;
  return client::place_of({std::move(tenant), name}, shard_count);
}

result<schedule_answer>
test_shard::set_schedule(const schedule_address& name, const schedule_spec& spec) {
  auto question = client::ask_set_schedule(client::place_of(name, shard_count), spec);
  if (!question)
    return question.error();
  auto told = ask_schedule(*question);
  if (!told)
    return told.error();
  schedules_.insert_or_assign(name.name, name.tenant);
  return answer_of(*told);
}

result<schedule_answer>
test_shard::change_schedule(const std::string& name, schedule_action what) {
  auto told = ask_schedule(client::ask_change_schedule(place_of(name), what));
  if (!told)
    return told.error();
  return answer_of(*told);
}

result<std::vector<schedule_occurrence>> test_shard::occurrences(const std::string& name) {
  auto told = ask_schedule(client::ask_schedule_history(place_of(name)));
  if (!told)
    return told.error();
  return told->history;
}

result<task_status> test_shard::status(sequence seq) {
  decide(core::describe_task{producer_peer, 1, seq});
  const auto* described = answer<protocol::status_answered>();
  if (described == nullptr)
    return error{errc::unknown_task, "no task " + to_string(task_id{shard_id{}, seq})};
  auto status = status_of(described->view);
  auto& text = status.state == task_state::completed ? status.result : status.error_text;
  text = described->texts.text.view();
  return status;
}

bool test_shard::cancel(sequence seq) {
  decide(core::cancel{producer_peer, 1, seq});
  const auto* changed = answer<core::change_answered>();
  return changed && changed->result != change_result::unchanged;
}

result<protocol::wire_frame> test_shard::answer_to(const protocol::wire_frame& request) {
  answer_.reset();
  auto read = protocol::visit_frame(request, [this]<class S>(protocol::frame<S> typed) {
    if constexpr (std::is_constructible_v<protocol::shard_request, protocol::frame<S>>)
      ask({producer_peer, std::move(typed)});
  });
  if (!read)
    return read.error();
  if (!answer_)
    return error{errc::unavailable, "the shard does not answer"};
  protocol::wire_frame answer;
  protocol::write_reply(shard_id{}, *answer_, [&](const auto& frame) { answer = frame; });
  return answer;
}

void test_shard::attach(const coordinator::peer_attached& worker, receiver receive) {
  if (worker_peer_ != producer_peer)
    shard_.detach(worker_peer_, loop_.now());
  worker_peer_ = worker.peer;
  receive_ = std::move(receive);
  decide(core::replace_worker{worker.worker});
  shard_.attach(worker, loop_.now());
  settle();
}

void test_shard::ask(const coordinator::peer_request& request) {
  answer_.reset();
  auto command = shard_.read(request, loop_.now());
  if (!command)
    return;
  if (auto* heartbeat = std::get_if<core::heartbeat>(&*command)) {
    auto is_silenced = [this](const auto& line) { return silenced_.contains(line.token); };
    std::erase_if(heartbeat->beats, is_silenced);
    std::erase_if(heartbeat->progress, is_silenced);
    std::erase_if(heartbeat->checkpoints, [&](const core::lease_checkpoint& saved) {
      return is_silenced(saved.mark);
    });
  }
  decide(*command);
}

void test_shard::decide(const core::command& command) {
  answer_.reset();
  shard_.decide(command, loop_.now());
  settle();
}

void test_shard::begin_retention() {
  // A snapshot closes the tasks that have ended; only then their keys have a time to end at.
  if (!has_keys_ || committed_ == snapshot_turn_)
    return;
  decide(core::take_snapshot{});
  snapshot_turn_ = committed_;
}

void test_shard::settle() {
  for (;;) {
    shard_.close_turn(loop_.now());
    shard_.committed(committed_, loop_.now());
    if (std::exchange(wants_epoch_, false))
      shard_.begin_epoch(++epoch_);
    if (!wanted_keys_.empty()) {
      auto wanted = std::move(wanted_keys_.front());
      wanted_keys_.pop_front();
      reader_.find(wanted);
    } else if (!commands_.empty()) {
      auto next = std::move(commands_.front());
      commands_.pop_front();
      shard_.decide(next, loop_.now());
    } else if (!shard_.has_turn()) {
      return;
    }
  }
}

std::optional<duration> test_shard::remaining(fencing_token token) const {
  const auto& leases = shard_.state().leases;
  const auto* lease = leases.find(token);
  if (lease == nullptr)
    return std::nullopt;
  return std::max(lease->deadline - loop_.now().steady, duration{0});
}

std::vector<sequence> test_shard::tasks_of(const std::string& queue) const {
  auto found = tasks_.find(queue);
  return found == tasks_.end() ? std::vector<sequence>() : found->second;
}

void test_shard::commit(coordinator::turn_commit turn, const std::vector<core::event>& events) {
  if (auto done = store_->commit({&turn.writes, 1}, storage::durability::sync); !done)
    fail(done.error());
  committed_ = turn.number;
  for (const auto& e : events)
    if (const auto* added = std::get_if<core::segment_appended>(&e)) {
      has_keys_ = has_keys_ || !added->key.empty();
      for (std::uint32_t i = 0; i < added->count; ++i)
        tasks_[added->queue.queue].push_back(added->first + i);
    }
}

void test_shard::to_worker(core::peer_id peer, worker_message message) {
  if (peer == worker_peer_)
    receive_(std::move(message));
}

void test_shard::reply(core::peer_id peer, protocol::peer_reply reply) {
  if (peer == producer_peer)
    answer_ = std::move(reply);
  else
    to_worker(peer, coordinator::shard_reply{shard_id{}, std::move(reply)});
}

void test_shard::reply(core::peer_id peer, coordinator::shard_reply reply) {
  this->reply(peer, std::move(reply.reply));
}

void test_shard::deliver(core::peer_id peer, coordinator::task_delivery tasks) {
  to_worker(peer, std::move(tasks));
}

void test_shard::tell_credits(core::peer_id peer, const coordinator::credit_news& news) {
  to_worker(peer, news);
}

void test_shard::fetch_bodies(core::peer_id, coordinator::bodies_wanted wanted) {
  reader_.fetch(std::move(wanted));
}

void test_shard::answer_inquiry(core::peer_id, coordinator::stored_inquiry inquiry) {
  // At the beginning of time no retention has passed, so tests can query all of their tasks.
  inquiry.now = {};
  reader_.answer(inquiry);
}

void test_shard::list_stored(core::peer_id, coordinator::stored_list list) {
  list.now = {};
  reader_.answer(std::move(list));
}

void test_shard::find_keys(coordinator::keys_wanted wanted) {
  wanted_keys_.push_back(std::move(wanted));
}

void test_shard::read_survivors(coordinator::survivors_wanted wanted) {
  reader_.read(wanted);
}

void test_shard::survivors_read(shard_id, core::copy_survivors found) {
  commands_.push_back(std::move(found));
}

bool test_shard::may_hold_key(const task_key& name) {
  return store_->may_have(storage::key_key{shard_.state().id, name}.encode());
}

void test_shard::keys_found(shard_id, std::uint64_t number, std::vector<core::recalled_key> found) {
  shard_.keys_found(number, std::move(found), loop_.now());
}

void test_shard::to_shard(shard_id, core::command command) {
  commands_.push_back(std::move(command));
}

bool test_shard::make_timer(sequence seq, fencing_token token) {
  // Exact to the millisecond: the shard's timing wheel, which calls `fire_timer`, may be 10 ms
  // late.
  auto wait = remaining(token).value_or(duration{0});
  auto due = loop_.now().steady + wait;
  loop_.post_after(wait, [this, seq, token, due] {
    if (auto timer = timers_.find(token); timer != timers_.end() && timer->second == due)
      decide(core::expire_lease{seq, token});
  });
  return timers_.insert_or_assign(token, due).second;
}

bool test_shard::drop_timer(fencing_token token) {
  return timers_.erase(token) > 0;
}

void test_shard::wake_after(duration wait, std::uint64_t number) {
  loop_.post_after(wait, [this, number] {
    shard_.wake(number, loop_.now());
    settle();
  });
}

const result<void>& test_shard::check_disk(monotonic_time) {
  static const result<void> has_room;
  return has_room;
}

void test_shard::end_peer(core::peer_id, const error& reason) {
  throw std::runtime_error("the shard refuses a request: " + to_string(reason));
}

void test_shard::fail(const error& reason) {
  throw std::runtime_error("the store failed: " + to_string(reason));
}

} // namespace codeq::testing
