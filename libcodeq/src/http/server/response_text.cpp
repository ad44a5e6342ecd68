// SPDX-License-Identifier: Apache-2.0
#include "http/server/response_text.hpp"

#include <boost/beast/http/status.hpp>

namespace codeq::http {

namespace {

void add_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

/// RFC 9110, section 8.6: these have no content, and so no length.
bool has_no_content(unsigned status) {
  return status < 200 || status == 204 || status == 304;
}

} // namespace

std::string header_text(const response& answer, const response_framing& framing) {
  constexpr std::size_t usual_bytes = 512;
  std::string out;
  out.reserve(usual_bytes);
  auto known = boost::beast::http::int_to_status(answer.status);
  auto reason = boost::beast::http::obsolete_reason(known);
  out.append("HTTP/1.1 ").append(std::to_string(answer.status)).append(" ");
  out.append(reason.data(), reason.size()).append("\r\n");
  add_field(out, "X-Request-Id", framing.request_id);
  for (const auto& [name, value] : answer.fields)
    add_field(out, name, value);
  if (!framing.keep_alive)
    add_field(out, "Connection", "close");
  if (!answer.body.empty() || answer.events)
    add_field(out, "Content-Type", answer.content_type);
  if (answer.events)
    add_field(out, "Transfer-Encoding", "chunked");
  else if (!has_no_content(answer.status) || !answer.body.empty())
    add_field(out, "Content-Length", std::to_string(answer.body.size()));
  return out.append("\r\n");
}

} // namespace codeq::http
