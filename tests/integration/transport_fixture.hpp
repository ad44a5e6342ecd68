// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "support/channel.hpp"
#include "transport/acceptor.hpp"
#include "transport/link.hpp"
#include "transport/socket.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace codeq::test {

/// Messages to the owner of a connection or link, in order.
using event = std::variant<
  actors::connection_lost,
  actors::outgoing_pressure,
  actors::link_up,
  actors::link_down,
  protocol::claim_request,
  protocol::task_batch,
  protocol::goodbye>;

/// A peer that is only a socket, and sends any bytes.
class raw_peer {
public:
  explicit raw_peer(std::uint16_t port);

  void send(const std::string& text);
  void send(const protocol::wire_frame& frame);

  /// The next frame; empty when the connection ended or none came within 10 s.
  [[nodiscard]] std::optional<protocol::wire_frame> receive();

  /// Reads until the other side closes; false when it did not within 10 s.
  [[nodiscard]] bool is_closed();

private:
  [[nodiscard]] bool read_exactly(char* out, std::size_t count);

  transport::socket_owner socket_;
};

/// An actor system with an acceptor on loopback. The registrar passes every hello to the test,
/// which accepts or refuses it; owners report to channels.
class transport_fixture : public testing::Test {
protected:
  transport_fixture();
  ~transport_fixture() override;

  void listen(std::uint16_t port = 0);
  void stop_listening();

  /// Waits for the next hello.
  actors::peer_hello expect_hello();
  /// Accepts it; the owner of the connection reports to `accepted_events`.
  void accept(const actors::peer_hello& hello);
  /// `is_logged`: the connection is told that the reason was logged.
  void refuse(const actors::peer_hello& hello, errc code, bool is_logged = false);

  /// A link to the acceptor; its owner reports to `link_events`.
  actors::link_actor connect();
  /// A raw peer whose hello was accepted.
  std::unique_ptr<raw_peer> authenticated_peer();

  /// The next event of `events`, which must be a `T`.
  template <class T>
  T expect(channel<event>& events) {
    auto next = events.pop();
    if (!next)
      throw std::runtime_error("no event came");
    if (!std::holds_alternative<T>(*next))
      throw std::runtime_error("another event came, index " + std::to_string(next->index()));
    return std::get<T>(std::move(*next));
  }

  /// The next `T` among `events`, whatever comes before it.
  template <class T>
  T wait_for(channel<event>& events) {
    while (auto next = events.pop())
      if (std::holds_alternative<T>(*next))
        return std::get<T>(std::move(*next));
    throw std::runtime_error("the event did not come");
  }

  /// An actor that pushes its messages to the channel.
  caf::actor spawn_owner(channel<event>& events);

  /// Ends the actor and waits until it has terminated.
  void end(const caf::strong_actor_ptr& who);
  void wait_until_gone(const caf::strong_actor_ptr& who);

  transport::connection_settings settings;
  transport::acceptor_options options;
  duration reconnect_delay_min{5};
  duration reconnect_delay_max{50};
  /// TLS of links; null: links dial without TLS.
  std::shared_ptr<security::tls_source> link_tls;
  std::uint16_t port = 0;
  channel<actors::peer_hello> hellos;
  channel<event> accepted_events;
  channel<event> link_events;

  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  actors::registrar_actor registrar;
  transport::acceptor_handle acceptor;
  std::vector<caf::actor> owners;
};

[[nodiscard]] protocol::hello make_hello(const std::string& name = "w1");
[[nodiscard]] protocol::claim_request make_claim(std::uint32_t credits);
[[nodiscard]] protocol::task_batch make_batch(std::size_t task_bytes);
[[nodiscard]] std::uint32_t credits_of(const protocol::claim_request& claim);

} // namespace codeq::test
