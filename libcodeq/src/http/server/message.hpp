// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::http {

struct caller;

/// A request as its routes see it: nothing of sockets and no header that no route needs.
struct request {
  std::string method;
  /// The path's segments, decoded; empty for `/`.
  std::vector<std::string> path;
  /// Decoded; of a name that comes twice the last.
  std::map<std::string, std::string> query;
  std::string body;
  /// Of `Authorization: Bearer`; empty when there is none.
  std::string bearer;
  std::string host;
  std::string origin;
  /// The client's name for the request, or one of ours.
  std::string id;
};

struct response {
  unsigned status = 200;
  std::string body{};
  std::string content_type = "application/json";
  /// Further header fields.
  std::vector<std::pair<std::string, std::string>> fields{};
};

/// One request on its way through the gateway. Used from the gateway's actor, except `answer`.
struct exchange {
  request in;
  /// Set once the request was let in; null for routes that are open to all.
  std::shared_ptr<const caller> by;
  /// Parts of `in.path` that the route's pattern left open, in order.
  std::vector<std::string> arguments;
  /// Takes the answer; called exactly once, on any thread. The gateway's actor ignores what comes
  /// after the first answer.
  std::function<void(response)> answer;
  /// Called when the client went away before its answer; empty when nobody cares.
  std::function<void()> on_gone;
  /// Called when the request is given up, at its deadline or some time after the client went away:
  /// frees what the request still holds. May be empty.
  std::function<void()> on_given_up;
  /// When the request is given up and answered with an error, unless it was answered before. A
  /// route that waits on its client's behalf, or that makes progress, puts it off.
  monotonic_time deadline{};
  /// Of the gateway's actor: the timer of the deadline.
  std::uint64_t timer = 0;
  bool is_answered = false;
};

using exchange_ptr = std::shared_ptr<exchange>;

} // namespace codeq::http
