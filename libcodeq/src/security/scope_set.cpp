// SPDX-License-Identifier: Apache-2.0
#include "security/scope_set.hpp"

namespace codeq::security {

std::optional<scope> parse_scope(std::string_view text) {
  for (std::size_t i = 0; i < scope_names.size(); ++i)
    if (text == scope_names[i])
      return static_cast<scope>(i);
  return std::nullopt;
}

result<scope_set> parse_scopes(std::string_view text) {
  scope_set scopes;
  for (;;) {
    auto name = text.substr(0, text.find(','));
    auto one = parse_scope(name);
    if (!one)
      return error{
        errc::invalid_argument,
        "must be names with commas between them, of " + to_string(scope_set::all())};
    scopes.add(*one);
    if (name.size() == text.size())
      return scopes;
    text.remove_prefix(name.size() + 1);
  }
}

std::string to_string(scope_set scopes) {
  std::string text;
  for (std::size_t i = 0; i < scope_names.size(); ++i)
    if (scopes.has(static_cast<scope>(i)))
      text.append(text.empty() ? "" : ",").append(scope_names[i]);
  return text;
}

} // namespace codeq::security
