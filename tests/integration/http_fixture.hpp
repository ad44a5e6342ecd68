// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/gateway/gateway_actor.hpp"
#include "http/json/json_reader.hpp"
#include "integration/coordinator_fixture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace codeq::test {

/// The gateway's actor with four shards on a store in memory, under virtual time. Requests and
/// replies are passed without sockets.
class http_fixture : public testing::Test {
protected:
  http_fixture();

  /// A response.
  struct answer {
    unsigned status = 0;
    std::string body;
    std::map<std::string, std::string> fields{};
    /// The bytes of the response, which count until it is written.
    http::answer_share share{};
    std::function<void()> on_unwritten{};
    /// The parts of a response that is streamed; such a response has no body.
    std::shared_ptr<http::event_stream> events{};

    /// A member of the response's JSON, as text; empty when it is missing.
    [[nodiscard]] std::string operator[](const std::string& name) const;

    /// The value of a string member.
    [[nodiscard]] std::string text(const std::string& name) const;
  };

  /// A request that may not be answered yet.
  struct pending {
    http::exchange_ptr call;
    std::shared_ptr<std::optional<answer>> answered;

    [[nodiscard]] bool is_answered() const { return answered->has_value(); }
  };

  /// Sets the token of later requests; the default is an admin of tenant `acme`. A token is
  /// `tenant:subject:roles`, where roles are letters of p, w, a and, for all tenants, t; j stands
  /// for a JWT. A worker's may be followed by its only scope, `:codeq:claim`, and then by its only
  /// `:queue`.
  void use_token(std::string token) { token_ = std::move(token); }

  /// Sets the header `Idempotency-Key` of later requests; empty for none.
  void use_key_header(std::string key) { key_header_ = std::move(key); }

  /// Sends a request that must be answered at once. The target is under the base path, or at the
  /// root when it begins with two slashes.
  answer call(const std::string& method, const std::string& target, const std::string& body = {});

  answer post(const std::string& target, const std::string& body = "{}") {
    return call("POST", target, body);
  }

  answer get(const std::string& target) { return call("GET", target); }

  /// Sends a request that may take time.
  pending begin(const std::string& method, const std::string& target, const std::string& body = {});

  /// Queues a request; it is sent together with the others queued before the next call of another
  /// kind.
  pending send_along(const std::string& method, const std::string& target, const std::string& body);

  /// Runs the gateway until nothing is left to do.
  void run() { system_.run(); }

  /// Lets one actor process one message; false when nothing is left to do.
  bool step();

  /// Ends the gateway's session, as a shard does when it cannot even read a request's number; the
  /// message comes behind what was sent to the gateway before.
  void end_session();

  /// Asks the gateway to answer all open requests and to accept no more.
  void stop_gateway();

  /// `GET /tasks` as a browser sends it.
  pending begin_as(const std::string& host, const std::string& origin);

  /// Disconnects the client of a request.
  void go_away(const pending& request);

  void advance(duration by) { system_.advance(by); }

  /// Adds a task with payload `{}`; returns its id.
  std::string enqueue(const std::string& queue, const std::string& more = {});

  /// Claims a task; one must be ready.
  answer claim(const std::string& queue);

  /// Stops the gateway with its shards and starts them again on the same store.
  void restart();

  http::gateway_actor_options options_;

  /// The shards drop enqueues and lists of this tenant unanswered, like a shard that hangs.
  std::shared_ptr<std::string> unanswered_tenant_ = std::make_shared<std::string>();

  /// The enqueues of this tenant arrive malformed at the shards, but for their numbers.
  std::shared_ptr<std::string> malformed_tenant_ = std::make_shared<std::string>();

  static constexpr std::uint16_t shard_count = 4;

  /// How many shards the claims have attached to, in all.
  std::shared_ptr<std::size_t> claims_attached_ = std::make_shared<std::size_t>(0);

  /// How many questions about one task the shards were asked, in all.
  std::shared_ptr<std::size_t> questions_asked_ = std::make_shared<std::size_t>(0);

  /// Meter of the gateway.
  std::shared_ptr<observe::limit_meter> meter_ = std::make_shared<observe::limit_meter>();
  std::shared_ptr<coordinator::enqueue_shares> shares_ =
    std::make_shared<coordinator::enqueue_shares>(limits::enqueue_bytes_default, meter_);
  std::shared_ptr<http::answer_shares> answers_ =
    std::make_shared<http::answer_shares>(limits::http_answers_bytes_max, meter_);

private:
  void start();

  /// An actor in front of a shard that drops or changes the requests of the tenants above.
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
  std::string key_header_;
};

} // namespace codeq::test
