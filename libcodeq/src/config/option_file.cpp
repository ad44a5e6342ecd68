// SPDX-License-Identifier: Apache-2.0
#include "config/option_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include <toml++/toml.h>

namespace codeq::config {

namespace {

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string())
    return text->get();
  if (const auto* number = node.as_integer())
    return std::to_string(number->get());
  if (const auto* boolean = node.as_boolean())
    return boolean->get() ? "true" : "false";
  return std::nullopt;
}

std::optional<std::vector<std::string>> value_texts(const toml::node& node) {
  std::vector<std::string> texts;
  if (const auto* list = node.as_array()) {
    for (const auto& element : *list) {
      auto text = scalar_text(element);
      if (!text)
        return std::nullopt;
      texts.push_back(std::move(*text));
    }
    return texts;
  }
  auto text = scalar_text(node);
  if (!text)
    return std::nullopt;
  texts.push_back(std::move(*text));
  return texts;
}

using option_values = std::map<std::string, std::vector<std::string>>;

/// Reads the file and calls `fn` with its table.
template <class F>
auto with_table(const std::string& path, F&& fn) -> std::invoke_result_t<F, const toml::table&> {
  std::ifstream file(path);
  std::stringstream content;
  // Nothing can be copied from an empty file, which is no failure.
  bool is_empty = file && file.peek() == std::ifstream::traits_type::eof();
  bool is_read = is_empty || (file && content << file.rdbuf());
  if (!is_read || file.bad())
    return error{errc::unavailable, std::string("cannot be read: ") + std::strerror(errno)};
  try {
    return fn(toml::parse(content.str()));
  } catch (const toml::parse_error& e) {
    return error{
      errc::invalid_argument,
      "line " + std::to_string(e.source().begin.line)
        + ": it is not TOML, in which text has quotes: " + std::string(e.description())};
  }
}

result<option_values> read_values(const toml::table& table) {
  option_values values;
  for (const auto& [key, node] : table) {
    if (node.is_table())
      return error{
        errc::invalid_argument,
        "[" + std::string(key.str()) + "] is a table; options stand outside of tables"};
    auto texts = value_texts(node);
    if (!texts)
      return error{
        errc::invalid_argument,
        std::string(key.str()) + ": must be text, a whole number, true, false or a list of them"};
    values.emplace(key.str(), std::move(*texts));
  }
  return values;
}

} // namespace

result<option_values> read_option_file(const std::string& path) {
  return with_table(path, read_values);
}

result<std::map<std::string, option_values>> read_section_file(const std::string& path) {
  return with_table(
    path, [](const toml::table& table) -> result<std::map<std::string, option_values>> {
      std::map<std::string, option_values> sections;
      for (const auto& [name, node] : table) {
        const auto* section = node.as_table();
        if (!section)
          return error{
            errc::invalid_argument, std::string(name.str()) + ": must be a table, [NAME]"};
        auto values = read_values(*section);
        if (!values)
          return error{
            errc::invalid_argument,
            "[" + std::string(name.str()) + "] " + values.error().context};
        sections.emplace(name.str(), std::move(*values));
      }
      return sections;
    });
}

} // namespace codeq::config
