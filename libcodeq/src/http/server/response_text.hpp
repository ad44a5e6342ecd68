// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/server/message.hpp"

#include <string>
#include <string_view>

/// The bytes of a response. Beast's serializer walks a chain of buffers for each write, which cost
/// as much as the rest of a small answer.
namespace codeq::http {

/// How a response is framed; what the request, the connection and its end decide.
struct response_framing {
  /// The client's name for the request, or one of ours.
  std::string_view request_id;
  /// The connection takes another request after this one.
  bool keep_alive = true;
};

/// Makes the status line and the header of an HTTP/1.1 response, with the empty line behind them.
/// The length is that of `answer.body`, also when the body is left out as in the answer to a HEAD.
/// Pure.
/// @pre the names and values of `answer.fields` hold no line break
[[nodiscard]] std::string header_text(const response& answer, const response_framing& framing);

} // namespace codeq::http
