// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/gateway/gateway_actor.hpp"
#include "http/json/json_reader.hpp"
#include "integration/coordinator_fixture.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::test {

/// The gateway's actor before four shards on a store in memory, under virtual time: requests go in
/// and answers come out without any socket.
class http_fixture : public testing::Test {
protected:
  http_fixture();

  /// What a client is answered.
  struct answer {
    unsigned status = 0;
    std::string body;
    std::map<std::string, std::string> fields;

    /// A member of the answer's JSON as its text; empty when it is missing.
    [[nodiscard]] std::string operator[](const std::string& name) const;

    /// A member that is a string.
    [[nodiscard]] std::string text(const std::string& name) const;
  };

  /// A request that is on its way.
  struct pending {
    http::exchange_ptr call;
    std::shared_ptr<std::optional<answer>> answered;

    [[nodiscard]] bool is_answered() const { return answered->has_value(); }
  };

  /// The token of the requests from now on; at first that of an admin of tenant `acme`. Tokens are
  /// `tenant:subject:roles`, where roles are some of the letters p, w, a and, of all tenants, t; a
  /// worker's may be followed by its only scope, `:codeq:claim`, and that by its only `:queue`.
  void use_token(std::string token) { token_ = std::move(token); }

  /// A request under the base path, or at the root when the target begins with two slashes; has to
  /// be answered at once.
  answer call(const std::string& method, const std::string& target, const std::string& body = {});

  answer post(const std::string& target, const std::string& body = "{}") {
    return call("POST", target, body);
  }

  answer get(const std::string& target) { return call("GET", target); }

  /// A request that may take time.
  pending begin(const std::string& method, const std::string& target, const std::string& body = {});

  /// A request that is sent with those that come before the next call of another kind.
  pending send_along(const std::string& method, const std::string& target, const std::string& body);

  /// Has the gateway work until nothing is left to do.
  void run() { system_.run(); }

  /// Has one actor take one message; false when nothing is left to do.
  bool step();

  /// Asks the gateway to answer everything that is open and to take nothing more.
  void stop_gateway();

  /// `GET /tasks` as a browser would ask.
  pending begin_as(const std::string& host, const std::string& origin);

  /// The client of a request goes away.
  void go_away(const pending& request);

  void advance(duration by) { system_.advance(by); }

  /// Adds a task with payload `{}`; returns its id.
  std::string enqueue(const std::string& queue, const std::string& more = {});

  /// Claims a task that has to be there.
  answer claim(const std::string& queue);

  /// Stops the gateway with its shards and starts them again on what the store has.
  void restart();

  http::gateway_actor_options options_;

  /// The shards drop the enqueues of this tenant unanswered, as a shard that hangs would.
  std::shared_ptr<std::string> unanswered_tenant_ = std::make_shared<std::string>();

  /// Of the gateway.
  std::shared_ptr<observe::limit_meter> meter_ = std::make_shared<observe::limit_meter>();
  std::shared_ptr<coordinator::enqueue_shares> shares_ =
    std::make_shared<coordinator::enqueue_shares>(limits::enqueue_bytes_default, meter_);

private:
  void start();

  /// A shard's actor that drops the enqueues of `unanswered_tenant_`.
  [[nodiscard]] coordinator::shard_actor filter(const coordinator::shard_actor& shard);
  [[nodiscard]] pending
  make_request(const std::string& method, const std::string& target, const std::string& body);

  std::unique_ptr<deterministic_system> owned_ = std::make_unique<deterministic_system>();

protected:
  deterministic_system& system_ = *owned_;

private:
  std::shared_ptr<storage::memory_store> store_ = std::make_shared<storage::memory_store>();
  std::vector<caf::strong_actor_ptr> running_;
  http::gateway_actor gateway_;
  std::uint32_t epoch_ = 0;
  std::string token_ = "acme:root:pwa";
};

} // namespace codeq::test
