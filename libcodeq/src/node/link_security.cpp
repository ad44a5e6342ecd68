// SPDX-License-Identifier: Apache-2.0
#include "node/link_security.hpp"

#include "config/values.hpp"
#include "node/token_warnings.hpp"
#include "observe/log.hpp"
#include "security/access_limits.hpp"
#include "security/token_file.hpp"
#include "transport/socket.hpp"

#include <utility>

namespace codeq::node {

namespace {

result<std::string> token_of(const credentials& access) {
  if (!access.token_file.empty())
    return security::read_bearer(access.token_file);
  if (access.token.size() > limits::bearer_bytes_max)
    return error{
      errc::invalid_argument,
      "token has " + std::to_string(access.token.size()) + " bytes; it must have at most "
        + std::to_string(limits::bearer_bytes_max)};
  return access.token;
}

std::function<std::string()> reader_of(const credentials& access, std::string token) {
  if (access.token_file.empty())
    return [token = std::move(token)] { return token; };
  return [file = access.token_file, token = std::move(token)]() mutable {
    if (auto fresh = security::read_bearer(file))
      token = std::move(*fresh);
    else
      CODEQ_LOG_WARN(
        "link uses the token that it read earlier reason=\"{}\"", to_string(fresh.error()));
    return token;
  };
}

result<void> check_loopback(const std::vector<std::string>& coordinators) {
  for (const auto& address : coordinators) {
    auto peer = transport::parse_endpoint(address);
    if (peer && !config::is_loopback(peer->host))
      return error{
        errc::invalid_argument,
        "coordinator " + address
          + " is not a loopback address; a token is sent there by TLS only, which takes the "
            "certificates of an authority"};
  }
  return {};
}

} // namespace

result<void> check_coordinators(const std::vector<std::string>& coordinators) {
  if (coordinators.empty())
    return error{
      errc::invalid_argument, "coordinators is empty; it must name at least one `host:port`"};
  for (const auto& address : coordinators)
    if (auto parsed = transport::parse_endpoint(address); !parsed)
      return error{errc::invalid_argument, "coordinators: " + parsed.error().context};
  return {};
}

result<link_security>
open_credentials(const credentials& access, const std::vector<std::string>& coordinators) {
  auto token = token_of(access);
  if (!token)
    return token.error();
  warn_of_readers(access.token_file);
  bool has_files =
    !access.tls_authority.empty() || !access.tls_certificate.empty() || !access.tls_key.empty();
  if (has_files) {
    auto tls = security::tls_source::open(
      {access.tls_certificate, access.tls_key, access.tls_authority}, security::tls_side::client);
    if (!tls)
      return tls.error();
    return link_security{reader_of(access, std::move(*token)), std::move(*tls)};
  }
  if (!token->empty())
    if (auto ok = check_loopback(coordinators); !ok)
      return ok.error();
  return link_security{reader_of(access, std::move(*token)), nullptr};
}

} // namespace codeq::node
