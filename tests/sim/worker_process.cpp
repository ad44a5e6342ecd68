// SPDX-License-Identifier: Apache-2.0
#include "sim/worker_process.hpp"

#include "sim/or_throw.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace codeq::sim {

namespace {

using namespace std::chrono_literals;

std::size_t some_count(chance& random, std::int64_t from, std::int64_t to) {
  return static_cast<std::size_t>(random.between(from, to));
}

/// The queue's share of the slots: sometimes a small number of its own.
void choose_share(chance& random, std::size_t slots, worker::served_queue& of) {
  of.slots = random.hits(250) ? some_count(random, 1, static_cast<std::int64_t>(slots)) : 0;
  of.weight = random.hits(300) ? static_cast<unsigned>(random.between(2, 4)) : 1;
}

worker::served_queue some_queue(chance& random, const std::string& queue, std::size_t slots) {
  worker::served_queue made;
  made.queue = queue;
  choose_share(random, slots, made);
  made.takes_batches = random.hits(150);
  if (made.takes_batches)
    made.batch_max = some_count(random, 2, 4);
  else if (random.hits(150))
    made.idle = duration{random.between(20, 2'000)};
  return made;
}

std::vector<worker::report> read_reports(const protocol::result_request& request) {
  return or_throw(
    request.read([](schema::ResultRequest::Reader root) -> result<std::vector<worker::report>> {
      std::vector<worker::report> made;
      auto data = root.getTexts().getBytes().asChars();
      auto ends = root.getTexts().getEnds();
      std::size_t begin = 0;
      for (auto line : root.getReports()) {
        std::size_t end = ends[static_cast<unsigned>(made.size())];
        auto& one = made.emplace_back();
        one.key = {0, shard_id{root.getShard()}, fencing_token{line.getToken()}};
        one.seq = line.getSeq();
        one.what = static_cast<disposition>(line.getDisposition());
        if (line.getDelayMs() >= 0)
          one.delay = duration{line.getDelayMs()};
        one.started = line.getStarted();
        one.text.assign(data.begin() + begin, end - begin);
        begin = end;
      }
      return made;
    }));
}

bool has_checkpoints(const protocol::wire_frame& frame) {
  if (frame.type != protocol::frame_type<schema::HeartbeatRequest>)
    return false;
  auto request = or_throw(protocol::heartbeat_request::parse(frame.body));
  return or_throw(request.read([](schema::HeartbeatRequest::Reader root) -> result<bool> {
    return root.getCheckpoints().size() > 0;
  }));
}

} // namespace

worker_process::worker_process(world& all, network& net, parts made)
  : world_(all),
    parts_(std::move(made)),
    process_(all),
    box_(all, process_),
    link_(all, net, process_),
    handlers_(all, parts_of_handlers()),
    dispatcher_(some_options(), *this) {
  auto drift = world_.options.drift_permille;
  clock_permille_ += world_.random.handlers.between(-drift, drift);
  is_zombie_ = world_.random.faults.hits(world_.options.zombies);
  world_.say("worker starts " + parts_.identity.name);
  dispatcher_.take_links(1);
  if (world_.random.handlers.hits(200))
    after(duration{world_.random.handlers.between(1'000, 10'000)}, [this] { reconfigure(); });
  link_.start(
    worker::make_hello(parts_.identity, "default", parts_.queues),
    {[this](std::size_t shards, std::uint64_t) {
       box_.send([this, shards, made = link_.current()] { link_up(made, shards); });
     },
     [this] {
       box_.send([this] {
         dispatcher_.take_link_down(only_link, {errc::disconnected, "connection lost"}, false);
       });
     },
     [this](const protocol::wire_frame& frame) { receive(frame); },
     [this](errc code) {
       link_.stop();
       box_.send([this, code] {
         dispatcher_.take_link_down(only_link, {code, "refused for good"}, true);
       });
     }});
}

sim_handlers::parts worker_process::parts_of_handlers() {
  sim_handlers::parts made;
  made.of = parts_.identity;
  made.audit = parts_.audit;
  made.after = [this](duration wait, timeline::action what) { after(wait, std::move(what)); };
  made.saved = [this](const lease_place& place, std::uint32_t number) {
    if (saved_[place] < number)
      throw std::runtime_error("worker: a handler was told that something is saved that is not");
  };
  made.answer = [this](worker::handler_number handler, std::vector<outcome> answers) {
    box_.send([this, handler, answers = std::move(answers)]() mutable {
      dispatcher_.take_outcomes(handler, answers, now());
    });
  };
  made.end = [this](worker::handler_number handler, const outcome& why) {
    living_.erase(handler);
    box_.send([this, handler, why] { dispatcher_.take_handler_end(handler, why, now()); });
  };
  return made;
}

worker::dispatcher_options worker_process::some_options() {
  auto& random = world_.random.handlers;
  worker::dispatcher_options options;
  // Often one slot, so that every credit counts.
  bool is_small = random.hits(200);
  options.slots = is_small ? 1 : some_count(random, 1, 6);
  options.prefetch = is_small ? 0 : some_count(random, 0, 6);
  options.batch = random.hits(500) ? some_count(random, 1, 3) : limits::reports_per_request_max;
  for (const auto& queue : parts_.queues)
    served_.push_back(some_queue(random, queue, options.slots));
  options.queues = served_;
  options.wake = std::make_shared<worker::wake_signal>(
    [this] { box_.send([this] { dispatcher_.take_news(); }); });
  return options;
}

void worker_process::reconfigure() {
  auto& random = world_.random.handlers;
  auto slots = some_count(random, 1, 6);
  auto prefetch = some_count(random, 0, 6);
  for (auto& queue : served_)
    choose_share(random, slots, queue);
  box_.send([this, slots, prefetch] { dispatcher_.reconfigure(served_, slots, prefetch, now()); });
}

monotonic_time worker_process::now() const {
  auto passed = world_.steady().time_since_epoch().count() * clock_permille_ / 1000;
  return monotonic_time{duration{passed}};
}

void worker_process::after(duration wait, timeline::action what) {
  process_.after(virtual_time{wait.count() * 1'000'000 / clock_permille_}, std::move(what));
}

void worker_process::crash() {
  process_.kill();
  if (auto link = link_.current())
    link->cut(world_.random.faults.hits(300));
  world_.say("worker dies " + parts_.identity.name);
}

// Messages received.

void worker_process::link_up(const connection_ptr& made, std::size_t shards) {
  connection_ = made;
  owed_.clear();
  cancels_owed_.clear();
  last_saved_.reset();
  auto ack = protocol::hello_ack::build([&](schema::HelloAck::Builder root) {
    root.setShardCount(static_cast<std::uint16_t>(shards));
  });
  dispatcher_.take_link_up(only_link, ack, now());
}

void worker_process::receive(const protocol::wire_frame& frame) {
  auto handled = protocol::visit_frame(frame, [this]<class S>(const protocol::frame<S>& m) {
    if constexpr (std::is_same_v<S, schema::TaskBatch>) {
      if (see(m))
        box_.send([this, m] { dispatcher_.take(only_link, m, now()); });
    } else if constexpr (
      std::is_same_v<S, schema::CreditNews> || std::is_same_v<S, schema::HeartbeatReply>) {
      throw std::runtime_error("a coordinator that is alone sends what only those of clusters do");
    } else if constexpr (requires { dispatcher_.take(only_link, m); }) {
      if (see(m))
        box_.send([this, m] { dispatcher_.take(only_link, m); });
    }
  });
  if (!handled)
    throw std::runtime_error("worker: " + to_string(handled.error()));
}

bool worker_process::see(const protocol::task_batch& batch) {
  auto read = or_throw(worker::read_task_batch(batch));
  if (
    !read.redelivered && !well_behaved_
    && world_.random.faults.hits(world_.options.forgotten_batches)) {
    world_.say("worker forgets a batch " + parts_.identity.name);
    link_.current()->cut(false);
    return false;
  }
  for (const auto& attempt : read.tasks) {
    auto name = std::string(attempt.payload.view());
    parts_.audit->delivered(
      parts_.identity,
      {attempt.id,
       attempt.token,
       name,
       attempt.attempt,
       read.redelivered,
       parts_.shard_now(attempt.id.shard),
       std::string(attempt.checkpoint.view())});
    world_.say(
      parts_.identity.name + " gets " + name + " attempt=" + std::to_string(attempt.attempt)
      + " token=" + std::to_string(value(attempt.token)) + (read.redelivered ? " again" : ""));
  }
  return true;
}

bool worker_process::see(const protocol::result_reply& reply) {
  for (const auto& answer : or_throw(worker::read_result_reply(only_link, reply))) {
    world_.say(
      parts_.identity.name + " is answered token=" + std::to_string(value(answer.key.token))
      + " code=" + std::string(to_string(answer.code)));
    lease_place place{answer.key.shard, answer.key.token};
    if (unanswered_.erase(place) > 0)
      parts_.audit->answered(place, answer.code);
  }
  return true;
}

bool worker_process::see(const protocol::leases_lost& lost) {
  for (const auto& gone : or_throw(worker::read_leases_lost(only_link, lost)))
    parts_.audit->told_lost({gone.key.shard, gone.key.token});
  // A zombie goes on and reports in the end.
  return !is_zombie_ || well_behaved_;
}

bool worker_process::see(const protocol::cancel_notice& notice) {
  auto key = or_throw(worker::read_cancel_notice(only_link, notice)).key;
  cancels_owed_.erase({key.shard, key.token});
  world_.say(parts_.identity.name + " is to cancel token=" + std::to_string(value(key.token)));
  return true;
}

bool worker_process::see(const protocol::resume_reply& reply) {
  auto shard = or_throw(worker::read_resume_reply(reply));
  check_later(std::exchange(owed_[shard], {}), link_.current());
  return true;
}

bool worker_process::see(const protocol::checkpoints_saved& saved) {
  for (const auto& line : or_throw(worker::read_checkpoints_saved(only_link, saved))) {
    lease_place place{line.key.shard, line.key.token};
    parts_.audit->told_saved(place, line.number);
    saved_[place] = std::max(saved_[place], line.number);
  }
  return true;
}

void worker_process::check_later(std::vector<lease_place> owed, const connection_ptr& link) {
  // Tasks that must be read back from disk arrive later than the reply; during a stall nothing
  // arrives.
  auto again = [this, owed = std::move(owed), weak = std::weak_ptr(link)] {
    auto then = weak.lock();
    // A worker that was paused may not know yet that the connection broke.
    if (!link_.is_up() || link_.current() != then || !then->is_open())
      return;
    if (then->was_stalled(side::acceptor, 300ms))
      return check_later(owed, then);
    parts_.audit->check_owed(owed);
    for (const auto& place : cancels_owed_)
      parts_.audit->cancel_missed(place);
  };
  process_.after(300ms, again);
}

// Messages sent.

void worker_process::to_link(std::size_t, const protocol::wire_frame& frame) {
  if (frame.type == protocol::frame_type<schema::ResultRequest>)
    show(or_throw(protocol::result_request::parse(frame.body)));
  if (frame.type == protocol::frame_type<schema::ResumeRequest>)
    show(or_throw(protocol::resume_request::parse(frame.body)));
  connection_->send(side::dialler, frame);
  if (has_checkpoints(frame))
    send_late(frame);
}

void worker_process::send_late(const protocol::wire_frame& frame) {
  auto earlier = std::exchange(last_saved_, frame);
  if (earlier && world_.random.handlers.hits(300))
    connection_->send(side::dialler, *earlier);
}

void worker_process::show(const protocol::result_request& request) {
  for (const auto& made : read_reports(request)) {
    lease_place place{made.key.shard, made.key.token};
    // The report was sent before.
    if (!unanswered_.insert(place).second)
      continue;
    world_.say(
      parts_.identity.name + " reports token=" + std::to_string(value(made.key.token))
      + " how=" + std::to_string(static_cast<int>(made.what)));
    parts_.audit->reported(made, parts_.shard_now(made.key.shard));
  }
}

void worker_process::show(const protocol::resume_request& request) {
  auto named = request.read([&](schema::ResumeRequest::Reader root) -> result<shard_id> {
    auto shard = shard_id{root.getShard()};
    std::set<fencing_token> held;
    for (auto lease : root.getLeases()) {
      fencing_token token{lease.getToken()};
      held.insert(token);
      if (parts_.audit->is_cancel_owed({shard, token}))
        cancels_owed_.emplace(shard, token);
    }
    owed_[shard] = parts_.audit->owed_to(parts_.identity, shard, held);
    return shard;
  });
  static_cast<void>(or_throw(std::move(named)));
}

void worker_process::break_link(std::size_t, const error& reason) {
  throw std::runtime_error("worker: " + to_string(reason));
}

void worker_process::close_link(std::size_t, const error&) {
  has_closed_link_ = true;
  link_.stop();
  link_.send(protocol::goodbye::build([](auto) {}));
  if (auto link = link_.current())
    link->close(side::dialler);
  box_.send([this] { dispatcher_.take_link_end(only_link); });
}

worker::handler_number
worker_process::start_handler(const std::string& handler, const std::string& group) {
  auto number = handlers_.start();
  living_.emplace(number, handler_view{handler, group});
  return number;
}

void worker_process::run(worker::handler_number handler, task&& attempt) {
  std::vector<task> attempts;
  attempts.push_back(std::move(attempt));
  run_batch(handler, std::move(attempts));
}

void worker_process::run_batch(worker::handler_number handler, std::vector<task> attempts) {
  for (const auto& attempt : attempts) {
    check_handler(handler, attempt);
    check_start(attempt);
  }
  handlers_.run(handler, std::move(attempts));
}

void worker_process::check_handler(worker::handler_number handler, const task& attempt) const {
  auto lives = living_.find(handler);
  if (lives == living_.end())
    throw std::runtime_error("worker: a task for a handler that was stopped or has ended");
  bool is_keyed = std::any_of(served_.begin(), served_.end(), [&](const auto& served) {
    return served.queue == attempt.queue && served.idle;
  });
  const auto& group = is_keyed ? attempt.group : std::string();
  if (lives->second.queue != attempt.queue || lives->second.group != group)
    throw std::runtime_error("worker: a task for the handler of another queue or group");
}

void worker_process::check_start(const task& attempt) {
  // A power cut may undo a report that was answered; its task is delivered again then.
  auto cuts = parts_.audit->totals().power_cuts;
  auto [at, is_first] = starts_.try_emplace({attempt.id.shard, attempt.token}, cuts);
  if (!is_first && std::exchange(at->second, cuts) == cuts)
    throw std::runtime_error(
      "worker: token " + std::to_string(value(attempt.token)) + " is started twice");
}

void worker_process::flush_soon() {
  box_.send([this] { dispatcher_.flush(); });
}

void worker_process::wake_after(duration wait, std::uint64_t number) {
  after(wait, [this, number] { box_.send([this, number] { dispatcher_.wake(number, now()); }); });
}

void worker_process::note_lost(const task_id&, fencing_token token) {
  world_.say(parts_.identity.name + " loses token=" + std::to_string(value(token)));
}

// The end of the process.

void worker_process::leave() {
  if (std::exchange(leaving_, true))
    return;
  world_.say("worker leaves " + parts_.identity.name);
  // Sometimes the worker does not drain: its leases and credits end with its session.
  if (world_.random.faults.hits(300))
    return say_goodbye();
  auto limit = duration{world_.random.faults.between(1'000, 8'000)};
  box_.send([this, limit] { dispatcher_.drain(limit, now()); });
  // Sometimes a second request ends the drain early.
  if (world_.random.faults.hits(300))
    process_.after(world_.random.faults.moment(1'000, 4'000'000), [this] {
      box_.send([this] { dispatcher_.drain(duration{0}, now()); });
    });
}

void worker_process::say_goodbye() {
  if (!link_.is_up())
    return crash();
  link_.stop();
  link_.send(protocol::goodbye::build([](auto) {}));
  link_.current()->close(side::dialler);
  process_.kill();
  world_.say("worker left " + parts_.identity.name);
}

void worker_process::ended(result<void> how) {
  if (!living_.empty())
    throw std::runtime_error("worker: it ends, and handlers of it go on");
  if (how && !has_closed_link_)
    throw std::runtime_error("worker: it ends after a drain, and its connection stays open");
  process_.kill();
  world_.say((how ? "worker left " : "worker dies ") + parts_.identity.name);
}

} // namespace codeq::sim
