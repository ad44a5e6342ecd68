// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  /// Takes the answer; called exactly once, on any thread.
  std::function<void(response)> answer;
  /// Called when the client went away before its answer; empty when nobody cares.
  std::function<void()> on_gone;
};

using exchange_ptr = std::shared_ptr<exchange>;

} // namespace codeq::http
