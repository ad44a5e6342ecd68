// SPDX-License-Identifier: Apache-2.0
#include "client/enqueue_outbox.hpp"

#include "codeq/limits.hpp"

#include "base/fair_share.hpp"
#include "core/commands/routing.hpp"
#include "protocol/error_code.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

namespace codeq::client {

namespace {

/// Bounds of the pause after `overloaded` when the coordinator gives none or an absurd one.
constexpr duration pause_min{10};
constexpr duration pause_max = std::chrono::minutes(1);

/// A request that any shard may have goes to the one of so many with room that has the fewest
/// unanswered ones: a coordinator that is far away, or slow, then gets fewer.
constexpr std::size_t choices = 3;

error store_changed() {
  return {
    errc::session_expired,
    "the coordinator now serves another store than the one that the request was sent to; whether "
    "its tasks were added is unknown"};
}

/// An error that ends a request, with what it means for its tasks.
error ended_by(const error& reason, bool is_sent) {
  return {
    reason.code,
    reason.context
      + (is_sent ? "; whether its tasks were added is unknown"
                 : "; it was not sent: nothing was enqueued")};
}

error key_has_record(task_id task) {
  return {errc::duplicate, "task " + to_string(task) + " has the key"};
}

} // namespace

/// The content of an `EnqueueReply`, checked.
struct enqueue_outbox::answer {
  std::uint64_t number = 0;
  errc code = errc::none;
  std::string context;
  duration pause{0};
  std::vector<enqueued_task> tasks;
};

enqueue_outbox::enqueue_outbox(options opts)
  : options_(std::move(opts)), window_(options_.in_flight_max, options_.first_number) {
}

void enqueue_outbox::connect(send_function send, store_identity store) {
  open_at_.clear();
  connect_store(way::to_all(std::move(send)), store);
}

void enqueue_outbox::connect(way to, store_identity store) {
  open_at_.assign(store.shard_count, {});
  window_.for_each([this](std::uint64_t number, const request& one) {
    if (value(one.shard) < open_at_.size())
      open_at_[value(one.shard)].insert(number);
  });
  connect_store(std::move(to), store);
}

void enqueue_outbox::connect_store(way to, store_identity store) {
  // Callbacks may submit more, which is not for the earlier store.
  way_ = {};
  if (store_ && *store_ != store)
    expire_sent();
  else if (!store_)
    begin_session();
  else
    has_late_copies_ = is_session_used_;
  store_ = store;
  way_ = std::move(to);
  window_.for_each([this](std::uint64_t, request& one) { send_again(one); });
  send_parked();
}

void enqueue_outbox::disconnect() {
  way_ = {};
}

void enqueue_outbox::resend(std::span<const shard_id> shards) {
  if (!way_)
    return;
  window_.for_each([&](std::uint64_t, request& one) {
    if (!std::binary_search(shards.begin(), shards.end(), one.shard))
      return;
    has_late_copies_ = true;
    send_again(one);
  });
  send_parked();
}

void enqueue_outbox::send(const request& one) {
  if (way_ && way_.reaches(one.shard))
    way_.send(one.shard, *one.frame);
}

void enqueue_outbox::send_again(request& one) {
  if (one.pausing)
    return;
  one.repeated = true;
  send(one);
}

void enqueue_outbox::send_parked() {
  std::deque<request> all;
  for (auto& [shard, line] : std::exchange(parked_, {}))
    std::move(line.begin(), line.end(), std::back_inserter(all));
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(all));
  waiting_ = std::move(all);
  send_waiting();
}

void enqueue_outbox::send_next() {
  for (auto at = parked_.begin(); way_ && at != parked_.end();) {
    auto& [shard, line] = *at;
    while (!line.empty() && way_.reaches(shard) && has_room_for(shard)) {
      open(std::move(line.front()));
      line.pop_front();
    }
    at = line.empty() ? parked_.erase(at) : std::next(at);
  }
  send_waiting();
}

std::uint64_t enqueue_outbox::submit(tasks_ptr tasks, done_function done) {
  auto of = std::make_shared<submission>();
  of->name = ++last_submission_;
  of->missing = tasks->count();
  of->answers.resize(of->missing);
  of->tasks = std::move(tasks);
  of->done = std::move(done);
  request whole{.of = of, .runs = of->tasks->all_runs()};
  waiting_.push_back(std::move(whole));
  send_waiting();
  return of->name;
}

void enqueue_outbox::give_up(std::uint64_t submission_name, const error& reason) {
  std::shared_ptr<submission> found;
  auto is_part = [&](const request& one) {
    if (one.of->name != submission_name)
      return false;
    found = one.of;
    return true;
  };
  std::erase_if(waiting_, is_part);
  for (auto& [shard, line] : parked_)
    std::erase_if(line, is_part);
  std::erase_if(parked_, [](const auto& of_shard) { return of_shard.second.empty(); });
  std::vector<std::uint64_t> sent;
  window_.for_each([&](std::uint64_t number, const request& one) {
    if (is_part(one))
      sent.push_back(number);
  });
  for (auto number : sent)
    static_cast<void>(close(number));
  has_late_copies_ = has_late_copies_ || !sent.empty();
  if (!found)
    return;
  found->done(reason);
  send_next();
}

bool enqueue_outbox::withdraw(const tasks_ptr& tasks, const error& reason) {
  return withdraw_if([&](const submission& of) { return of.tasks == tasks; }, reason);
}

bool enqueue_outbox::withdraw(std::uint64_t submission_name, const error& reason) {
  return withdraw_if([&](const submission& of) { return of.name == submission_name; }, reason);
}

bool enqueue_outbox::withdraw_if(const is_meant_function& is_meant, const error& reason) {
  std::shared_ptr<submission> found;
  auto look_in = [&](const std::deque<request>& line) {
    for (const auto& one : line)
      if (is_meant(*one.of))
        found = one.of;
  };
  look_in(waiting_);
  for (const auto& [shard, line] : parked_)
    look_in(line);
  if (!found || found->is_sent)
    return false;
  give_up(found->name, reason);
  return true;
}

std::optional<shard_id> enqueue_outbox::unreached_shard(const tasks_ptr& tasks) const {
  std::optional<shard_id> first;
  if (!way_ || !is_in_cluster())
    return first;
  const auto note = [&](const request& one) {
    const auto is_meant = !tasks || one.of->tasks == tasks;
    if (is_meant && (!first || one.shard < *first) && !way_.reaches(one.shard))
      first = one.shard;
  };
  for (const auto& [shard, line] : parked_)
    std::for_each(line.begin(), line.end(), note);
  window_.for_each([&](std::uint64_t, const request& one) { note(one); });
  return first;
}

void enqueue_outbox::send_waiting() {
  while (way_ && !waiting_.empty() && (is_in_cluster() || window_.has_room())) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    auto part = take_part(std::move(next));
    // A parked request takes no place in the window, so that requests for other shards go on.
    if (!is_in_cluster() || takes_at_once(part.shard))
      open(std::move(part));
    else
      parked_[part.shard].push_back(std::move(part));
  }
}

bool enqueue_outbox::has_room_for(shard_id shard) const {
  const auto& open = open_at_[value(shard)];
  if (open.empty())
    return true;
  // Only the shard's own answers count: other shards do not remember them.
  const base::shared_places places{
    .total = options_.in_flight_max, .used = window_.size(), .own = open.size()};
  return places.has_room() && window_.next_number() - *open.begin() < limits::producer_requests_max;
}

bool enqueue_outbox::takes_at_once(shard_id shard) const {
  return way_.reaches(shard) && !parked_.contains(shard) && has_room_for(shard);
}

std::size_t enqueue_outbox::load_of(shard_id shard) const {
  const auto line = parked_.find(shard);
  return open_at_[value(shard)].size() + (line == parked_.end() ? 0 : line->second.size());
}

std::uint64_t enqueue_outbox::answered_below(shard_id shard) const {
  if (!is_in_cluster())
    return window_.answered_below();
  const auto& open = open_at_[value(shard)];
  return open.empty() ? window_.next_number() : *open.begin();
}

shard_id enqueue_outbox::choose_shard() const {
  auto first = core::shard_of_request(session_, window_.next_number(), store_->shard_count);
  auto best = first;
  // Whether it has to wait, and behind how many.
  std::pair<bool, std::size_t> least{true, std::numeric_limits<std::size_t>::max()};
  std::size_t found = 0;
  // Empty without a cluster.
  for (std::size_t i = 0; i < open_at_.size() && found < choices; ++i) {
    auto at = static_cast<shard_id>((value(first) + i) % open_at_.size());
    if (!way_.reaches(at))
      continue;
    std::pair<bool, std::size_t> wait{!takes_at_once(at), load_of(at)};
    found += wait.first ? 0 : 1;
    if (wait >= least)
      continue;
    least = wait;
    best = at;
  }
  return best;
}

std::optional<enqueue_outbox::request> enqueue_outbox::close(std::uint64_t number) {
  auto closed = window_.close(number);
  if (closed && value(closed->shard) < open_at_.size())
    open_at_[value(closed->shard)].erase(number);
  return closed;
}

enqueue_outbox::request enqueue_outbox::take_part(request whole) {
  // The split is repeated for each part, since the next connection may be to a store with another
  // number of shards.
  const auto& tasks = *whole.of->tasks;
  const auto anywhere = tasks.is_addressed() ? shard_id{} : choose_shard();
  auto parts = tasks.split(whole.runs, store_->shard_count, anywhere);
  for (auto rest = parts.rbegin(); rest + 1 != parts.rend(); ++rest) {
    auto later = whole;
    later.runs = std::move(rest->runs);
    waiting_.push_front(std::move(later));
  }
  whole.runs = std::move(parts.front().runs);
  whole.shard = parts.front().shard;
  return whole;
}

void enqueue_outbox::open(request fresh) {
  auto number = window_.next_number();
  fresh.frame = fresh.of->tasks->to_request(
    {session_, number, answered_below(fresh.shard), fresh.shard}, fresh.runs);
  fresh.session = session_;
  fresh.of->is_sent = true;
  is_session_used_ = true;
  if (value(fresh.shard) < open_at_.size())
    open_at_[value(fresh.shard)].insert(number);
  send(fresh);
  window_.open(std::move(fresh));
}

result<enqueue_outbox::answer> enqueue_outbox::read(const protocol::enqueue_reply& reply) {
  return reply.read([](auto reader) -> result<answer> {
    answer from;
    from.number = reader.getNumber();
    from.code = protocol::from_schema(reader.getCode());
    from.pause = duration{reader.getRetryAfterMs()};
    from.context = std::string(reader.getContext().cStr(), reader.getContext().size());
    auto shard = static_cast<shard_id>(reader.getShard());
    for (auto run : reader.getTasks()) {
      if (run.getCount() > limits::enqueue_tasks_max - from.tasks.size())
        return error{errc::protocol_error, "an enqueue reply names more tasks than a request has"};
      for (std::uint32_t i = 0; i < run.getCount(); ++i)
        from.tasks.push_back({{shard, run.getFirst() + i}});
    }
    auto kinds = reader.getKinds();
    if (kinds.size() != 0 && kinds.size() != from.tasks.size())
      return error{errc::protocol_error, "an enqueue reply's tasks and kinds differ in number"};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] > static_cast<kj::byte>(enqueue_kind::duplicate))
        return error{
          errc::protocol_error, "unknown kind of an enqueue " + std::to_string(kinds[i])};
      from.tasks[i].kind = static_cast<enqueue_kind>(kinds[i]);
    }
    return from;
  });
}

result<std::optional<enqueue_outbox::retry>>
enqueue_outbox::accept(const protocol::enqueue_reply& reply) {
  auto from = read(reply);
  if (!from)
    return from.error();
  auto* open = window_.find(from->number);
  // The answer to a copy of a request that has been answered already.
  if (open == nullptr)
    return std::optional<retry>{};
  return settle(*open, *from);
}

result<std::optional<enqueue_outbox::retry>> enqueue_outbox::settle(request& open, answer& from) {
  if (from.code == errc::overloaded) {
    open.pausing = true;
    return std::optional<retry>{{from.number, std::clamp(from.pause, pause_min, pause_max)}};
  }
  // The places that came before the answer lead to a `resend`.
  if (from.code == errc::not_owner)
    return std::optional<retry>{};
  auto count = open.of->tasks->tasks_of(open.runs).size();
  if (from.code == errc::none && from.tasks.size() != count)
    return error{
      errc::protocol_error,
      "the reply to request number=" + std::to_string(from.number) + " names "
        + std::to_string(from.tasks.size()) + " tasks of " + std::to_string(count)};
  auto closed = std::move(*close(from.number));
  if (!renew(closed, from.code)) {
    if (from.code == errc::none)
      finish(closed, from);
    else
      fail(closed, error{from.code, std::move(from.context)});
  }
  send_next();
  return std::optional<retry>{};
}

void enqueue_outbox::finish(const request& one, const answer& from) {
  auto& of = *one.of;
  auto places = of.tasks->tasks_of(one.runs);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& task = from.tasks[i];
    if (task.kind == enqueue_kind::duplicate)
      of.answers[places[i]] = key_has_record(task.id);
    else
      of.answers[places[i]] = task;
  }
  note_answered(of, places.size());
}

void enqueue_outbox::fail(const request& one, const error& reason) {
  auto& of = *one.of;
  if (!of.tasks->is_addressed())
    return of.done(reason);
  auto places = of.tasks->tasks_of(one.runs);
  for (auto place : places)
    of.answers[place] = reason;
  note_answered(of, places.size());
}

void enqueue_outbox::note_answered(submission& of, std::size_t tasks) {
  of.missing -= tasks;
  if (of.missing > 0)
    return;
  enqueue_answers all;
  all.reserve(of.answers.size());
  for (auto& one : of.answers)
    all.push_back(std::move(*one));
  of.done(std::move(all));
}

bool enqueue_outbox::renew(request& refused, errc code) {
  if (code != errc::session_expired)
    return false;
  // Later requests would be refused for the same reason under the old session.
  if (refused.session == session_)
    begin_session();
  // A request that was sent only once and refused was not executed, so it may be sent under a new
  // session.
  if (refused.repeated || refused.renewed)
    return false;
  refused.renewed = true;
  refused.frame.reset();
  waiting_.push_front(std::move(refused));
  return true;
}

void enqueue_outbox::retry_due(std::uint64_t number) {
  auto* open = window_.find(number);
  if (open == nullptr || !open->pausing)
    return;
  open->pausing = false;
  send(*open);
}

void enqueue_outbox::begin_session() {
  session_ = options_.new_session();
  is_session_used_ = false;
  has_late_copies_ = false;
}

producer_id enqueue_outbox::finished_session() const {
  bool is_finished = way_ && is_session_used_ && !has_late_copies_ && window_.size() == 0;
  return is_finished ? session_ : producer_id{};
}

void enqueue_outbox::expire_sent() {
  begin_session();
  open_at_.assign(open_at_.size(), {});
  for (auto& one : window_.close_all())
    fail(one, store_changed());
}

void enqueue_outbox::fail_all(const error& reason) {
  // Callbacks may submit more.
  open_at_.assign(open_at_.size(), {});
  for (auto& one : window_.close_all())
    fail(one, ended_by(reason, true));
  for (auto& [shard, line] : std::exchange(parked_, {}))
    for (auto& one : line)
      fail(one, ended_by(reason, false));
  for (auto& one : std::exchange(waiting_, {}))
    fail(one, ended_by(reason, false));
}

} // namespace codeq::client
