// SPDX-License-Identifier: Apache-2.0
#include "testing/test_worker.hpp"

#include "base/queue_pattern.hpp"

#include <stdexcept>
#include <utility>

namespace codeq::testing {

namespace {

constexpr std::size_t only_link = 0;

[[noreturn]] void fail(const error& reason) {
  throw std::runtime_error("worker and shard do not understand each other: " + to_string(reason));
}

coordinator::session_options make_connection(const worker_identity& identity) {
  coordinator::session_options made;
  // Each process has a different number.
  made.peer = static_cast<core::peer_id>(identity.incarnation);
  made.worker = std::make_shared<const worker_identity>(identity);
  return made;
}

} // namespace

test_worker::test_worker(const parts& made)
  : parts_(made),
    connection_(make_connection(made.identity)),
    session_(connection_, *this),
    dispatcher_(make_options(), *this) {
}

worker::dispatcher_options test_worker::make_options() const {
  worker::dispatcher_options options;
  options.tenant = parts_.tenant;
  options.queues = parts_.queues;
  options.slots = parts_.slots;
  options.prefetch = 0;
  // The owner calls `take_news` itself.
  options.wake = std::make_shared<worker::wake_signal>([] {});
  return options;
}

event_loop::action test_worker::while_alive(event_loop::action what) {
  return [me = weak_from_this(), what = std::move(what)] {
    if (auto alive = me.lock())
      what();
  };
}

void test_worker::later(event_loop::action what) {
  parts_.loop.post(while_alive(std::move(what)));
}

void test_worker::connect() {
  coordinator::peer_attached attached{connection_.peer, connection_.worker};
  for (const auto& served : parts_.queues) {
    // A handler that is registered for neither gets no tasks.
    auto pattern = base::queue_pattern::parse(served.queue);
    if (!pattern)
      continue;
    auto& to = pattern->is_one_queue() ? attached.queues : attached.prefixes;
    to.push_back({parts_.tenant, pattern->stem()});
  }
  parts_.shard.attach(attached, [this, me = weak_from_this()](auto message) {
    if (auto alive = me.lock())
      receive(std::move(message));
  });
  dispatcher_.take_links(1);
  auto ack = protocol::hello_ack::build([](auto root) { root.setShardCount(1); });
  dispatcher_.take_link_up(only_link, ack, parts_.loop.now().steady);
}

void test_worker::leave() {
  later([this] { session_.take(protocol::goodbye::build([](auto) {})); });
}

void test_worker::receive(test_shard::worker_message message) {
  if (const auto* said = std::get_if<coordinator::shard_reply>(&message))
    if (const auto* answered = std::get_if<core::reports_answered>(&said->reply))
      for (const auto& answer : answered->answers)
        parts_.host.report_answered(answer.token, answer.code);
  later([this, message = std::move(message)] {
    std::visit([this](const auto& m) { session_.take(m); }, message);
  });
}

void test_worker::send(const protocol::wire_frame& frame) {
  sent_ += frame.body.size();
  later([this, frame] { read(frame); });
}

void test_worker::read(const protocol::wire_frame& frame) {
  auto done = protocol::visit_frame(frame, [this](const auto& m) {
    if constexpr (requires { dispatcher_.take(only_link, m, monotonic_time{}); })
      dispatcher_.take(only_link, m, parts_.loop.now().steady);
    else if constexpr (requires { dispatcher_.take(only_link, m); })
      dispatcher_.take(only_link, m);
  });
  if (!done)
    fail(done.error());
}

void test_worker::to_link(std::size_t, const protocol::wire_frame& frame) {
  later([this, frame] {
    auto request = protocol::read_request(schema::Role::WORKER, frame);
    if (!request)
      fail(request.error());
    session_.take(*request);
  });
}

void test_worker::ask_shard(shard_id, coordinator::peer_request request) {
  parts_.shard.ask(request);
}

void test_worker::command_shard(shard_id, core::command command) {
  parts_.shard.decide(command);
}

void test_worker::take_outcomes(worker::handler_number handler, std::vector<outcome> answers) {
  later([this, handler, answers = std::move(answers)]() mutable {
    dispatcher_.take_outcomes(handler, answers, parts_.loop.now().steady);
  });
}

void test_worker::take_handler_end(worker::handler_number handler, const outcome& answer) {
  later([this, handler, answer] {
    dispatcher_.take_handler_end(handler, answer, parts_.loop.now().steady);
  });
}

void test_worker::take_news() {
  later([this] {
    // The dispatcher gathers news for a while; its wake-up is called at once.
    dispatcher_.take_news();
    dispatcher_.wake(last_wake_, parts_.loop.now().steady);
  });
}

worker::handler_number
test_worker::start_handler(const std::string& queue, const std::string& group) {
  return parts_.host.start_handler(queue, group);
}

void test_worker::run(worker::handler_number handler, task&& attempt) {
  std::vector<task> attempts;
  attempts.push_back(std::move(attempt));
  parts_.host.run(handler, std::move(attempts));
}

void test_worker::run_batch(worker::handler_number handler, std::vector<task> attempts) {
  parts_.host.run(handler, std::move(attempts));
}

void test_worker::stop_handler(worker::handler_number handler) {
  parts_.host.stop_handler(handler);
}

void test_worker::flush_soon() {
  later([this] { dispatcher_.flush(); });
}

void test_worker::wake_after(duration wait, std::uint64_t number) {
  last_wake_ = number;
  parts_.loop.post_after(
    wait, while_alive([this, number] { dispatcher_.wake(number, parts_.loop.now().steady); }));
}

void test_worker::wake_after(duration wait, coordinator::session_wake what) {
  // Other wake-ups never occur: no task or result waits for the connection, and there is no rate
  // limit.
  if (what == coordinator::session_wake::full_window)
    parts_.loop.post_after(wait, while_alive([this, what] { session_.wake(what); }));
}

timestamp test_worker::now() {
  return parts_.loop.now().shard;
}

result<std::vector<backup_info>> test_worker::list_backups() const {
  return error{errc::unsupported, "a testbed has no backups"};
}

result<backup_status> test_worker::back_up(const backup_wish&) {
  return error{errc::unsupported, "a testbed has no backups"};
}

result<std::string> test_worker::set_log_level(const std::string&) {
  return error{errc::unsupported, "a testbed does not set the level of the log"};
}

void test_worker::break_link(std::size_t, const error& reason) {
  fail(reason);
}

void test_worker::note_refused(const error& reason) {
  fail(reason);
}

} // namespace codeq::testing
