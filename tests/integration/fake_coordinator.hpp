// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actors.hpp"
#include "protocol/map_convert.hpp"
#include "support/channel.hpp"
#include "transport/acceptor.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

namespace codeq::test {

/// Requests of clients, in the order of arrival.
using client_word = std::variant<
  protocol::enqueue_request,
  protocol::await_request,
  protocol::status_request,
  protocol::stats_request,
  protocol::change_request,
  protocol::force_request,
  protocol::queue_request,
  protocol::bulk_request,
  protocol::list_request,
  actors::connection_lost>;

/// A coordinator without a store, on real loopback sockets: the test accepts each client, reads its
/// requests and sends the replies.
class fake_coordinator {
public:
  fake_coordinator();
  ~fake_coordinator();
  fake_coordinator(const fake_coordinator&) = delete;
  fake_coordinator& operator=(const fake_coordinator&) = delete;

  [[nodiscard]] std::string address() const;

  /// Waits for a client's hello and accepts it. `node`: the name of this coordinator in its
  /// cluster; empty: it is alone.
  void
  accept(std::uint64_t store = 1, std::uint16_t shards = 4, const std::string& node = {});

  /// Waits for a client's hello and refuses it.
  void refuse(errc code, const std::string& context);

  /// The next request of a client, which must be a `T`.
  template <class T>
  T expect() {
    auto next = words_.pop();
    if (!next)
      throw std::runtime_error("the client said nothing");
    if (!std::holds_alternative<T>(*next))
      throw std::runtime_error(
        "the client said another thing, index " + std::to_string(next->index()));
    return std::get<T>(std::move(*next));
  }

  /// The next epochs that a client of a cluster names.
  protocol::epochs_of_shards next_epochs();

  /// Waits for a client's hello and leaves it without a reply.
  void ignore_hello();

  /// Sends a frame to the client that was accepted last.
  void say(const protocol::wire_frame& frame);

  /// Cuts the connection that was accepted last, and waits until it has ended.
  void cut();

private:
  actors::peer_hello next_hello();

  channel<actors::peer_hello> hellos_;
  channel<client_word> words_;
  channel<protocol::epochs_of_shards> epochs_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  actors::registrar_actor registrar_;
  transport::acceptor_handle acceptor_;
  caf::actor ear_;
  actors::connection_actor connection_;
};

/// The fields of an enqueue request that tests check.
struct enqueue_word {
  std::uint64_t producer = 0;
  std::uint64_t number = 0;
  std::uint64_t answered_below = 0;
  std::uint16_t shard = 0;
  std::uint32_t tasks = 0;

  friend bool operator==(const enqueue_word&, const enqueue_word&) = default;
};

[[nodiscard]] enqueue_word read(const protocol::enqueue_request& request);

/// A reply with the ids first .. first + tasks - 1.
[[nodiscard]] protocol::wire_frame durable(const enqueue_word& request, std::uint64_t first);

[[nodiscard]] protocol::wire_frame
refused(const enqueue_word& request, errc code, std::uint32_t retry_after_ms = 0);

[[nodiscard]] protocol::wire_frame ended(task_id task, task_state state, const std::string& text);

} // namespace codeq::test
