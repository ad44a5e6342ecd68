// SPDX-License-Identifier: Apache-2.0
#include "http/server/cors_policy.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace codeq::http {

namespace {

constexpr std::string_view all_origins = "*";
constexpr auto request_fields = "Authorization, Content-Type, Idempotency-Key, X-Request-Id";
constexpr auto answer_fields = "X-Request-Id, Retry-After, Allow";
/// How long a browser may remember the answer to a preflight.
constexpr auto preflight_seconds = "600";

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (char c : text)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

} // namespace

cors_policy::cors_policy(std::vector<std::string> origins) {
  for (const auto& origin : origins) {
    allows_all_ = allows_all_ || origin == all_origins;
    origins_.push_back(in_lower_case(origin));
  }
}

bool cors_policy::names(std::string_view origin) const {
  auto wanted = in_lower_case(origin);
  return wanted != all_origins
         && std::find(origins_.begin(), origins_.end(), wanted) != origins_.end();
}

bool cors_policy::allows(std::string_view origin) const {
  return !origin.empty() && (allows_all_ || names(origin));
}

void cors_policy::admit(std::string_view origin, response& answer) const {
  if (origins_.empty())
    return;
  // Caches must not show one origin what another one was answered.
  if (!allows_all_)
    answer.fields.emplace_back("Vary", "Origin");
  if (!allows(origin))
    return;
  answer.fields.emplace_back(
    "Access-Control-Allow-Origin", allows_all_ ? std::string(all_origins) : std::string(origin));
  answer.fields.emplace_back("Access-Control-Expose-Headers", answer_fields);
}

response cors_policy::preflight(const std::string& methods) {
  auto answer = response{.status = 204};
  answer.fields.emplace_back("Access-Control-Allow-Methods", methods);
  answer.fields.emplace_back("Access-Control-Allow-Headers", request_fields);
  answer.fields.emplace_back("Access-Control-Max-Age", preflight_seconds);
  return answer;
}

} // namespace codeq::http
