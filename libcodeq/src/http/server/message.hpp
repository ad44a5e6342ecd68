// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/time.hpp"

#include "core/commands/audit_entry.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace codeq::http {

struct caller;
struct route_input;

/// A request as its routes see it, without the socket and without headers that no route needs.
struct request {
  std::string method;
  /// The path's segments, decoded; empty for `/`.
  std::vector<std::string> path;
  /// The decoded parameters.
  std::map<std::string, std::string> query;
  /// A name that came twice in the query; empty when none did. Such a request is refused.
  std::string repeated_parameter{};
  std::string body;
  /// The token of `Authorization: Bearer`; empty when there is none.
  std::string bearer;
  std::string host;
  std::string origin;
  /// The value of `Access-Control-Request-Method`; empty when the request is no preflight.
  std::string preflight_method;
  /// The value of `Idempotency-Key`; empty when there is none.
  std::string idempotency_key;
  /// The value of `If-None-Match`; empty when there is none.
  std::string known_etag{};
  /// The client takes bodies that are compressed with gzip.
  bool accepts_gzip = false;
  /// The client's name for the request, or one of ours.
  std::string id;
  /// Address of the client.
  std::string remote{};
};

class event_stream;

/// The bytes of a response that were taken from its owner's share, see `answer_shares.hpp`.
class answer_bytes;
using answer_share = std::shared_ptr<answer_bytes>;

struct response {
  unsigned status = 200;
  std::string body{};
  std::string content_type = "application/json";
  /// Further header fields.
  std::vector<std::pair<std::string, std::string>> fields{};
  /// A response with a share is written in any case; null for one that may be refused.
  answer_share share{};
  /// Called when the client cannot have read the whole response, on any thread; may be empty.
  std::function<void()> on_unwritten{};
  /// The events that follow the header in place of a body; null for a response with a body.
  std::shared_ptr<event_stream> events{};
};

/// One request on its way through the gateway. Used by the gateway's actor, except `answer`.
struct exchange {
  request in;
  /// The caller that the server found; null when its token is not accepted.
  std::shared_ptr<const caller> by;
  /// The values of query and body; set before the route runs.
  std::shared_ptr<const route_input> fields;
  /// Parts of `in.path` that the route's pattern left open, in order.
  std::vector<std::string> arguments;
  /// Takes the response; called exactly once, on any thread. The gateway's actor ignores all but
  /// the first response.
  std::function<void(response)> answer;
  /// Called when the client goes away before the response; may be empty.
  std::function<void()> on_gone;
  /// Called when the request is given up, at its deadline or some time after the client went away.
  /// Frees the resources that the request still has. May be empty.
  std::function<void()> on_given_up;
  /// The share of the response, which gets it from here; null when its bytes are not bounded yet.
  answer_share share;
  /// The time at which the request is given up and answered with an error, unless it was answered
  /// before. A route that waits because its client asked for it, or that makes progress, moves it.
  monotonic_time deadline{};
  /// The request may take as long as its client asked for, and ends when its token does.
  bool is_waiting = false;
  /// The timer of the deadline; used by the gateway's actor only.
  std::uint64_t timer = 0;
  /// The request as a command of an operator; set by `origin_of`.
  std::shared_ptr<const core::command_origin> origin;
  bool is_answered = false;
  /// The client closed its side of the connection before the response.
  bool is_gone = false;
};

using exchange_ptr = std::shared_ptr<exchange>;

} // namespace codeq::http
