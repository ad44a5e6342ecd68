// SPDX-License-Identifier: Apache-2.0
#include "config/option_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

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

} // namespace

result<std::map<std::string, std::vector<std::string>>> read_option_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  if (!file || !(content << file.rdbuf()))
    return error{errc::unavailable, std::string("cannot be read: ") + std::strerror(errno)};
  std::map<std::string, std::vector<std::string>> values;
  try {
    auto table = toml::parse(content.str());
    for (const auto& [key, node] : table) {
      auto texts = value_texts(node);
      if (!texts)
        return error{
          errc::invalid_argument,
          std::string(key.str()) + ": must be text, a whole number, true, false or a list of them"};
      values.emplace(key.str(), std::move(*texts));
    }
  } catch (const toml::parse_error& e) {
    return error{
      errc::invalid_argument,
      "line " + std::to_string(e.source().begin.line)
        + ": it is not TOML, in which text has quotes: " + std::string(e.description())};
  }
  return values;
}

} // namespace codeq::config
