// SPDX-License-Identifier: Apache-2.0
#include "http/webhooks/callback_url.hpp"

#include "http/json/input_refusal.hpp"
#include "http/server/outgoing.hpp"
#include "http/server/url.hpp"

namespace codeq::http {

result<void> check_callback_url(
  const webhook_options& options,
  std::string_view refusal,
  std::string_view field,
  const std::string& url) {
  auto refuse = [&](const std::string& rule) {
    return refuse_input(refusal, describe_value(quote_name({}, field), quote(url), rule));
  };
  if (!options.send)
    return refuse("left out, since this gateway delivers no webhooks");
  auto parsed = parse_url(url);
  if (!parsed)
    return refuse("an http or https URL: " + parsed.error().context);
  bool is_address = parsed->host.find_first_not_of("0123456789.") == parsed->host.npos
                    || parsed->host.find(':') != parsed->host.npos;
  if (is_address && !options.allow_private && !is_public_address(parsed->host))
    return refuse("a URL of a public address, unless --webhook-allow-private is set");
  return {};
}

} // namespace codeq::http
