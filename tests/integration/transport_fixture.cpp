// SPDX-License-Identifier: Apache-2.0
#include "integration/transport_fixture.hpp"

#include "base/tuning.hpp"
#include "protocol/error_code.hpp"
#include "transport/configure.hpp"
#include "transport/deliver.hpp"
#include "transport/framing.hpp"

#include <caf/all.hpp>

#include <array>

#include <poll.h>
#include <sys/socket.h>

namespace codeq::test {

namespace {

constexpr int patience_ms = 10'000;

protocol::wire_frame make_ack() {
  auto ack = protocol::hello_ack::build([](auto root) {
    root.setVersion(1);
    root.setShardCount(2);
  });
  return ack.to_wire();
}

actors::registrar_actor::behavior_type
test_registrar(actors::registrar_actor::pointer, channel<actors::peer_hello>* hellos) {
  return {[hellos](const actors::peer_hello& hello) { hellos->push(hello); }};
}

caf::behavior test_owner(caf::event_based_actor* self, channel<event>* events) {
  self->set_default_handler(caf::drop);
  return {
    [events](const actors::connection_lost& lost) { events->push(lost); },
    [events](const actors::outgoing_pressure& pressure) { events->push(pressure); },
    [events](const actors::link_up& up) { events->push(up); },
    [events](const actors::link_down& down) { events->push(down); },
    [events](const protocol::claim_request& claim) { events->push(claim); },
    [events](const protocol::task_batch& batch) { events->push(batch); },
    [events](const protocol::goodbye& goodbye) { events->push(goodbye); }};
}

} // namespace

raw_peer::raw_peer(std::uint16_t port) : socket_(-1) {
  auto dialled =
    transport::dial({"127.0.0.1", port}, std::chrono::seconds(10), [] { return false; });
  if (!dialled)
    throw std::runtime_error(to_string(dialled.error()));
  socket_ = std::move(*dialled);
}

void raw_peer::send(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    pollfd waiting{socket_.get(), POLLOUT, 0};
    if (::poll(&waiting, 1, patience_ms) <= 0)
      return;
    auto sent = ::send(socket_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent < 0)
      return; // Closed by the other side, which is what hostile tests wait for.
    done += static_cast<std::size_t>(sent);
  }
}

void raw_peer::send(const protocol::wire_frame& frame) {
  std::vector<char> out;
  transport::append_frame(frame, out);
  send(std::string(out.begin(), out.end()));
}

bool raw_peer::read_exactly(char* out, std::size_t count) {
  while (count > 0) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) <= 0)
      return false;
    auto got = ::recv(socket_.get(), out, count, 0);
    if (got <= 0)
      return false;
    out += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

std::optional<protocol::wire_frame> raw_peer::receive() {
  std::array<char, protocol::frame_header_bytes> header;
  if (!read_exactly(header.data(), header.size()))
    return std::nullopt;
  auto parsed = transport::parse_header({header.data(), header.size()}, tuning::frame_bytes_max);
  if (!parsed)
    return std::nullopt;
  std::vector<char> body(parsed->length);
  if (!read_exactly(body.data(), body.size()))
    return std::nullopt;
  return protocol::wire_frame{parsed->type, transport::take_body(std::move(body))};
}

bool raw_peer::is_closed() {
  std::array<char, 4096> scrap;
  for (;;) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) <= 0)
      return false;
    if (::recv(socket_.get(), scrap.data(), scrap.size(), 0) <= 0)
      return true;
  }
}

transport_fixture::transport_fixture() {
  transport::configure(config, 2);
  system = std::make_unique<caf::actor_system>(config);
  registrar = system->spawn(test_registrar, &hellos);
}

transport_fixture::~transport_fixture() {
  if (acceptor.actor)
    stop_listening();
  for (auto& owner : owners)
    caf::anon_send_exit(owner, caf::exit_reason::kill);
  caf::anon_send_exit(registrar, caf::exit_reason::kill);
  owners.clear();
  registrar = nullptr;
  options.registrar = nullptr;
  while (hellos.pop(std::chrono::milliseconds(0))) {
  }
  transport::finish(*system);
}

void transport_fixture::listen(std::uint16_t wanted) {
  options.port = wanted;
  options.registrar = registrar;
  options.connection = settings;
  auto made = transport::spawn_acceptor(*system, options);
  if (!made)
    throw std::runtime_error(to_string(made.error()));
  acceptor = *made;
  port = acceptor.port;
}

void transport_fixture::stop_listening() {
  end(caf::actor_cast<caf::strong_actor_ptr>(acceptor.actor));
  acceptor = {};
}

actors::peer_hello transport_fixture::expect_hello() {
  auto hello = hellos.pop();
  if (!hello)
    throw std::runtime_error("no hello came");
  return *hello;
}

void transport_fixture::accept(const actors::peer_hello& hello) {
  auto owner = spawn_owner(accepted_events);
  caf::anon_send(hello.connection, make_ack());
  caf::anon_send(
    hello.connection,
    actors::connection_accepted{
      transport::deliver<schema::ClaimRequest, schema::Goodbye>(owner),
      caf::actor_cast<caf::strong_actor_ptr>(owner),
      nullptr});
}

void transport_fixture::refuse(const actors::peer_hello& hello, errc code, bool is_logged) {
  auto refused = protocol::refused::build([&](auto root) {
    root.setCode(protocol::to_schema(code));
    root.setContext("said the test");
  });
  caf::anon_send(hello.connection, refused.to_wire());
  caf::anon_send(
    hello.connection, actors::close_connection{{code, "said the test"}, false, is_logged});
}

actors::link_actor transport_fixture::connect() {
  auto owner = spawn_owner(link_events);
  transport::link_options link;
  link.index = 7;
  link.coordinator = "127.0.0.1:" + std::to_string(port);
  link.make_hello = [] { return make_hello(); };
  link.sink = transport::deliver<schema::TaskBatch, schema::Goodbye>(owner);
  link.owner = caf::actor_cast<caf::strong_actor_ptr>(owner);
  link.connection = settings;
  link.tls = link_tls;
  link.reconnect_delay_min = reconnect_delay_min;
  link.reconnect_delay_max = reconnect_delay_max;
  return transport::spawn_link(*system, std::move(link));
}

std::unique_ptr<raw_peer> transport_fixture::authenticated_peer() {
  auto peer = std::make_unique<raw_peer>(port);
  peer->send(make_hello().to_wire());
  accept(expect_hello());
  auto ack = peer->receive();
  if (!ack || ack->type != protocol::frame_type<schema::HelloAck>)
    throw std::runtime_error("no hello_ack came");
  return peer;
}

caf::actor transport_fixture::spawn_owner(channel<event>& events) {
  owners.push_back(system->spawn(test_owner, &events));
  return owners.back();
}

void transport_fixture::end(const caf::strong_actor_ptr& who) {
  caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
  wait_until_gone(who);
}

void transport_fixture::wait_until_gone(const caf::strong_actor_ptr& who) {
  caf::scoped_actor self{*system};
  self->monitor(who);
  bool gone = false;
  self->receive(
    [&](const caf::down_msg&) { gone = true; }, caf::after(std::chrono::seconds(10)) >> [] {});
  if (!gone)
    throw std::runtime_error("an actor did not end");
}

protocol::hello make_hello(const std::string& name) {
  return protocol::hello::build([&](auto root) {
    root.setMinVersion(1);
    root.setMaxVersion(1);
    root.setRole(schema::Role::WORKER);
    root.setName(name);
    root.setIncarnation(42);
  });
}

protocol::claim_request make_claim(std::uint32_t credits) {
  return protocol::claim_request::build([&](auto root) { root.setCredits(credits); });
}

protocol::task_batch make_batch(std::size_t task_bytes) {
  return protocol::task_batch::build([&](auto root) { root.initTasks().initBytes(task_bytes); });
}

std::uint32_t credits_of(const protocol::claim_request& claim) {
  auto credits =
    claim.read([](auto reader) -> result<std::uint32_t> { return reader.getCredits(); });
  return credits ? *credits : 0;
}

} // namespace codeq::test
