// SPDX-License-Identifier: Apache-2.0
#include "integration/fake_coordinator.hpp"

#include "codeq/limits.hpp"

#include "protocol/error_code.hpp"
#include "transport/configure.hpp"
#include "transport/deliver.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <stdexcept>

namespace codeq::test {

namespace {

actors::registrar_actor::behavior_type
registrar(actors::registrar_actor::pointer, channel<actors::peer_hello>* hellos) {
  return {[hellos](const actors::peer_hello& hello) { hellos->push(hello); }};
}

caf::behavior ear(caf::event_based_actor* self, channel<client_word>* words) {
  self->set_default_handler(caf::drop);
  return {
    [words](const protocol::enqueue_request& request) { words->push(request); },
    [words](const protocol::await_request& request) { words->push(request); },
    [words](const protocol::status_request& request) { words->push(request); },
    [words](const protocol::stats_request& request) { words->push(request); },
    [words](const protocol::change_request& request) { words->push(request); },
    [words](const protocol::force_request& request) { words->push(request); },
    [words](const protocol::queue_request& request) { words->push(request); },
    [words](const protocol::bulk_request& request) { words->push(request); },
    [words](const protocol::list_request& request) { words->push(request); },
    [words](const actors::connection_lost& lost) { words->push(lost); }};
}

} // namespace

fake_coordinator::fake_coordinator() {
  transport::configure(config_, 1);
  system_ = std::make_unique<caf::actor_system>(config_);
  registrar_ = system_->spawn(registrar, &hellos_);
  ear_ = system_->spawn(ear, &words_);
  transport::acceptor_options options;
  options.registrar = registrar_;
  auto acceptor = transport::spawn_acceptor(*system_, std::move(options));
  if (!acceptor)
    throw std::runtime_error(to_string(acceptor.error()));
  acceptor_ = *acceptor;
}

fake_coordinator::~fake_coordinator() {
  if (connection_)
    caf::anon_send(connection_, actors::close_connection{{errc::going_away, "the test ends"}});
  caf::anon_send_exit(acceptor_.actor, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(registrar_, caf::exit_reason::user_shutdown);
  // This actor owns the connections and is notified when they end; it exits after the last one.
  caf::anon_send_exit(ear_, caf::exit_reason::user_shutdown);
  connection_ = nullptr;
  ear_ = nullptr;
  registrar_ = nullptr;
  acceptor_.actor = nullptr;
}

std::string fake_coordinator::address() const {
  return "127.0.0.1:" + std::to_string(acceptor_.port);
}

actors::peer_hello fake_coordinator::next_hello() {
  auto hello = hellos_.pop();
  if (!hello)
    throw std::runtime_error("no hello came");
  return *hello;
}

void fake_coordinator::accept(
  std::uint64_t store, std::uint16_t shards, const std::string& node) {
  connection_ = next_hello().connection;
  auto ack = protocol::hello_ack::build([&](auto root) {
    root.setVersion(1);
    root.setShardCount(shards);
    root.setStoreId(store);
    root.setNowMs(1'700'000'000'000);
    root.setNode(node);
    root.setTakesEpochs(!node.empty());
  });
  auto words = transport::deliver<
    schema::EnqueueRequest,
    schema::AwaitRequest,
    schema::StatusRequest,
    schema::StatsRequest,
    schema::ChangeRequest,
    schema::ForceRequest,
    schema::QueueRequest,
    schema::BulkRequest,
    schema::ListRequest,
    schema::Goodbye>(ear_);
  const auto sink = [this, words](const protocol::wire_frame& frame) -> result<void> {
    if (frame.type != protocol::frame_type<schema::ShardEpochs>)
      return words(frame);
    auto named = protocol::shard_epochs::parse(frame.body);
    epochs_.push(*protocol::read_shard_epochs(*named, limits::shards_max));
    return {};
  };
  caf::anon_send(
    connection_,
    actors::connection_accepted{sink, caf::actor_cast<caf::strong_actor_ptr>(ear_), nullptr});
  caf::anon_send(connection_, ack.to_wire());
}

void fake_coordinator::refuse(errc code, const std::string& context) {
  auto connection = next_hello().connection;
  auto refusal = protocol::refused::build([&](auto root) {
    root.setCode(protocol::to_schema(code));
    root.setContext(context);
  });
  caf::anon_send(connection, refusal.to_wire());
  caf::anon_send(connection, actors::close_connection{{code, context}});
}

protocol::epochs_of_shards fake_coordinator::next_epochs() {
  auto next = epochs_.pop();
  if (!next)
    throw std::runtime_error("the client named no epochs");
  return *next;
}

void fake_coordinator::ignore_hello() { static_cast<void>(next_hello()); }

void fake_coordinator::say(const protocol::wire_frame& frame) {
  caf::anon_send(connection_, frame);
}

void fake_coordinator::cut() {
  caf::anon_send(connection_, actors::close_connection{{errc::disconnected, "cut"}});
  expect<actors::connection_lost>();
}

enqueue_word read(const protocol::enqueue_request& request) {
  auto word = request.read([](auto reader) -> result<enqueue_word> {
    return enqueue_word{
      reader.getProducer().getLow(),
      reader.getNumber(),
      reader.getAnsweredBelow(),
      reader.getShard(),
      reader.getTasks().getEnds().size()};
  });
  if (!word)
    throw std::runtime_error(to_string(word.error()));
  return *word;
}

protocol::wire_frame durable(const enqueue_word& request, std::uint64_t first) {
  return protocol::enqueue_reply::build([&](auto root) {
           root.setNumber(request.number);
           root.setShard(request.shard);
           auto runs = root.initTasks(1);
           runs[0].setFirst(first);
           runs[0].setCount(request.tasks);
         })
    .to_wire();
}

protocol::wire_frame refused(const enqueue_word& request, errc code, std::uint32_t retry_after_ms) {
  return protocol::enqueue_reply::build([&](auto root) {
           root.setNumber(request.number);
           root.setShard(request.shard);
           root.setCode(protocol::to_schema(code));
           root.setContext("says the test");
           root.setRetryAfterMs(retry_after_ms);
         })
    .to_wire();
}

protocol::wire_frame ended(task_id task, task_state state, const std::string& text) {
  return protocol::tasks_ended::build([&](auto root) {
           root.setShard(value(task.shard));
           auto tasks = root.initTasks(1);
           tasks[0].setSeq(task.seq);
           tasks[0].setState(static_cast<schema::TaskState>(state));
           tasks[0].setAttempt(1);
           auto texts = root.initTexts();
           texts.initEnds(1).set(0, static_cast<std::uint32_t>(text.size()));
           auto bytes = texts.initBytes(static_cast<capnp::uint>(text.size()));
           std::copy(text.begin(), text.end(), bytes.asChars().begin());
         })
    .to_wire();
}

} // namespace codeq::test
